//! What a transaction has read and written, which its scans share.

use std::collections::BTreeMap;

use cairndb_store::{Entry, Error, OwnWrites, Result, Window};
use etcd_client::{Compare, CompareOp};
use tokio::sync::Mutex;

use crate::etcd::keys::Prefix;
use crate::etcd::reads::OPS_MAX;

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

    pub(super) fn bytes(&self) -> usize {
        self.keys.keys().map(Vec::len).sum()
    }
}

/// Reads and writes of a transaction, which its scans share.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) seen: Mutex<Seen>,
    pub(super) own: parking_lot::Mutex<OwnWrites>,
}
