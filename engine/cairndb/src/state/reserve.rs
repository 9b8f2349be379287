//! Size and contents of the disk reserve: the space that a database keeps for freeing space.
//!
//! [`crate::durable::reserve`] explains why the reserve exists, and takes and releases it.

use cairndb_env::sync::Mutex;

use crate::state::budget::Budget;

/// A file system is nearly full if it has less free space than this, in addition to the reserve:
/// about as much as flushes and compactions write between two checks.
const NEAR_BYTES: u64 = 128 << 20;
/// On small file systems, this fraction of the total is used instead.
const NEAR_SHARE: u64 = 4;
/// Maximum fraction of a file system that the reserve takes.
const RESERVE_SHARE: u64 = 8;
/// Fraction of a small file system at which tables are cut: a rewritten table must fit into the
/// reserve.
const TABLE_SHARE: u64 = 64;
/// Number of bytes of large values after which free space is checked again. On a small file system,
/// a fraction of the total is used instead.
const LOOK_AFTER_BYTES: u64 = 16 << 20;
const LOOK_AFTER_SHARE: u64 = 32;
const TABLE_BYTES_MIN: u64 = 64 << 10;

/// Size of the reserve on a file system of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Number of files, each as long as a segment.
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Number of free bytes below which the reserve is kept.
    pub(crate) near: u64,
    /// Length at which tables are cut.
    pub(crate) table_bytes: u64,
    /// Bytes of large values after which free space is checked again.
    pub(crate) look_after: u64,
}

impl Plan {
    pub(crate) fn new(budget: &Budget, total: u64) -> Plan {
        let table_bytes = (total / TABLE_SHARE).max(TABLE_BYTES_MIN).min(budget.table);
        // The rewritten tables, the tables of two memtables, and segments for the tombstones.
        let wanted = 3 * table_bytes + 2 * (budget.memtable_logged + budget.segment);
        let files = wanted.min(total / RESERVE_SHARE) / budget.segment;
        let bytes = files * budget.segment;
        Plan {
            files: usize::try_from(files).unwrap_or(0),
            bytes,
            near: bytes + NEAR_BYTES.min(total / NEAR_SHARE),
            table_bytes,
            look_after: LOOK_AFTER_BYTES.min(total / LOOK_AFTER_SHARE),
        }
    }
}

/// The part of the reserve that exists, and the counters that decide when to change it.
#[derive(Debug, Default)]
pub(crate) struct ReserveState {
    /// Numbers of the files.
    pub(crate) files: Vec<u64>,
    /// Whether the reserve was released and there was not yet space to take it again.
    pub(crate) short: bool,
    /// Number of bytes of large values appended since the last check.
    pub(crate) appended: u64,
    /// Length at which tables are cut on a small file system.
    pub(crate) table_bytes: Option<u64>,
    /// Number of bytes of large values after which the next check is due.
    pub(crate) look_after: u64,
    /// Whether the reserve must be taken or released.
    pub(crate) due: bool,
}

/// The reserve of one handle.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    pub(crate) state: Mutex<ReserveState>,
    /// Held while files are created for the reserve.
    pub(crate) turn: Mutex<()>,
}

impl Reserve {
    /// Returns whether the reserve was released and there is no space to take it again.
    pub(crate) fn is_short(&self) -> bool {
        self.state.lock().short
    }

    /// Returns whether the file system was nearly full at the last check.
    pub(crate) fn is_near(&self) -> bool {
        let state = self.state.lock();
        state.short || !state.files.is_empty()
    }

    /// Returns whether the reserve must be taken or released.
    pub(crate) fn is_due(&self) -> bool {
        self.state.lock().due
    }

    /// Clears the flag that the reserve must be taken or released; the caller does the work.
    pub(crate) fn take_due(&self) {
        self.state.lock().due = false;
    }

    /// Returns the length at which tables are cut, on a small file system.
    pub(crate) fn table_bytes(&self) -> Option<u64> {
        self.state.lock().table_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_holds_a_table_and_a_memtable_and_is_no_large_share() {
        const MIB: u64 = 1 << 20;
        for (total, budget) in [
            (64, 64),
            (256, 64),
            (1024, 64),
            (1 << 20, 64),
            (256, 4),
            (64, 1),
        ] {
            let budget = Budget::new(usize::try_from(budget * MIB).expect("small"));
            let plan = Plan::new(&budget, total * MIB);
            assert!(plan.bytes <= total * MIB / RESERVE_SHARE, "{plan:?}");
            assert!(plan.bytes < plan.near && plan.near <= total * MIB / 2);
            let least = 2 * (plan.table_bytes + budget.memtable_logged);
            assert!(
                plan.bytes >= least || plan.bytes + budget.segment > total * MIB / RESERVE_SHARE,
                "{plan:?} of {total} MiB"
            );
        }
        // If there is no space for a segment, there is no reserve.
        let plan = Plan::new(&Budget::new(256 << 10), 100_000);
        assert_eq!((plan.files, plan.bytes), (0, 0));
    }
}
