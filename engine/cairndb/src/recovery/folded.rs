//! The edits of a manifest, folded into one state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, FileNumber, Result, SeqNo};
use cairndb_files::check_numbers;
use cairndb_format::manifest::{CleanClose, DeletedRange, TableRecord, VersionEdit};
use cairndb_format::name::{self, FileKind};

use crate::recovery::folded_log::FoldedLog;
use crate::recovery::keyspaces::FoldedKeyspaces;
use crate::state::files::opener::TableOpener;
use crate::state::files::value_handle::ValueHandle;
use crate::state::keyspaces::LiveKeyspaces;
use crate::state::lineage::{Lineage, Stored};
use crate::state::ranges::{Deleted, RangeMap};
use crate::state::sections::{Orders, Section, Sections, keyspace_of};
use crate::state::version::{Run, TableHandle, Values, Version};

/// The edits of the manifest, folded into one state.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) comparator: Option<String>,
    pub(crate) stored: Stored,
    pub(crate) next_file: u64,
    pub(crate) last_seq: SeqNo,
    pub(crate) tables: BTreeMap<u64, TableRecord>,
    pub(crate) runs: Vec<u64>,
    pub(crate) log: FoldedLog,
    pub(crate) values: BTreeSet<u64>,
    pub(crate) value_dead: BTreeMap<u64, u64>,
    pub(crate) value_sizes: BTreeMap<u64, u64>,
    pub(crate) settled_values: BTreeSet<u64>,
    /// Clean close, if the last edit is one.
    pub(crate) closed: Option<CleanClose>,
    pub(crate) deleted_ranges: Vec<DeletedRange>,
    pub(crate) keyspaces: FoldedKeyspaces,
}

impl Folded {
    pub(crate) fn apply(&mut self, mut edit: VersionEdit) -> Result<()> {
        check_numbers(&edit)?;
        self.log.apply(&mut edit);
        self.apply_values(&edit);
        self.comparator = edit.comparator.or(self.comparator.take());
        let operator = &mut self.stored.merge_operator;
        *operator = edit.merge_operator.or(operator.take());
        self.next_file = self.next_file.max(edit.next_file.unwrap_or(0));
        self.last_seq = self.last_seq.max(edit.last_seq.unwrap_or(0));
        self.closed = edit.clean_close;
        for file in edit.removed_tables {
            if self.tables.remove(&file).is_none() {
                return Err(
                    Error::corruption("an edit removes a missing table").found(FileNumber(file))
                );
            }
        }
        for (file, run) in edit.moved_tables {
            match self.tables.get_mut(&file) {
                Some(table) => table.run = run,
                None => {
                    return Err(
                        Error::corruption("an edit moves a missing table").found(FileNumber(file))
                    );
                }
            }
        }
        for table in edit.added_tables {
            let file = FileNumber(table.file);
            if self.tables.insert(table.file, table).is_some() {
                return Err(Error::corruption("an edit adds a table that exists").found(file));
            }
        }
        if let Some(runs) = edit.runs {
            self.runs = runs;
        }
        self.deleted_ranges.extend(edit.deleted_ranges);
        if !edit.incarnations.is_empty() {
            self.stored.lineage = Lineage::new(edit.incarnations);
        }
        self.keyspaces
            .apply(edit.created_keyspaces, &edit.dropped_keyspaces)
    }

    /// Adds and removes the value files of an edit.
    fn apply_values(&mut self, edit: &VersionEdit) {
        self.values.extend(&edit.added_values);
        self.settled_values.extend(&edit.settled_values);
        self.value_sizes.extend(edit.value_sizes.iter().copied());
        for (file, dead) in &edit.value_dead {
            let sum = self.value_dead.entry(*file).or_insert(0);
            *sum = sum.saturating_add(*dead);
        }
        for file in &edit.removed_values {
            self.values.remove(file);
            self.value_dead.remove(file);
            self.value_sizes.remove(file);
            self.settled_values.remove(file);
        }
    }

