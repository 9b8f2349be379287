//! The property `cairndb.space`: the bytes of every kind of file, and how many of them are dead or
//! held, and why.
//!
//! Value files, log, manifest and held files are counted exactly. What is dead in tables is an
//! upper bound, computed from the counts in their records: an entry of a newer run hides at most
//! one key of an older run. After a compaction of everything, only entries that snapshots keep are
//! left.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::SeqNo;
use cairndb_format::value_file::HEADER_BYTES;

use crate::state::sections::Orders;
use crate::state::version::census::Census;
use crate::state::version::{Run, TableHandle, Version};

/// Bytes of tables, and upper bounds of the dead ones by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TableSpace {
    bytes: u64,
    /// Tombstones.
    tombstones: u64,
    /// Versions that newer ones of the same table hide, and that no snapshot may read.
    hidden: u64,
    /// The same for those that a snapshot may read.
    snapshots: u64,
    /// Values of such versions in value files.
    snapshot_values: u64,
    hidden_values: u64,
    /// Values in value files that newer runs may hide.
    overwritten_values: u64,
    /// Entries that newer runs may hide.
    overwritten: u64,
}

/// Returns the part of `bytes` that `some` of `all` make up.
fn part(bytes: u64, some: u64, all: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(some.min(all)) / u128::from(all.max(1));
    u64::try_from(part).unwrap_or(bytes)
}

/// Returns the number of entries of `newer` runs that may hide an entry of `table`.
fn hiders(newer: &[Arc<Run>], table: &TableHandle, orders: &Orders) -> u64 {
    let overlapping = newer
        .iter()
        .flat_map(|run| run.overlapping_table(orders, table));
    overlapping.map(|table| table.record.entries).sum()
}

impl TableSpace {
    /// Returns the space of the tables of `version`. `oldest` is the smallest sequence number at
    /// which anything may read.
    fn of(version: &Version, orders: &Orders, oldest: SeqNo) -> TableSpace {
        let mut space = TableSpace::default();
        for (at, run) in version.runs.iter().enumerate() {
            for table in run.tables() {
                let record = &table.record;
                let hidden = part(record.bytes, record.hidden.bytes, record.raw_bytes);
                space.bytes += record.bytes;
                space.tombstones += part(record.bytes, record.deletes, record.entries);
                if oldest < record.seq_max {
                    space.snapshots += hidden;
                    space.snapshot_values += record.hidden.value_bytes;
                } else {
                    space.hidden += hidden;
                    space.hidden_values += record.hidden.value_bytes;
                }
                let hiders = hiders(&version.runs[..at], table, orders);
                space.overwritten += part(record.bytes, hiders, record.entries);
                if hiders > 0 {
                    space.overwritten_values += record.value_bytes();
                }
            }
        }
        space
    }

    /// Returns an upper bound on the bytes of value files that tables point to in vain.
    fn dead_values(self) -> u64 {
        self.hidden_values.saturating_add(self.overwritten_values)
    }

    fn dead(self) -> u64 {
        let dead = self.tombstones + self.hidden + self.overwritten;
        dead.min(self.bytes)
    }
}

/// What a database knows of the space that its files take, besides the tables and value files of
/// its version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Bytes of large values that memtables may point to.
    pub(super) unflushed_values: u64,
    /// Bytes of obsolete tables and value files that readers keep.
    pub(super) held_tables: u64,
    pub(super) held_values: u64,
    /// Bytes of obsolete files that followers keep.
    pub(super) followers: u64,
    /// Bytes of log segments that are needed, and of spare ones.
    pub(super) log: u64,
    pub(super) spare_log: u64,
    pub(super) manifest: u64,
    /// Smallest sequence number at which anything may read.
    pub(super) oldest: SeqNo,
}

/// Returns the fields of the property.
pub(super) fn space_fields(
    version: &Version,
    orders: &Orders,
    beside: Beside,
) -> Vec<(&'static str, u64)> {
    let tables = TableSpace::of(version, orders, beside.oldest);
    let census = Census::of(version);
    let files = version.values.values();
    let values: u64 = files.map(|file| file.bytes.load(Ordering::Relaxed)).sum();
    let headers = HEADER_BYTES as u64 * version.values.len() as u64;
    let live = census.files.iter().map(|file| file.live.min(file.bytes));
    let live: u64 = live.sum();
    let unflushed = beside.unflushed_values;
    let dead_values = values.saturating_sub(live + unflushed + headers);
    let held = beside.held_tables + beside.held_values + beside.followers;
    let used = tables.bytes + values + beside.log + beside.spare_log + beside.manifest;
    vec![
        ("total_bytes", used + held),
        (
            "dead_bytes_max",
            tables.dead() + dead_values.saturating_add(tables.dead_values().min(live)),
        ),
        (
            "held_bytes",
            held + tables.snapshots + tables.snapshot_values,
        ),
        ("table_bytes", tables.bytes),
        ("table_tombstone_bytes_max", tables.tombstones),
        ("table_overwritten_bytes_max", tables.overwritten),
        ("table_hidden_bytes", tables.hidden),
        ("table_snapshot_bytes", tables.snapshots),
        ("held_table_bytes", beside.held_tables),
        ("value_file_bytes", values),
        ("live_value_bytes", live),
        ("overwritten_value_bytes_max", tables.overwritten_values),
        ("hidden_value_bytes", tables.hidden_values),
        ("snapshot_value_bytes", tables.snapshot_values),
        ("unflushed_value_bytes", unflushed),
        ("dead_value_bytes", dead_values),
        ("held_value_bytes", beside.held_values),
        ("held_follower_bytes", beside.followers),
        ("log_bytes", beside.log),
        ("spare_log_bytes", beside.spare_log),
        ("manifest_bytes", beside.manifest),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_at_most_the_whole() {
        assert_eq!(part(1_000, 1, 4), 250);
        assert_eq!(part(1_000, 9, 4), 1_000);
        assert_eq!(part(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(part(1_000, 0, 0), 0);
    }
}
