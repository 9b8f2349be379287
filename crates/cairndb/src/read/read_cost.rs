//! What reads pay for several runs, and when that has paid for their merge.
//!
//! A database that was written comes to rest by its worker, which merges a small one to one run. A handle that only reads
//! has no worker, and the run that the last handle flushed at closing stayed for as long as it was open: gets of a million
//! entries took a fifth longer, those of missing keys as well. So reads that have several runs to look into are counted,
//! and once they have cost about what the merge will, the worker is begun, which does what it would do at rest. That
//! is how long to rent skis before buying them: whatever comes after, no more than twice the least is paid. (LevelDB
//! compacts by seeks likewise, 16 KiB for each that found nothing.) A merge by opening alone would have somebody pay who
//! looks up three keys and closes.
//!
//! Threads: each counts for itself ([`Stripe`](crate::read::thread_cache::Stripe)) and adds to the view's count now and then: one
//! count for all would be a line that turns about with every read. Races lose some or count them twice; a seek that has to look
//! again counts again.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// Reads of a thread that are added to the view's count at once.
const READS_ADDED: u16 = 1024;
/// Bytes of tables whose merge a read pays for. It takes 40 to 60 ns more with two runs than with one, a merge about 1.2 ns a
/// byte.
const BYTES_PAID: u64 = 50;
/// However small the tables are: a handle that is used for a moment writes nothing.
const READS_MIN: u64 = 64 << 10;

/// A thread's count.
#[derive(Debug, Default)]
pub(crate) struct Toll(AtomicU16);

impl Toll {
    /// Counts a read; whether the view is to be told of [`READS_ADDED`].
    #[inline]
    pub(crate) fn pay(&self) -> bool {
        let reads = self.0.load(Ordering::Relaxed).wrapping_add(1);
        self.0.store(reads, Ordering::Relaxed);
        reads.is_multiple_of(READS_ADDED)
    }
}

/// A view's count, of all threads.
#[derive(Debug, Default)]
pub(crate) struct Tolls(AtomicU64);

impl Tolls {
    /// Adds a thread's; whether all together have just paid for a merge of `bytes`, or for another: what was begun may have been
    /// held up.
    pub(crate) fn add(&self, bytes: u64) -> bool {
        let added = u64::from(READS_ADDED);
        let before = self.0.fetch_add(added, Ordering::Relaxed);
        let due = (bytes / BYTES_PAID).max(READS_MIN);
        before / due != (before + added) / due
    }
}

/// What is begun once it is paid for; nothing where nothing may be.
#[derive(Default)]
pub(crate) struct Paid(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl Paid {
    /// Says what. Only the first time counts.
    pub(crate) fn begins(&self, begin: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(begin));
    }

    pub(crate) fn begin(&self) {
        if let Some(begin) = self.0.get() {
            begin();
        }
    }
}

impl fmt::Debug for Paid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Paid")
            .field(&self.0.get().is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count of reads after which a merge of `bytes` is paid for first, and how often that is said.
    fn paid_after(bytes: u64, reads: u64) -> (Option<u64>, usize) {
        let (mine, all) = (Toll::default(), Tolls::default());
        let said = (1..=reads).filter(|_| mine.pay() && all.add(bytes));
        let said: Vec<u64> = said.collect();
        (said.first().copied(), said.len())
    }

    #[test]
    fn a_merge_is_paid_for_by_its_bytes() {
        assert_eq!(paid_after(100, READS_MIN - 1), (None, 0));
        assert_eq!(paid_after(100, 4 * READS_MIN), (Some(READS_MIN), 4));
        let bytes = 3 * READS_MIN * BYTES_PAID;
        assert_eq!(paid_after(bytes, 5 * READS_MIN), (Some(3 * READS_MIN), 1));
        // Between two additions it is said at the next.
        let reads = 3 * READS_MIN + u64::from(READS_ADDED);
        assert_eq!(
            paid_after(bytes + BYTES_PAID, 5 * READS_MIN),
            (Some(reads), 1)
        );
    }
}