    /// Returns a number above those of all files that it names.
    pub(crate) fn files_end(&self) -> u64 {
        let tables = self.tables.keys().next_back();
        let logs = self.log.files();
        let named = logs.chain(tables).chain(self.values.last()).max();
        named.map_or(self.next_file, |file| self.next_file.max(file + 1))
    }

    /// Checks that no log remains after a clean close, because its records would not be replayed.
    pub(crate) fn check_closed(&self) -> Result<()> {
        let Some(close) = &self.closed else {
            return Ok(());
        };
        if !close.log_ends.is_empty() || !self.log.live.is_empty() {
            return Err(Error::corruption("log segments remain after a clean close")
                .expected("no segment")
                .found(self.log.live.len().max(close.log_ends.len())));
        }
        if close.last_seq != self.last_seq {
            return Err(
                Error::corruption("a clean close has the wrong last sequence number")
                    .expected(self.last_seq)
                    .found(close.last_seq),
            );
        }
        Ok(())
    }

    /// Returns the deleted ranges.
    fn ranges(&mut self, orders: &Orders, live: &LiveKeyspaces) -> Result<Sections<RangeMap>> {
        let mut maps = Sections::<RangeMap>::default();
        // The order of a keyspace that was dropped is not known.
        self.deleted_ranges
            .retain(|range| range.section == 0 || live.contains(&keyspace_of(&range.start)));
        self.deleted_ranges.sort_by_key(|range| range.seq);
        for range in &self.deleted_ranges {
            let section = Section::of_table(range.section);
            let range = Deleted::new(&range.start, &range.end, range.seq);
            maps.get_mut(section).add_read(&orders[section], range)?;
        }
        Ok(maps)
    }

    /// Builds the version from runs and tables, after checking that `listed` has every table.
    /// `live` are the keyspaces that exist.
    pub(crate) fn version(
        &mut self,
        opener: &Arc<TableOpener>,
        listed: &[String],
        live: &LiveKeyspaces,
    ) -> Result<Version> {
        let there = tables_of(listed);
        for record in self.tables.values() {
            let named = || name::table(FileNumber(record.file));
            let size = if there.binary_search(&record.file).is_err() {
                None
            } else if self.closed.is_some() {
                Some(record.bytes)
            } else {
                opener.files.dir.size_of(&named())?
            };
            if size != Some(record.bytes) {
                let found = size.map_or("no file".to_owned(), |size| format!("{size} bytes"));
                return Err(Error::corruption(
                    "a table that the manifest names is missing or incomplete",
                )
                .file(named())
                .offset(0)
                .expected(format_args!("{} bytes", record.bytes))
                .found(found));
            }
        }
        let handles = self.tables.values();
        let handles = handles.map(|record| Arc::new(TableHandle::new(record.clone(), opener)));
        let version = Version {
            runs: self.runs_of(handles, &[], &opener.orders)?,
            values: Arc::new(self.value_files(opener, &Values::new())?),
            ranges: self.ranges(&opener.orders, live)?,
            pin: None,
        };
        version.check(&opener.orders)?;
        Ok(version)
    }

    /// Builds the version that follows `old`, whose files it shares. Does not look for tables: the
    /// writer removes none that a follower needs.
    pub(crate) fn version_after(
        &mut self,
        old: &Version,
        opener: &Arc<TableOpener>,
        live: &LiveKeyspaces,
    ) -> Result<Version> {
        let known: BTreeMap<u64, &Arc<TableHandle>> = old
            .tables()
            .map(|table| (table.record.file, table))
            .collect();
        let handles = self.tables.values().map(|record| {
            let Some(known) = known.get(&record.file) else {
                return Arc::new(TableHandle::new(record.clone(), opener));
            };
            if known.record == *record {
                return Arc::clone(known);
            }
            // Only what the manifest changes: another file of this number is another database's.
            let moved = TableRecord {
                run: known.record.run,
                ..record.clone()
            };
            if moved == known.record {
                Arc::new(known.moved(record.clone()))
            } else {
                Arc::new(TableHandle::new(record.clone(), opener))
            }
        });
        let version = Version {
            runs: self.runs_of(handles, &old.runs, &opener.orders)?,
            values: Arc::new(self.value_files(opener, &old.values)?),
            ranges: self.ranges(&opener.orders, live)?,
            pin: None,
        };
        version.check_since(old, &opener.orders)?;
        Ok(version)
    }

