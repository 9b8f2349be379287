//! Everything that is derived from the memory budget, in one place.
//!
//! Seven sixteenths of the budget are the write share: one mutable memtable part, small enough to stay in the
//! second-level cache, and a queue of sealed ones. A quarter is the page cache (used
//! only by tables read with `pread`), the rest is for cursors, merges, flushes and what the
//! allocator keeps.

/// Sizes in bytes that follow from one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The whole budget.
    pub(crate) total: usize,
    /// Capacity of one memtable part.
    pub(crate) memtable: usize,
    /// Most bytes of the log whose values one part leaves there.
    pub(crate) memtable_logged: u64,
    /// Most bytes of sealed parts and the mutable one together.
    pub(crate) write_share: usize,
    /// Sealed bytes at which a flush begins: two parts where the budget is small.
    pub(crate) flush: usize,
    /// Most bytes that one flush takes while writers go on, three parts where the budget is small. With all that
    /// waited the worker had nothing left when a writer without room helped, and slept for a third of a load.
    pub(crate) flush_max: usize,
    /// About the run that a flush makes, for who merges runs: a merge is left for a flush of so much. What replay
    /// collects for one.
    pub(crate) run: usize,
    /// Most bytes that a writer without room flushes at a time.
    pub(crate) help: usize,
    /// Page cache capacity.
    pub(crate) cache: usize,
    /// Length of one log segment.
    pub(crate) segment: u64,
    /// Bytes of live segments at which a writer waits until some can be retired; with spares about as many.
    pub(crate) retained_log: u64,
    /// Log that waiting parts leave values in at which a flush begins, whatever memory they take, and most of
    /// what one flush writes: the tables of three are durable before the log is at its limit.
    pub(crate) flush_logged: u64,
    /// Log of all sealed parts above which a writer flushes some itself.
    pub(crate) immutable_logged_max: u64,
    /// Bytes of live segments at which installed tables are made durable.
    pub(crate) persist: u64,
    /// Table files are cut at this size.
    pub(crate) table: u64,
    /// Most bytes of keys and references in one edit of the manifest, as far as it can be divided.
    pub(crate) edit: usize,
}

/// A part stays in a second-level cache of 1 MiB beside the code that fills it.
const MEMTABLE_BYTES_MAX: usize = 1 << 20;
const MEMTABLE_BYTES_MIN: usize = 32 << 10;
/// With the longest values that are not put into files of their own a part would otherwise hold on to a
/// hundred times its size of log. Entries of 16 + 100 bytes take twice as much of it as of memory.
const MEMTABLE_LOGGED_SHARE: u64 = 4;
/// A flush larger than this gains nothing: its run is already a full tier.
const FLUSH_BYTES_MAX: usize = 16 << 20;
const SEGMENT_BYTES_MAX: u64 = 4 << 20;
/// Logs are kept until what they hold is durable in tables; replaying 64 MiB takes about 150 ms.
const RETAINED_LOG_BYTES_MIN: u64 = 64 << 20;
/// However much memory there is: 64 segments, each a descriptor and a mapping.
const RETAINED_LOG_BYTES_MAX: u64 = 256 << 20;
/// Of values that are left in the log 64 MiB are soon full. A writer with twice the memory then waited for the
/// disk: `docs/design/0009-values-stay-in-the-log.md` has the figures.
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
            // Less than two parts, which take a few bytes less than they may.
            flush: (write_share / 4).clamp(memtable, FLUSH_BYTES_MAX),
            flush_max: (write_share / 7 * 3).clamp(2 * memtable, FLUSH_BYTES_MAX),
            run: (write_share / 8 * 3).clamp(memtable, FLUSH_BYTES_MAX),
            help: (write_share / 3).clamp(memtable, FLUSH_BYTES_MAX / 4),
            cache: total / 4,
            segment,
            // With the largest segments eight would be no more than what one flush waits for.
            persist: match segment {
                SEGMENT_BYTES_MAX => retained_log / 4,
                _ => (8 * segment).clamp(retained_log / 8, retained_log / 4),
            },
            retained_log,
            flush_logged: retained_log / 16 * 3,
            immutable_logged_max: retained_log / 8 * 3,
            // A builder keeps four bytes of filter hash an entry until its table is finished.
            table: (total as u64 / 2).clamp(64 << 10, 16 << 20),
            // Far below what a frame can say (2 GiB), and encoded in memory.
            edit: total.clamp(1 << 20, 256 << 20),
        };
        debug_assert!(
            budget.flush + budget.memtable <= budget.write_share.max(2 * budget.memtable)
        );
        budget
    }

    /// Sealed bytes that say that flushes do not keep up: more than one begins with, beside a merge or not.
    pub(crate) fn crowd(&self) -> usize {
        self.run + self.flush / 2
    }

    /// The same of the log that sealed parts leave values in.
    pub(crate) fn crowd_logged(&self) -> u64 {
        self.flush_logged + self.flush_logged / 3
    }

    /// Most sealed bytes before a writer must wait or help.
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
            // Of a part's memory a few bytes are left over.
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
            let part = budget.memtable_logged;
            assert!(budget.flush_logged + part <= budget.retained_log / 4);
            assert!(budget.persist >= 4 * budget.segment, "{budget:?}");
            // What a flush begins with is no crowd, and a crowd comes before a writer waits.
            assert!(budget.crowd() >= budget.run.max(budget.flush) + budget.memtable / 2);
            assert!(
                budget.crowd() <= budget.immutable_max() || total < 1 << 20,
                "{budget:?}"
            );
            assert!(budget.crowd_logged() <= budget.immutable_logged_max);
            assert!(budget.immutable_logged_max + part <= budget.retained_log / 2);
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
