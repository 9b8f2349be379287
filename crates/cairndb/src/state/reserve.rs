//! How much disk space a database keeps for making room, and what of it there is.
//!
//! [`crate::engine::reserve`] says why, takes it and gives it up.

use cairndb_env::sync::Mutex;

use crate::state::budget::Budget;

/// With less than this free beside the reserve a file system is nearly full: about what flushes and
/// merges write between two looks.
const NEAR_BYTES: u64 = 128 << 20;
/// Of small file systems this share, instead.
const NEAR_SHARE: u64 = 4;
/// The reserve takes no more than this share of a file system.
const RESERVE_SHARE: u64 = 8;
/// Tables are cut at this share of a small file system: one that is rewritten has to fit into the
/// reserve.
const TABLE_SHARE: u64 = 64;
/// Large values after which free space is looked at again: so many, or this share of a small file
/// system.
const LOOK_AFTER_BYTES: u64 = 16 << 20;
const LOOK_AFTER_SHARE: u64 = 32;
const TABLE_BYTES_MIN: u64 = 64 << 10;

/// What a database keeps of a file system of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Files of the length of a segment.
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Free bytes below which they are kept.
    pub(crate) near: u64,
    /// Length at which tables are cut.
    pub(crate) table_bytes: u64,
    /// Large values after which free space is looked at again.
    pub(crate) look_after: u64,
}

impl Plan {
    pub(crate) fn new(budget: &Budget, total: u64) -> Plan {
        let table_bytes = (total / TABLE_SHARE).max(TABLE_BYTES_MIN).min(budget.table);
        // Tables that are rewritten, what two memtables make, and segments for the tombstones.
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

#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) files: Vec<u64>,
    /// It was given up, and there was no room yet for another.
    pub(crate) short: bool,
    /// Large values appended since the last look.
    pub(crate) appended: u64,
    pub(crate) table_bytes: Option<u64>,
    /// Of which there may be so many.
    pub(crate) look_after: u64,
    /// It is to be taken or given back.
    pub(crate) due: bool,
}

/// The reserve of one handle.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    pub(crate) held: Mutex<Held>,
    /// Held while files are created for it.
    pub(crate) turn: Mutex<()>,
}

impl Reserve {
    /// It was given up, and there is no room for another.
    pub(crate) fn is_short(&self) -> bool {
        self.held.lock().short
    }

    /// The file system is nearly full, or was at the last look.
    pub(crate) fn is_near(&self) -> bool {
        let held = self.held.lock();
        held.short || !held.files.is_empty()
    }

    /// Whether it is to be taken or given back, by whoever asks.
    pub(crate) fn take_due(&self) -> bool {
        std::mem::take(&mut self.held.lock().due)
    }

    /// Length at which tables are cut, where the file system is small.
    pub(crate) fn table_bytes(&self) -> Option<u64> {
        self.held.lock().table_bytes
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
        // Where there is no room for one segment there is no reserve.
        let plan = Plan::new(&Budget::new(256 << 10), 100_000);
        assert_eq!((plan.files, plan.bytes), (0, 0));
    }
}