    /// Returns the runs of these tables, sharing those of `old` that did not change.
    fn runs_of(
        &self,
        tables: impl Iterator<Item = Arc<TableHandle>>,
        old: &[Arc<Run>],
        orders: &Orders,
    ) -> Result<Vec<Arc<Run>>> {
        let mut runs: BTreeMap<u64, Vec<Arc<TableHandle>>> =
            self.runs.iter().map(|id| (*id, Vec::new())).collect();
        for table in tables {
            let run = runs.get_mut(&table.record.run).ok_or_else(|| {
                Error::corruption("a table belongs to a run that the manifest does not list")
                    .file(name::table(FileNumber(table.record.file)))
            })?;
            run.push(table);
        }
        // Runs are in the manifest's order. A run that it lists twice is included once.
        let filled = self.runs.iter().filter_map(|id| {
            let mut tables = runs.remove(id).filter(|tables| !tables.is_empty())?;
            let before = old.iter().find(|run| run.id == *id);
            let same = before.filter(|run| {
                let mut sorted: Vec<_> = run.tables().iter().collect();
                sorted.sort_by_key(|table| table.record.file);
                tables.sort_by_key(|table| table.record.file);
                let pairs = sorted.iter().zip(&tables);
                sorted.len() == tables.len() && pairs.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
            });
            Some(same.map_or_else(|| Arc::new(Run::new(*id, tables, orders)), Arc::clone))
        });
        Ok(filled.collect())
    }

    /// Returns the value files that exist, sharing the handles of `old`.
    fn value_files(&self, opener: &Arc<TableOpener>, old: &Values) -> Result<Values> {
        let mut values = Values::new();
        let tables = self.tables.values();
        let referenced: BTreeSet<u64> = tables
            .flat_map(|table| table.value_refs.iter().map(|(file, _)| *file))
            .collect();
        for number in &self.values {
            let whole = self.value_sizes.get(number).copied().unwrap_or(0);
            let known = old.get(number).cloned();
            // Its length no longer changes.
            if let Some(known) = known.as_ref().filter(|_| whole > 0) {
                values.insert(*number, Arc::clone(known));
                continue;
            }
            let handle = known.unwrap_or_else(|| Arc::new(ValueHandle::new(*number, opener)));
            let named = name::value(FileNumber(*number));
            let Some(size) = opener.files.dir.size_of(&named)? else {
                // The edit that names a value file may reach the disk before the file's own name.
                // In that case nothing durable refers to the file.
                if self.value_sizes.contains_key(number) || referenced.contains(number) {
                    return Err(Error::corruption(
                        "a value file that the database needs is missing",
                    )
                    .file(named)
                    .offset(0));
                }
                continue;
            };
            if size < whole {
                return Err(Error::corruption(
                    "a value file is shorter than when the database was closed",
                )
                .file(named)
                .offset(size)
                .expected(format_args!("{whole} bytes"))
                .found(format_args!("{size} bytes")));
            }
            handle.bytes.store(size, Ordering::Relaxed);
            handle.whole.store(whole, Ordering::Relaxed);
            let dead = self.value_dead.get(number).copied().unwrap_or(0);
            handle.dead.store(dead, Ordering::Relaxed);
            let settled = self.settled_values.contains(number);
            handle.settled.store(settled, Ordering::Relaxed);
            values.insert(*number, handle);
        }
        Ok(values)
    }
}

/// Returns the numbers of the tables in `listed`, ascending.
fn tables_of(listed: &[String]) -> Vec<u64> {
    let kinds = listed.iter().filter_map(|found| FileKind::parse(found));
    let mut tables: Vec<u64> = kinds
        .filter_map(|kind| match kind {
            FileKind::Table(number) => Some(number.0),
            _ => None,
        })
        .collect();
    tables.sort_unstable();
    tables
}
