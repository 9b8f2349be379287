//! Limits, ranges and snapshots.

use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{
    CallOptions, Direction, Entry, ErrorKind, Limits, Result, Scan, Value, Window,
};
use tikv_client::{BoundRange, KvPair, Snapshot, Timestamp, TransactionClient, TransactionOptions};

use crate::face::{AsyncRead, AsyncScan, AsyncSnapshot, Deadline, Pending};
use crate::limits::check_keys;
use crate::paging::Progress;
use crate::tikv::closed::Closed;
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

/// Returns the entries of a page, or `None` if it must be asked for again, with half as many
/// entries, because the answer was too long.
pub(super) fn page_of<T>(result: Result<T>, progress: &mut Progress) -> Result<Option<T>> {
    match result {
        Ok(page) => Ok(Some(page)),
        Err(error) if error.kind() == ErrorKind::LimitExceeded && progress.shrink() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A snapshot: one state of the cluster.
///
/// Every call reads it through a handle of its own. A handle of the client keeps what it has read,
/// so a scan through one of them would hold all its entries in memory, and it serves one call at a
/// time.
#[derive(Clone)]
pub(super) struct TikvSnapshot {
    client: Arc<TransactionClient>,
    at: Timestamp,
    timeout: Duration,
    closed: Closed,
}

impl std::fmt::Debug for TikvSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TikvSnapshot")
    }
}

impl TikvSnapshot {
    /// `at` is when the state was that of the cluster.
    pub(super) fn new(
        client: &Arc<TransactionClient>,
        at: Timestamp,
        timeout: Duration,
        closed: &Closed,
    ) -> TikvSnapshot {
        TikvSnapshot {
            client: Arc::clone(client),
            at,
            timeout,
            closed: closed.clone(),
        }
    }

    /// Begins a call. Sends nothing.
    fn begin(&self) -> Result<Snapshot> {
        self.closed.check()?;
        let options = TransactionOptions::new_optimistic().read_only();
        Ok(self.client.snapshot(self.at.clone(), options))
    }

    pub(super) fn check_open(&self) -> Result<()> {
        self.closed.check()
    }

    pub(super) fn deadline(&self, options: &CallOptions) -> Deadline {
        Deadline::of(options, self.timeout)
    }

    /// Reads the next stored entries of a scan. Returns them with whether there may be more.
    pub(super) async fn page(
        &self,
        progress: &mut Progress,
        options: &CallOptions,
    ) -> Result<(Vec<Entry>, bool)> {
        let deadline = self.deadline(options);
        loop {
            let mut snapshot = self.begin()?;
            let (range, limit) = (range_of(&progress.rest), limit_of(progress));
            let page: Result<Vec<Entry>> = match progress.rest.direction {
                Direction::Ascending => until(&deadline, snapshot.scan(range, limit))
                    .await
                    .map(|pairs| pairs.map(entry).collect()),
                Direction::Descending => until(&deadline, snapshot.scan_reverse(range, limit))
                    .await
                    .map(|pairs| pairs.map(entry).collect()),
            };
            if let Some(page) = page_of(page, progress)? {
                let more = page.len() as u64 >= u64::from(limit);
                return Ok((page, more));
            }
        }
    }
}

impl AsyncRead for TikvSnapshot {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            let mut snapshot = self.begin()?;
            LIMITS.check_key(key)?;
            let deadline = self.deadline(options);
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
            let mut snapshot = self.begin()?;
            check_keys(keys, &LIMITS)?;
            let deadline = self.deadline(options);
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
        let (page, more) = self
            .snapshot
            .page(&mut self.progress, &self.options)
            .await?;
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
    use cairndb_store::{Error, ErrorKind, Scan, Window};
    use tikv_client::{BoundRange, KvPair};

    use super::{Progress, in_order, limit_of, page_of, range_of};

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

    #[test]
    fn a_page_that_is_too_long_is_halved_down_to_one_entry() {
        let mut progress = Progress::of(&Scan::all());
        let too_long = || Err::<(), _>(Error::limit_exceeded("bytes", 1, 2));
        let mut asked = vec![limit_of(&progress)];
        while page_of(too_long(), &mut progress).is_ok() {
            asked.push(limit_of(&progress));
        }
        assert_eq!(asked, [100, 50, 25, 12, 6, 3, 1]);
        let other = Err::<(), _>(Error::closed());
        let error = page_of(other, &mut Progress::of(&Scan::all())).expect_err("another error");
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
}
