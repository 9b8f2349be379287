//! Limits, ranges and snapshots.

use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{CallOptions, Direction, Entry, Limits, Result, Scan, Value, Window};
use parking_lot::Mutex as SyncMutex;
use tikv_client::{BoundRange, KvPair, Snapshot, TransactionOptions};
use tokio::sync::Mutex;

use crate::face::{AsyncRead, AsyncScan, AsyncSnapshot, Deadline, Pending};
use crate::limits::check_keys;
use crate::paging::Progress;
use crate::tikv::errors::{Sent, convert};

/// Longest key: half of what TiKV accepts by default, because stored keys are padded.
const KEY_BYTES_MAX: usize = 4096;
/// Longest value: TiKV's default for an entry is 8 MiB with everything around it.
const VALUE_BYTES_MAX: usize = 6 << 20;
const BATCH_OPS_MAX: usize = 100_000;
/// Largest transaction: TiDB's default, which keeps one client from filling the memory of a node.
const BATCH_BYTES_MAX: usize = 100 << 20;
/// Versions older than this may be removed by the cluster's garbage collection.
const TRANSACTION_TIME_MAX: Duration = Duration::from_mins(10);

pub(super) const LIMITS: Limits = Limits::embedded()
    .entry(KEY_BYTES_MAX, VALUE_BYTES_MAX)
    .batch(BATCH_OPS_MAX, BATCH_BYTES_MAX)
    .transaction(usize::MAX, Some(TRANSACTION_TIME_MAX));

/// Returns the options of a transaction that only reads.
pub(super) fn read_only() -> TransactionOptions {
    TransactionOptions::new_optimistic().read_only()
}

/// Returns a window as the client takes it.
pub(super) fn range_of(window: &Window) -> BoundRange {
    match &window.end {
        Some(end) => (window.start.clone()..end.clone()).into(),
        None => (window.start.clone()..).into(),
    }
}

/// Returns the number of entries of a page as the client takes it.
pub(super) fn limit_of(progress: &Progress) -> u32 {
    u32::try_from(progress.wanted()).unwrap_or(u32::MAX)
}

pub(super) fn entry(pair: KvPair) -> Entry {
    let (key, value) = (Vec::from(pair.0), pair.1);
    (Value::from(key), Value::from(value))
}

/// Returns the values of `keys` in their order, from the pairs that were found.
pub(super) fn in_order(keys: &[&[u8]], pairs: impl Iterator<Item = KvPair>) -> Vec<Option<Value>> {
    let found: std::collections::HashMap<Vec<u8>, Value> = pairs
        .map(|pair| (Vec::from(pair.0), Value::from(pair.1)))
        .collect();
    keys.iter().map(|key| found.get(*key).cloned()).collect()
}

/// Waits for a read until the deadline.
pub(super) async fn until<T>(
    deadline: &Deadline,
    call: impl Future<Output = tikv_client::Result<T>>,
) -> Result<T> {
    match deadline.wait(call).await {
        Some(result) => result.map_err(|error| convert(error, Sent::Nothing)),
        None => Err(deadline.exceeded()),
    }
}

/// A snapshot, read by one call at a time.
#[derive(Clone)]
pub(super) struct TikvSnapshot {
    snapshot: Arc<Mutex<Snapshot>>,
    timeout: Duration,
    closed: Arc<SyncMutex<bool>>,
}

impl std::fmt::Debug for TikvSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TikvSnapshot")
    }
}

impl TikvSnapshot {
    pub(super) fn new(
        snapshot: Snapshot,
        timeout: Duration,
        closed: &Arc<SyncMutex<bool>>,
    ) -> TikvSnapshot {
        TikvSnapshot {
            snapshot: Arc::new(Mutex::new(snapshot)),
            timeout,
            closed: Arc::clone(closed),
        }
    }

    fn check_open(&self) -> Result<()> {
        if *self.closed.lock() {
            return Err(cairndb_store::Error::closed());
        }
        Ok(())
    }
}

impl AsyncRead for TikvSnapshot {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            self.check_open()?;
            LIMITS.check_key(key)?;
            let deadline = Deadline::of(options, self.timeout);
            let mut snapshot = self.snapshot.lock().await;
            let found = until(&deadline, snapshot.get(key.to_vec())).await?;
            Ok(found.map(Value::from))
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            self.check_open()?;
            check_keys(keys, &LIMITS)?;
            let deadline = Deadline::of(options, self.timeout);
            let mut snapshot = self.snapshot.lock().await;
            let asked: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
            let pairs = until(&deadline, snapshot.batch_get(asked)).await?;
            Ok(in_order(keys, pairs))
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(SnapshotScan {
            snapshot: self.clone(),
            progress: Progress::of(scan),
            options: *options,
        })
    }
}

impl AsyncSnapshot for TikvSnapshot {}

struct SnapshotScan {
    snapshot: TikvSnapshot,
    progress: Progress,
    options: CallOptions,
}

impl SnapshotScan {
    async fn read(&mut self) -> Result<Vec<Entry>> {
        self.snapshot.check_open()?;
        if self.progress.ended() {
            return Ok(Vec::new());
        }
        let deadline = Deadline::of(&self.options, self.snapshot.timeout);
        let (range, limit) = (range_of(&self.progress.rest), limit_of(&self.progress));
        let mut snapshot = self.snapshot.snapshot.lock().await;
        let page: Vec<Entry> = match self.progress.rest.direction {
            Direction::Ascending => until(&deadline, snapshot.scan(range, limit))
                .await?
                .map(entry)
                .collect(),
            Direction::Descending => until(&deadline, snapshot.scan_reverse(range, limit))
                .await?
                .map(entry)
                .collect(),
        };
        let more = page.len() as u64 >= u64::from(limit);
        let _ = self.progress.advance(&page, more);
        Ok(self.progress.take(page))
    }
}

impl AsyncScan for SnapshotScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.read())
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::{Scan, Window};
    use tikv_client::{BoundRange, KvPair};

    use super::{in_order, range_of};

    #[test]
    fn windows_become_ranges() {
        let bounded = range_of(&Window::of(&Scan::range("a".."c")));
        assert_eq!(bounded, BoundRange::from(b"a".to_vec()..b"c".to_vec()));
        let open = range_of(&Window::of(&Scan::prefix(b"\xff")));
        assert_eq!(open, BoundRange::from(vec![255_u8]..));
    }

    #[test]
    fn values_are_returned_in_the_order_of_the_keys() {
        let pairs = [("b", "2"), ("a", "1")];
        let pairs = pairs.map(|(key, value)| KvPair::new(key.to_owned(), value.to_owned()));
        let found = in_order(&[b"a", b"x", b"b", b"a"], pairs.into_iter());
        let found: Vec<Option<&[u8]>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some(&b"1"[..]), None, Some(b"2"), Some(b"1")]);
    }
}
