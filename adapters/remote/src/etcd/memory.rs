//! What a transaction has read and written, which its scans share.

use std::collections::BTreeMap;
use std::time::Duration;

use cairndb_store::{CallOptions, Entry, Error, OwnWrites, Result, Window};
use etcd_client::{Compare, CompareOp};
use tokio::sync::{Mutex, MutexGuard};

use crate::etcd::keys::Prefix;
use crate::etcd::reads::OPS_MAX;
use crate::face::Deadline;

/// What a transaction has read.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The revision of all reads, or [`NEWEST`](crate::etcd::reads::NEWEST) before the first one.
    pub(super) revision: i64,
    /// Keys with the revisions of their last changes; 0 for absent ones.
    pub(super) keys: BTreeMap<Vec<u8>, i64>,
    ranges: Vec<Window>,
}

impl Seen {
    /// Records a page of a scan.
    pub(super) fn add_page(&mut self, page: &[Entry], changed: &[i64], window: &Window) {
        for ((key, _), changed) in page.iter().zip(changed) {
            self.keys.insert(key.to_vec(), *changed);
        }
        // The pages of a scan follow each other.
        match self.ranges.last_mut() {
            Some(last) if last.end.as_ref() == Some(&window.start) => {
                last.end.clone_from(&window.end);
            }
            Some(last) if window.end.as_ref() == Some(&last.start) => {
                last.start.clone_from(&window.start);
            }
            _ => self.ranges.push(window.clone()),
        }
    }

    /// Returns the conditions of the commit.
    pub(super) fn compares(&self, prefix: &Prefix) -> Result<Vec<Compare>> {
        let count = self.keys.len() + self.ranges.len();
        if count > OPS_MAX {
            return Err(Error::limit_exceeded(
                "transaction_reads",
                OPS_MAX as u64,
                count as u64,
            ));
        }
        let keys = self.keys.iter().map(|(key, changed)| {
            Compare::mod_revision(prefix.full(key), CompareOp::Equal, *changed)
        });
        let ranges = self.ranges.iter().map(|range| {
            let (start, end) = prefix.range(range);
            Compare::mod_revision(start, CompareOp::Less, self.revision + 1).with_range(end)
        });
        Ok(keys.chain(ranges).collect())
    }

    /// Returns the bytes of what was read in the request of the commit: each key twice, in its
    /// compare and in the answer to a failed one, and both ends of each range.
    pub(super) fn request_bytes(&self, prefix: &Prefix) -> usize {
        let key = |key: &Vec<u8>| 2 * operation_bytes(prefix, key.len());
        let range = |range: &Window| {
            let end = range.end.as_ref().map_or(0, Vec::len);
            operation_bytes(prefix, range.start.len()) + operation_bytes(prefix, end)
        };
        let keys: usize = self.keys.keys().map(key).sum();
        keys + self.ranges.iter().map(range).sum::<usize>()
    }
}

/// Returns the bytes of an operation or compare with `bytes` of its own.
pub(super) fn operation_bytes(prefix: &Prefix, bytes: usize) -> usize {
    /// Tags, lengths and numbers of the protocol.
    const FRAME_BYTES: usize = 48;
    FRAME_BYTES + prefix.len() + bytes
}

/// Reads and writes of a transaction, which its scans share.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) seen: Mutex<Seen>,
    pub(super) own: parking_lot::Mutex<OwnWrites>,
}

impl Memory {
    /// Waits until no other call of the transaction reads. Returns what was read, and `options`
    /// with the time that is left.
    ///
    /// # Errors
    /// `DeadlineExceeded` if the other call does not end in time.
    pub(super) async fn seen(
        &self,
        options: &CallOptions,
        deadline: &Deadline,
    ) -> Result<(MutexGuard<'_, Seen>, CallOptions)> {
        let Some(seen) = deadline.wait(self.seen.lock()).await else {
            return Err(deadline.exceeded());
        };
        Ok((seen, options.timeout(deadline.left(Duration::MAX))))
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::{Scan, Value, Window};

    use super::{Seen, operation_bytes};
    use crate::etcd::keys::Prefix;

    #[test]
    fn what_was_read_is_counted_as_often_as_it_is_sent() {
        let prefix = Prefix::of_path(&"p".repeat(254)).expect("a valid prefix");
        let mut seen = Seen::default();
        assert_eq!(seen.request_bytes(&prefix), 0);
        seen.keys.insert(vec![b'k'; 60_000], 0);
        let key = seen.request_bytes(&prefix);
        assert!(key >= 2 * (255 + 60_000), "{key}");
        let window = Window::of(&Scan::range("start".."end"));
        let page = [(Value::from(&b"k"[..]), Value::from(&b"v"[..]))];
        seen.add_page(&page, &[7], &window);
        let scanned = seen.request_bytes(&prefix) - key;
        let expected = 2 * operation_bytes(&prefix, 1)
            + operation_bytes(&prefix, 5)
            + operation_bytes(&prefix, 3);
        assert_eq!(scanned, expected);
    }
}
