//! Counts reads that had to search several runs, and starts a compaction once those reads have cost
//! about as much as the compaction would.
//!
//! The worker compacts a small database to one run once it is idle. However, a handle that only
//! reads has no worker, so the run that the previous handle flushed when it closed stayed as long
//! as the handle was open, and slowed every get, including gets of absent keys. Therefore reads
//! that search several runs are counted, and once they have cost about as much as the compaction
//! will, the worker is started and does its idle work. This is the ski-rental argument: regardless
//! of later reads, the cost is never more than twice the optimum. (LevelDB's seek compactions are
//! similar: 16 KiB for each seek that found nothing.) Rejected: a compaction at every open, because
//! a process that looks up three keys and closes would pay for it.
//!
//! Threads: each thread counts for itself
//! ([`ThreadCache`](crate::read::hints::thread_cache::ThreadCache)) and occasionally adds to the
//! view's count: a single counter would be a cache line that every read transfers. Races lose some
//! reads or count them twice; a seek that is retried is counted again.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// Number of reads of a thread that are added to the view's count at a time.
const READS_ADDED: u16 = 1024;
/// Number of table bytes whose compaction one read pays for: approximately the extra time of a read
/// with two runs, divided by the time to compact a byte.
const BYTES_PAID: u64 = 50;
/// Minimum number of reads, however small the tables are, so that a short-lived handle writes
/// nothing.
const READS_MIN: u64 = 64 << 10;

/// Read count of a thread.
#[derive(Debug, Default)]
pub(crate) struct ReadCounter(AtomicU16);

impl ReadCounter {
    /// Counts a read, and returns whether [`READS_ADDED`] reads must be added to the view's count.
    #[inline]
    pub(crate) fn count(&self) -> bool {
        let reads = self.0.load(Ordering::Relaxed).wrapping_add(1);
        self.0.store(reads, Ordering::Relaxed);
        reads.is_multiple_of(READS_ADDED)
    }
}

/// Read count of a view, over all threads.
#[derive(Debug, Default)]
pub(crate) struct ReadCost(AtomicU64);

impl ReadCost {
    /// Adds the reads of a thread. Returns whether the reads of all threads have now paid for a
    /// compaction of `bytes`, or for a further one, since the first may have been delayed.
    pub(crate) fn add(&self, bytes: u64) -> bool {
        let added = u64::from(READS_ADDED);
        let before = self.0.fetch_add(added, Ordering::Relaxed);
        let due = (bytes / BYTES_PAID).max(READS_MIN);
        before / due != (before + added) / due
    }
}

/// Action that is started once it is paid for; unset if none is allowed.
#[derive(Default)]
pub(crate) struct CompactionTrigger(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl CompactionTrigger {
    /// Sets the action. Only the first call has an effect.
    pub(crate) fn set(&self, begin: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(begin));
    }

    pub(crate) fn fire(&self) {
        if let Some(begin) = self.0.get() {
            begin();
        }
    }
}

impl fmt::Debug for CompactionTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompactionTrigger")
            .field(&self.0.get().is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of reads after which a compaction of `bytes` is first paid for, and the
    /// number of compactions paid for.
    fn paid_after(bytes: u64, reads: u64) -> (Option<u64>, usize) {
        let (mine, all) = (ReadCounter::default(), ReadCost::default());
        let paid = (1..=reads).filter(|_| mine.count() && all.add(bytes));
        let paid: Vec<u64> = paid.collect();
        (paid.first().copied(), paid.len())
    }

    #[test]
    fn a_merge_is_paid_for_by_its_bytes() {
        assert_eq!(paid_after(100, READS_MIN - 1), (None, 0));
        assert_eq!(paid_after(100, 4 * READS_MIN), (Some(READS_MIN), 4));
        let bytes = 3 * READS_MIN * BYTES_PAID;
        assert_eq!(paid_after(bytes, 5 * READS_MIN), (Some(3 * READS_MIN), 1));
        // If it is paid for between two additions, this is reported at the next.
        let reads = 3 * READS_MIN + u64::from(READS_ADDED);
        assert_eq!(
            paid_after(bytes + BYTES_PAID, 5 * READS_MIN),
            (Some(reads), 1)
        );
    }
}
