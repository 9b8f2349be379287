//! Sequence numbers that open snapshots pin.
//!
//! A flush or compaction lists the snapshots *after* the memtables or tables it works on were
//! closed. A snapshot registered later has a sequence number at least as large as every number in
//! them, so it sees only the newest version of each key, which is always kept.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::SeqNo;
use cairndb_env::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    open: Mutex<BTreeMap<SeqNo, usize>>,
    /// Number below which the worker waits for a release, after which a compaction may drop
    /// entries; 0 if it does not wait.
    awaited: AtomicU64,
}

impl Snapshots {
    /// Registers a snapshot of everything published. The number is read under the lock, so that a
    /// job that lists snapshots either sees this one or closed its inputs before it.
    pub(crate) fn acquire(&self, published: &AtomicU64) -> SeqNo {
        let mut open = self.open.lock();
        let seq = published.load(Ordering::Acquire);
        *open.entry(seq).or_insert(0) += 1;
        seq
    }

    /// Makes the next release of a sequence number below `seq` return `true`.
    pub(crate) fn wake_on_release(&self, seq: SeqNo) {
        self.awaited.fetch_max(seq, Ordering::Relaxed);
    }

    /// Releases one registration of `seq`. Returns whether the worker waits for this.
    #[must_use]
    pub(crate) fn release(&self, seq: SeqNo) -> bool {
        let mut open = self.open.lock();
        let count = open
            .get_mut(&seq)
            .expect("released snapshots were acquired");
        *count -= 1;
        if *count > 0 {
            return false;
        }
        open.remove(&seq);
        // Under the lock: the worker stores the number before it lists the snapshots.
        let awaited = self.awaited.load(Ordering::Relaxed) > seq;
        if awaited {
            self.awaited.store(0, Ordering::Relaxed);
        }
        awaited
    }

    /// Returns all pinned sequence numbers, ascending.
    pub(crate) fn list(&self) -> Vec<SeqNo> {
        self.open.lock().keys().copied().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.open.lock().values().sum()
    }
}
