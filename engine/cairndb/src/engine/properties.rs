//! `Properties`: LevelDB's four properties, and CairnDB's own as JSON.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{PageCache, Result};
use cairndb_mem::ChunkPool;

use self::space::{Beside, space_fields};
use crate::durable::disk::Disk;
use crate::state::sections::Section;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::base::Base;

mod estimate;
mod space;

/// Returns a JSON object of numbers.
fn json(numbers: &[(&str, u64)]) -> String {
    let mut out = String::from("{");
    for (index, (name, value)) in numbers.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\"{name}\":{value}");
    }
    out.push('}');
    out
}

/// Returns `amount` in units of `per`, rounded: LevelDB prints these columns without fractions.
fn rounded(amount: u64, per: u64) -> u64 {
    (amount + per / 2) / per
}

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// A range of keys, from the first one inclusive to the second one exclusive.
pub(crate) type Ends<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

pub(crate) struct Properties<'c> {
    pub(super) base: &'c Base,
    pub(super) disk: &'c Disk,
    pub(super) cache: &'c dyn PageCache,
    pub(super) pool: &'c ChunkPool,
}

impl Properties<'_> {
    /// Returns the property `name`, or `None` if there is none.
    pub(crate) fn property(&self, name: &str) -> Option<String> {
        if let Some(level) = name.strip_prefix("leveldb.num-files-at-level") {
            return self.files_at_level(level);
        }
        match name {
            "leveldb.stats" => Some(self.level_stats()),
            "leveldb.sstables" => Some(self.sstables()),
            "leveldb.approximate-memory-usage" => Some(self.memory_total().to_string()),
            "cairndb.followers" => Some(self.followers_json()),
            "cairndb.mapping" => Some(self.base.opener.mapping.json()),
            "cairndb.memory" => Some(self.memory_json()),
            "cairndb.runs" => Some(self.runs_json()),
            "cairndb.space" => Some(self.space_json()),
            "cairndb.stalls" => Some(self.stalls_json()),
            "cairndb.stats" => Some(self.stats_json()),
            _ => None,
        }
    }

    /// Maps LevelDB's levels to runs: level 1 is the last run, level 0 is all others.
    fn files_at_level(&self, level: &str) -> Option<String> {
        let level: usize = level.parse().ok()?;
        let version = self.base.versions.version();
        let (last, upper) = match version.runs.split_last() {
            Some((last, upper)) => (last.tables().len(), upper),
            None => (0, &[][..]),
        };
        match level {
            0 => Some(
                upper
                    .iter()
                    .map(|run| run.tables().len())
                    .sum::<usize>()
                    .to_string(),
            ),
            1 => Some(last.to_string()),
            2..7 => Some("0".to_owned()),
            _ => None,
        }
    }

    fn level_stats(&self) -> String {
        let version = self.base.versions.version();
        let mut out = String::from("                               Compactions\n");
        out.push_str("Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n");
        out.push_str("--------------------------------------------------\n");
        let count = version.runs.len();
        for (level, label) in [(0usize, "upper"), (1, "last")] {
            let runs = match level {
                0 => &version.runs[..count.saturating_sub(1)],
                _ => &version.runs[count.saturating_sub(1)..],
            };
            let files: usize = runs.iter().map(|run| run.tables().len()).sum();
            let bytes: u64 = runs.iter().map(|run| run.bytes()).sum();
            let (time, read, written) = match label {
                "upper" => (
                    &self.base.stats.flush_nanos,
                    0,
                    &self.base.stats.flush_bytes,
                ),
                _ => (
                    &self.base.stats.compaction_nanos,
                    Stats::get(&self.base.stats.compaction_read_bytes),
                    &self.base.stats.compaction_bytes,
                ),
            };
            if files == 0 && Stats::get(written) == 0 {
                continue;
            }
            let _ = writeln!(
                out,
                "{level:3} {files:8} {:8} {:9} {:8} {:9}",
                rounded(bytes, MIB),
                rounded(Stats::get(time), SECOND_NS),
                rounded(read, MIB),
                rounded(Stats::get(written), MIB),
            );
        }
        out
    }

    fn sstables(&self) -> String {
        let version = self.base.versions.version();
        let mut out = String::new();
        for (index, run) in version.runs.iter().enumerate() {
            let _ = writeln!(out, "--- run {} (age {index}) ---", run.id);
            for table in run.tables() {
                let record = &table.record;
                let _ = writeln!(
                    out,
                    " {}:{}[{} .. {}]",
                    record.file,
                    record.bytes,
                    record.smallest.escape_ascii(),
                    record.largest.escape_ascii(),
                );
            }
        }
        out
    }

    /// Returns an array with one object for each run, from the newest.
    fn runs_json(&self) -> String {
        let version = self.base.versions.version();
        let runs = version.runs.iter().map(|run| {
            let records = || run.tables().iter().map(|table| &table.record);
            json(&[
                ("run", run.id),
                ("tables", run.tables().len() as u64),
                ("bytes", run.bytes()),
                ("raw_bytes", records().map(|record| record.raw_bytes).sum()),
                ("versions", records().map(|record| record.entries).sum()),
                ("deletes", records().map(|record| record.deletes).sum()),
                (
                    "hidden_versions",
                    records().map(|record| record.hidden.entries).sum(),
                ),
                (
                    "hidden_bytes",
                    records().map(|record| record.hidden.bytes).sum(),
                ),
            ])
        });
        let runs: Vec<String> = runs.collect();
        format!("[{}]", runs.join(","))
    }

    /// Returns the anonymous memory of each owner.
    fn memory_by_owner(&self) -> [(&'static str, u64); 7] {
        let pinned = self.base.versions.pinned_bytes();
        let state = self.base.versions.lock();
        let tables: usize = state
            .version
            .tables()
            .map(|table| table.memory_bytes())
            .sum();
        let ranges = state.ranges.iter().map(|section| section.newest());
        let ranges: usize = ranges.map(|map| map.memory_bytes()).sum();
        [
            ("mutable", state.mutable.allocated_bytes() as u64),
            ("sealed", state.immutable_bytes() as u64),
            ("pooled", self.pool.bytes() as u64),
            ("page_cache", self.cache.bytes() as u64),
            ("tables", tables as u64),
            ("ranges", ranges as u64),
            ("pinned", pinned as u64),
        ]
    }

    fn memory_total(&self) -> u64 {
        self.memory_by_owner().iter().map(|(_, bytes)| bytes).sum()
    }

    fn memory_json(&self) -> String {
        let parts = self.memory_by_owner();
        let total: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        let index: u64 = {
            let version = self.base.versions.version();
            version.tables().map(|table| table.index_bytes()).sum()
        };
        let mut out = format!("{{\"budget\":{}", self.base.settings.budget.total);
        for (name, bytes) in parts {
            let _ = write!(out, ",\"{name}\":{bytes}");
        }
        let mapped = if self.base.opener.mapping.wanted() {
            index
        } else {
            0
        };
        let log =
            self.disk.log.segments().retained_bytes() + self.disk.log.segments().spare_bytes();
        let values = self.base.opener.mapping.value_bytes.load(Ordering::Relaxed);
        let _ = write!(
            out,
            ",\"total\":{total},\"mapped_index\":{mapped},\"mapped_log\":{log},\"mapped_values\":{values}}}"
        );
        out
    }

    fn space_json(&self) -> String {
        let (version, unflushed_values) = {
            // Both locks are held, so that a pointer is in a memtable or in a table.
            let commit = self.disk.log.lock();
            let state = self.base.versions.lock();
            let sealed = state.immutables.iter().map(|part| part.values.bytes);
            let values = commit.value_bytes() + sealed.sum::<u64>();
            (Arc::clone(&state.version), values)
        };
        let (reaper, segments) = (self.base.sweeper.reaper(), self.disk.log.segments());
        let oldest = self.base.readable_at().first().copied();
        let beside = Beside {
            unflushed_values,
            held_tables: reaper.held_bytes(),
            held_values: reaper.held_value_bytes(),
            followers: self.base.sweeper.followers.kept_bytes(),
            log: segments.retained_bytes(),
            spare_log: segments.spare_bytes(),
            manifest: self.disk.log.manifests.bytes(),
            oldest: oldest.unwrap_or(0),
        };
        json(&space_fields(&version, &self.base.opener.orders, beside))
    }

    /// Returns an array with one object for each process that follows this handle.
    fn followers_json(&self) -> String {
        let processes = self.base.sweeper.followers.held_by_process().into_iter();
        let processes = processes.map(|held| {
            json(&[
                ("process", held.process),
                ("views", held.views),
                ("held_bytes", held.bytes),
            ])
        });
        let processes: Vec<String> = processes.collect();
        format!("[{}]", processes.join(","))
    }

    fn stalls_json(&self) -> String {
        let mut out = String::from("{");
        for (index, (reason, count, nanos, longest)) in self.base.stats.stalls().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(
                out,
                "{comma}\"{reason}\":{{\"count\":{count},\"total_ns\":{nanos},\
                 \"longest_ns\":{longest}}}"
            );
        }
        out.push('}');
        out
    }

    /// Returns the newest version and the number of pending versions, immutable memtables, and
    /// damaged tables.
    fn counted(&self) -> (Arc<Version>, u64, usize, usize) {
        let state = self.base.versions.lock();
        let pending = state.durable.pending.as_ref();
        (
            Arc::clone(&state.version),
            pending.map_or(0, |pending| pending.installed),
            state.immutables.len(),
            state.compactions.damaged.len(),
        )
    }

    fn stats_json(&self) -> String {
        let counters = &self.base.stats;
        let log = self.disk.log.lock().logged_bytes;
        let retained = self.disk.log.segments().retained_bytes();
        let (version, pending, sealed, damaged) = self.counted();
        let values = version.values.values();
        let dead = values.map(|file| file.dead.load(Ordering::Relaxed)).sum();
        let views = self.base.versions.views();
        let passed = views.map(|view| view.readers.spans.passed()).sum();
        let numbers = [
            ("log_bytes", log),
            ("log_retained_bytes", retained),
            ("log_syncs", Stats::get(&counters.log_syncs)),
            ("file_syncs", Stats::get(&counters.file_syncs)),
            ("flushes", Stats::get(&counters.flushes)),
            ("flush_bytes", Stats::get(&counters.flush_bytes)),
            ("flush_ns", Stats::get(&counters.flush_nanos)),
            ("merges", Stats::get(&counters.compactions)),
            (
                "merge_read_bytes",
                Stats::get(&counters.compaction_read_bytes),
            ),
            ("merge_bytes", Stats::get(&counters.compaction_bytes)),
            ("merge_ns", Stats::get(&counters.compaction_nanos)),
            ("moves", Stats::get(&counters.moves)),
            ("value_bytes", Stats::get(&counters.value_bytes)),
            ("moved_value_bytes", Stats::get(&counters.moved_value_bytes)),
            ("manifest_bytes", Stats::get(&counters.manifest_bytes)),
            ("prewritten_bytes", Stats::get(&counters.prewritten_bytes)),
            ("written_bytes", log + counters.written_besides_log()),
            ("runs", version.runs.len() as u64),
            ("tables", version.tables().count() as u64),
            ("table_bytes", version.bytes()),
            ("deferred_bytes", version.deferred_bytes()),
            ("held_table_bytes", self.base.sweeper.reaper().held_bytes()),
            (
                "versions",
                version.tables().map(|it| it.record.entries).sum(),
            ),
            (
                "deletes",
                version.tables().map(|it| it.record.deletes).sum(),
            ),
            ("value_files", version.values.len() as u64),
            ("value_dead_bytes", dead),
            ("sealed_parts", sealed as u64),
            ("damaged_tables", damaged as u64),
            ("pending_versions", pending),
            ("snapshots", self.base.snapshots.count() as u64),
            ("last_seq", self.base.versions.published()),
            ("dead_entries_passed", passed),
        ];
        json(&numbers)
    }

    /// Returns the number of bytes on disk that hold keys of `section` in `[from, to)`, accurate to
    /// about a page in tables. The large values of a table are counted in proportion to its pages
    /// that are in the range.
    pub(crate) fn approximate_size(&self, section: Section, (from, to): Ends<'_>) -> Result<u64> {
        self.base.health.check_read()?;
        let order = &self.base.opener.orders[section];
        let version = self.base.versions.version().section(section);
        let mut total = 0u128;
        for table in version.tables() {
            // Tables are opened when first used, and the database may be closed in between.
            self.base.health.check_read()?;
            let before_from =
                from.is_some_and(|from| order.compare(&table.record.largest, from).is_lt());
            let behind_to = to.is_some_and(|to| order.compare(&table.record.smallest, to).is_ge());
            if before_from || behind_to {
                continue;
            }
            let start = match from {
                Some(from) if order.compare(&table.record.smallest, from).is_lt() => {
                    table.table()?.approximate_offset(from)?
                }
                _ => 0,
            };
            let end = match to {
                Some(to) if order.compare(&table.record.largest, to).is_ge() => {
                    table.table()?.approximate_offset(to)?
                }
                _ => table.record.bytes,
            };
            let large: u64 = table.record.value_refs.iter().map(|(_, bytes)| bytes).sum();
            let (large, bytes) = (u128::from(large), u128::from(table.record.bytes.max(1)));
            // Computed up to a position, so that the sizes of adjacent ranges add up to the total.
            let up_to = |place: u64| u128::from(place) + large * u128::from(place) / bytes;
            total += up_to(end).saturating_sub(up_to(start));
        }
        Ok(u64::try_from(total).unwrap_or(u64::MAX))
    }
}
