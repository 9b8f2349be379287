//! Sizes derived from the memory budget, all in one place.
//!
//! Seven sixteenths of the budget are the write share: one mutable memtable, small enough to stay
//! in the second-level cache, and a queue of immutable memtables. A quarter is the page cache, used
//! only by tables read with `pread`. The rest is for cursors, compactions, flushes and allocator
//! overhead.

/// Sizes in bytes that follow from one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The whole budget.
    pub(crate) total: usize,
    /// Capacity of one memtable.
    pub(crate) memtable: usize,
    /// Maximum number of log bytes in which one memtable leaves values.
    pub(crate) memtable_logged: u64,
    /// Maximum size of the mutable and immutable memtables combined.
    pub(crate) write_share: usize,
    /// Size of the immutable memtables at which a flush begins: two memtables if the budget is
    /// small.
    pub(crate) flush: usize,
    /// Maximum number of bytes that one flush takes while writers continue: three memtables if the
    /// budget is small. Rejected: a flush of everything that waits, because when a stalled writer
    /// helped, nothing was left for the worker, which slept for a large part of a load.
    pub(crate) flush_max: usize,
    /// Approximate size of the run that a flush makes, used by code that compacts runs: a
    /// compaction yields to a flush of this size. Replay also collects this size before it flushes.
    pub(crate) run: usize,
    /// Maximum number of bytes that a stalled writer flushes at a time.
    pub(crate) help: usize,
    /// Capacity of the page cache.
    pub(crate) cache: usize,
    /// Length of one log segment.
    pub(crate) segment: u64,
    /// Size of the live segments at which a writer waits until some can be retired. Spare segments
    /// take about as much again.
    pub(crate) retained_log: u64,
    /// Number of log bytes held by waiting memtables at which a flush begins, regardless of their
    /// memory, and the maximum number of bytes that one flush writes. The tables of three such
    /// flushes are durable before the log reaches its limit.
    pub(crate) flush_logged: u64,
    /// Number of log bytes held by all immutable memtables above which a writer flushes some
    /// itself.
    pub(crate) immutable_logged_max: u64,
    /// Size of the live segments at which installed tables are made durable.
    pub(crate) persist: u64,
    /// Size at which table files are cut.
    pub(crate) table: u64,
    /// Maximum size of the keys and references in one manifest edit, as far as an edit can be
    /// divided.
    pub(crate) edit: usize,
}

/// A memtable of this size fits in a second-level cache of 1 MiB, together with the code that fills
/// it.
const MEMTABLE_BYTES_MAX: usize = 1 << 20;
const MEMTABLE_BYTES_MIN: usize = 32 << 10;
/// Without this limit, a memtable with the longest values that do not go to value files would pin a
/// hundred times its size of log. Entries of 16 + 100 bytes take twice as much log as memory.
const MEMTABLE_LOGGED_SHARE: u64 = 4;
/// A larger flush gains nothing: its run already fills a tier.
const FLUSH_BYTES_MAX: usize = 16 << 20;
const SEGMENT_BYTES_MAX: u64 = 4 << 20;
/// The log is kept until its contents are durable in tables, so it bounds the time of a replay.
const RETAINED_LOG_BYTES_MIN: u64 = 64 << 20;
/// Upper limit, however large the budget: 64 segments, each with a descriptor and a mapping.
const RETAINED_LOG_BYTES_MAX: u64 = 256 << 20;
/// When values are left in the log, 64 MiB fill quickly, and a writer with twice the memory waited
/// for the disk: see `docs/design/0009-values-stay-in-the-log.md`.
const RETAINED_LOG_SHARE: u64 = 2;

impl Budget {
    pub(crate) fn new(total: usize) -> Budget {
        let memtable = (total / 16).clamp(MEMTABLE_BYTES_MIN, MEMTABLE_BYTES_MAX);
        let write_share = total / 16 * 7;
        let segment = (total as u64 / 4)
            .clamp(64 << 10, SEGMENT_BYTES_MAX)
            .next_power_of_two();
        let retained_log = RETAINED_LOG_SHARE
            .saturating_mul(total as u64)
            .clamp(RETAINED_LOG_BYTES_MIN, RETAINED_LOG_BYTES_MAX);
        let budget = Budget {
            total,
            memtable,
            memtable_logged: MEMTABLE_LOGGED_SHARE * memtable as u64,
            write_share,
            // Less than two memtables, each of which stays a few bytes below its capacity.
            flush: (write_share / 4).clamp(memtable, FLUSH_BYTES_MAX),
            flush_max: (write_share / 7 * 3).clamp(2 * memtable, FLUSH_BYTES_MAX),
            run: (write_share / 8 * 3).clamp(memtable, FLUSH_BYTES_MAX),
            help: (write_share / 3).clamp(memtable, FLUSH_BYTES_MAX / 4),
            cache: total / 4,
            segment,
            // Eight of the largest segments would hold no more than a flush waits for.
            persist: match segment {
                SEGMENT_BYTES_MAX => retained_log / 4,
                _ => (8 * segment).clamp(retained_log / 8, retained_log / 4),
            },
            retained_log,
            flush_logged: retained_log / 16 * 3,
            immutable_logged_max: retained_log / 8 * 3,
            // A builder keeps four bytes of filter hash per entry until its table is finished.
            table: (total as u64 / 2).clamp(64 << 10, 16 << 20),
            // Far below the limit of a frame (2 GiB), and encoded in memory.
            edit: total.clamp(1 << 20, 256 << 20),
        };
        debug_assert!(
            budget.flush + budget.memtable <= budget.write_share.max(2 * budget.memtable)
        );
        budget
    }

    /// Returns the size of the immutable memtables that indicates that flushes do not keep up: more
    /// than a flush begins with, whether or not a compaction runs at the same time.
    pub(crate) fn crowd(&self) -> usize {
        self.run + self.flush / 2
    }

    /// Returns the same threshold for the log bytes held by immutable memtables.
    pub(crate) fn crowd_logged(&self) -> u64 {
        self.flush_logged + self.flush_logged / 3
    }

    /// Returns the size of the immutable memtables above which a writer must wait or help.
    pub(crate) fn immutable_max(&self) -> usize {
        self.write_share
            .saturating_sub(self.memtable)
            .max(self.memtable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_keep_their_proportions() {
        let odd = [(2 << 20) + 1, 33 << 20, 48 << 20, 96 << 20, 100 << 20];
        let even = [256 << 10, 1 << 20, 4 << 20, 64 << 20, 128 << 20, 1 << 34];
        for total in even.into_iter().chain(odd).chain([usize::MAX / 16]) {
            let budget = Budget::new(total);
            assert!(budget.memtable <= total / 4, "{budget:?}");
            assert!(budget.write_share + budget.cache <= total, "{budget:?}");
            assert!(budget.flush <= budget.run, "{budget:?}");
            assert!(budget.flush <= budget.flush_max, "{budget:?}");
            // A few bytes of a memtable's capacity stay unused.
            assert!(
                2 * (budget.memtable - 64) >= budget.flush
                    || budget.flush == FLUSH_BYTES_MAX
                    || total > 16 << 20,
                "{budget:?}"
            );
            assert!(budget.segment <= budget.retained_log / 8, "{budget:?}");
            assert!(
                budget.retained_log <= 64 * budget.segment.max(1 << 20),
                "{budget:?}"
            );
            assert!(budget.segment.is_power_of_two());
            let memtable = budget.memtable_logged;
            assert!(budget.flush_logged + memtable <= budget.retained_log / 4);
            assert!(budget.persist >= 4 * budget.segment, "{budget:?}");
            // The size at which a flush begins is below the crowd threshold, which is below the
            // stall limit.
            assert!(budget.crowd() >= budget.run.max(budget.flush) + budget.memtable / 2);
            assert!(
                budget.crowd() <= budget.immutable_max() || total < 1 << 20,
                "{budget:?}"
            );
            assert!(budget.crowd_logged() <= budget.immutable_logged_max);
            assert!(budget.immutable_logged_max + memtable <= budget.retained_log / 2);
        }
        let persist = |total| Budget::new(total).persist;
        assert_eq!(Budget::new(4 << 20).segment, 1 << 20);
        assert_eq!((persist(4 << 20), persist(64 << 20)), (8 << 20, 32 << 20));
        let retained = |total| Budget::new(total).retained_log;
        assert_eq!(
            (retained(4 << 20), retained(1 << 34)),
            (64 << 20, 256 << 20)
        );
    }
}
