//! Recovery: turns the manifest and the log into a version. Nothing is written until everything has
//! been read and checked.
//!
//! 1. The edits of the manifest are folded. Comparator and merge operator must match, and every
//!    named file must exist.
//! 2. If the last edit is a clean close, recovery is done: nothing is replayed or written. The
//!    length of a table is then checked when the table is first used, because looking up thousands
//!    of files would cost more than the rest of the open, and a read per file on a cold disk.
//!    Without a clean close, all lengths are checked now.
//! 3. Otherwise the live segments are read in order, one at a time. The first bad record ends the
//!    log. Intact records after it, and the headers and records of later segments, carry a
//!    known-synced position, which determines whether the end is a torn tail or damage. In `Strict`
//!    mode damage is an error. Anything that cannot be read now is also an error.
//! 4. Files left by interrupted opens are removed.
//! 5. The replayed records become new, synced tables and a new manifest. The old log is never
//!    appended to. A cut tail can never reappear, because a reused file gets a different salt.
//!
//! After a crash during recovery, `CURRENT` is either the old file, or the new one with everything
//! it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, FileNumber, Result, SeqNo};
use cairndb_env::{Dir, Env};
use cairndb_files::{NUMBER_MAX, Ownership, check_numbers, out_of_range, ownership, unused_file};
use cairndb_format::log::{HEADER_BYTES, SegmentHeader};
use cairndb_format::manifest::{
    CleanClose, DeletedRange, ManifestReader, SegmentRecord, TableRecord, Tail, VersionEdit,
};
use cairndb_format::name::{self, FileKind};

use crate::recovery::keyspaces::FoldedKeyspaces;
use crate::recovery::live_log::LiveLog;
use crate::recovery::log_end::Walk;
use crate::recovery::orphans::ManifestFiles;
use crate::recovery::recovered::Recovered;
use crate::recovery::replay::{Replay, Replayed};
use crate::recovery::report::{ManifestCut, OpenReport};
use crate::recovery::value_copier::LargeValues;
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::files::value_handle::ValueHandle;
use crate::state::keyspaces::Keyspaces;
use crate::state::options::RecoveryMode;
use crate::state::ranges::{Deleted, RangeMap};
use crate::state::sections::{Section, Sections, keyspace_of};
use crate::state::version::{Run, TableHandle, Values, Version};
use crate::versions::settings::Settings;

/// The edits of the manifest, folded into one state.
#[derive(Debug, Default)]
struct Folded {
    comparator: Option<String>,
    merge_operator: Option<String>,
    next_file: u64,
    last_seq: SeqNo,
    tables: BTreeMap<u64, TableRecord>,
    runs: Vec<u64>,
    segments: BTreeMap<u64, SegmentRecord>,
    next_segment: u64,
    values: BTreeSet<u64>,
    value_dead: BTreeMap<u64, u64>,
    value_sizes: BTreeMap<u64, u64>,
    settled_values: BTreeSet<u64>,
    /// Clean close, if the last edit is one.
    closed: Option<CleanClose>,
    deleted_ranges: Vec<DeletedRange>,
    keyspaces: FoldedKeyspaces,
}

impl Folded {
    fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        check_numbers(&edit)?;
        self.comparator = edit.comparator.or(self.comparator.take());
        self.merge_operator = edit.merge_operator.or(self.merge_operator.take());
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
        for segment in edit.added_segments {
            self.next_segment = self.next_segment.max(segment.segment + 1);
            self.segments.insert(segment.segment, segment);
        }
        for segment in edit.retired_segments {
            self.segments.remove(&segment);
        }
        self.values.extend(edit.added_values);
        self.settled_values.extend(edit.settled_values);
        self.value_sizes.extend(edit.value_sizes);
        for (file, dead) in edit.value_dead {
            let sum = self.value_dead.entry(file).or_insert(0);
            *sum = sum.saturating_add(dead);
        }
        self.deleted_ranges.extend(edit.deleted_ranges);
        self.keyspaces
            .apply(edit.created_keyspaces, &edit.dropped_keyspaces)?;
        for file in edit.removed_values {
            self.values.remove(&file);
            self.value_dead.remove(&file);
            self.value_sizes.remove(&file);
            self.settled_values.remove(&file);
        }
        Ok(())
    }

    /// Checks that no log remains after a clean close, because its records would not be replayed.
    fn check_closed(&self) -> Result<()> {
        let Some(close) = &self.closed else {
            return Ok(());
        };
        if !close.log_ends.is_empty() || !self.segments.is_empty() {
            return Err(Error::corruption("log segments remain after a clean close")
                .expected("no segment")
                .found(self.segments.len().max(close.log_ends.len())));
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
    fn ranges(&mut self, recovery: &Recovery<'_>) -> Result<Sections<RangeMap>> {
        let (orders, live) = (&recovery.opener.orders, recovery.keyspaces.live());
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
    fn version(&self, opener: &Arc<TableOpener>, listed: &[String]) -> Result<Version> {
        let mut runs: BTreeMap<u64, Vec<Arc<TableHandle>>> =
            self.runs.iter().map(|id| (*id, Vec::new())).collect();
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
            let run = runs.get_mut(&record.run).ok_or_else(|| {
                Error::corruption("a table belongs to a run that the manifest does not list")
                    .file(named())
            })?;
            run.push(Arc::new(TableHandle::new(record.clone(), opener)));
        }
        // Runs are in the manifest's order. A run that it lists twice is included once.
        let filled = self.runs.iter().filter_map(|id| {
            let tables = runs.remove(id).filter(|tables| !tables.is_empty())?;
            Some(Arc::new(Run::new(*id, tables, &opener.orders)))
        });
        let version = Version {
            runs: filled.collect(),
            values: Arc::new(self.value_files(opener)?),
            ranges: Sections::default(),
        };
        version.check(&opener.orders)?;
        Ok(version)
    }

    /// Returns the value files that exist.
    fn value_files(&self, opener: &Arc<TableOpener>) -> Result<Values> {
        let mut values = Values::new();
        let tables = self.tables.values();
        let referenced: BTreeSet<u64> = tables
            .flat_map(|table| table.value_refs.iter().map(|(file, _)| *file))
            .collect();
        for number in &self.values {
            let handle = ValueHandle::new(*number, opener);
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
            let whole = self.value_sizes.get(number).copied().unwrap_or(0);
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
            values.insert(*number, Arc::new(handle));
        }
        Ok(values)
    }
}

/// One attempt at recovery.
pub(crate) struct Recovery<'a> {
    pub(crate) opener: &'a Arc<TableOpener>,
    pub(crate) settings: &'a Settings,
    pub(crate) contexts: &'a Sections<ReadContext>,
    pub(crate) keyspaces: &'a Arc<Keyspaces>,
    pub(crate) mode: RecoveryMode,
    pub(crate) large: &'a LargeValues,
    pub(crate) env: &'a dyn Env,
}

impl Recovery<'_> {
    /// Reads manifest `number` and then the log.
    pub(crate) fn run(&self, number: FileNumber) -> Result<Recovered> {
        let dir = &*self.opener.files.dir;
        let named = |error: Error| error.file(name::manifest(number));
        let mut folded = Folded::default();
        let mut manifest_files = ManifestFiles::new(number);
        let mut reader = ManifestReader::open(dir, number)?;
        while let Some(edit) = reader.advance()? {
            manifest_files.add(&edit);
            folded.apply(edit).map_err(named)?;
        }
        let manifest_cut = match reader.tail() {
            Tail::Clean => None,
            Tail::Torn { offset } => {
                // A clean close followed by a torn tail was not the last edit.
                folded.closed = None;
                Some(ManifestCut {
                    file: name::manifest(number),
                    offset,
                })
            }
        };
        folded.check_closed().map_err(named)?;
        check_components(&folded, &self.contexts[Section::Default], number)?;
        let listed = dir.list()?;
        let next_file = unused_file(&listed, folded.next_file.max(number.0 + 1));
        let restored = folded.keyspaces.restore(self.keyspaces, next_file);
        restored.map_err(named)?;
        let mut version = folded.version(self.opener, &listed)?;
        version.ranges = folded.ranges(self).map_err(named)?;
        let mapped = &self.opener.mapping.bytes;
        mapped.store(version.bytes(), Ordering::Relaxed);
        if number.0 >= NUMBER_MAX {
            return Err(out_of_range(number.0).file(name::manifest(number)));
        }
        let next_run = folded.runs.iter().max().map_or(1, |run| run + 1);
        let mut recovered = Recovered {
            ranges: version.ranges.clone(),
            version,
            sealed: Vec::new(),
            last_seq: folded.last_seq,
            next_file,
            next_run,
            next_segment: folded.next_segment.max(1),
            manifest: number.0,
            value_dead: folded.value_dead.clone(),
            merge_operator: folded.merge_operator.clone(),
            report: OpenReport {
                clean: folded.closed.is_some(),
                manifest_cut,
                ..OpenReport::default()
            },
            listed: (folded.closed.is_some() || self.settings.read_only).then_some(listed),
            logs: BTreeSet::new(),
            made: Vec::new(),
        };
        if folded.closed.is_none() {
            self.replay(&folded, &mut manifest_files, &mut recovered)?;
        }
        Ok(recovered)
    }

    /// Replays the log into `recovered`, which must not be used after an error.
    fn replay(
        &self,
        folded: &Folded,
        manifest_files: &mut ManifestFiles,
        recovered: &mut Recovered,
    ) -> Result<()> {
        let dir = &*self.opener.files.dir;
        let log = LiveLog::new(dir, folded.segments.values());
        if self.settings.read_only {
            let live = folded.segments.values();
            recovered.logs = live.map(|segment| segment.file).collect();
        }
        let end = Walk {
            log: &log,
            values: &recovered.version.values,
            orders: &self.opener.orders,
            mode: self.mode,
            durable_seq: folded.last_seq,
        }
        .find_end()?;
        // Everything has been read and verified, so writing may start.
        if !self.settings.read_only {
            // The old `CURRENT` must not reappear after a crash and find its files gone.
            dir.sync()?;
            manifest_files.sweep_others(dir)?;
        }
        recovered.report.log_cut.clone_from(&end.cut);
        let replay = Replay {
            dir,
            opener: self.opener,
            settings: self.settings,
            contexts: self.contexts,
            keyspaces: self.keyspaces,
            large: self.large,
            durable_seq: folded.last_seq,
            live: self.keyspaces.live(),
            recovered: &mut *recovered,
            pending: Replayed::new(self.settings.value_file),
            salt: self.env.random_u64(),
            manifest_files: &mut *manifest_files,
            released: 0,
        };
        let replayed = replay.run(&log, &end);
        if replayed.is_err() && !self.settings.read_only {
            // The next attempt cannot use anything written so far. Errors of the sweep are dropped
            // in favour of the replay's.
            let _ = manifest_files.sweep_failed(dir, &recovered.made);
        }

        replayed
    }
}

/// Removes log files that were never a segment, including the disk reserve. Returns whether there
/// were any. The durable part of the manifest may name any other log file.
///
/// # Errors
/// Errors of listing the directory. A file that cannot be examined stays.
pub(crate) fn remove_unused_logs(dir: &dyn Dir) -> Result<bool> {
    let mut removed = false;
    for found in dir.list()? {
        let is_log = matches!(FileKind::parse(&found), Some(FileKind::Log(_)));
        if is_log && matches!(ownership(dir, &found), Ok(Ownership::Ours)) {
            let mut sector = [0; HEADER_BYTES];
            let read = dir.open_read(&found);
            let unused = read.is_ok_and(|file| file.read_at(0, &mut sector).is_ok())
                && SegmentHeader::decode(&sector).is_ok_and(|it| it == SegmentHeader::UNUSED);
            removed |= unused && dir.unlink(&found).is_ok();
        }
    }
    Ok(removed)
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

fn check_components(folded: &Folded, context: &ReadContext, number: FileNumber) -> Result<()> {
    let manifest = name::manifest(number);
    let order = context.order.name();
    match &folded.comparator {
        Some(stored) if stored == order => {}
        Some(stored) => {
            return Err(Error::invalid(
                "the database was created with a different comparator; open it with that one",
            )
            .file(manifest)
            .expected(stored)
            .found(order));
        }
        None => {
            return Err(Error::corruption("the manifest names no comparator").file(manifest));
        }
    }
    if let (Some(stored), Some(operator)) = (&folded.merge_operator, &context.merge_operator)
        && stored != operator.name()
    {
        return Err(Error::invalid(
            "the database has another merge operator; open it with the one it was used with",
        )
        .file(manifest)
        .expected(stored)
        .found(operator.name()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cairndb_env::{Background, Env, MemEnv};

    use super::*;

    /// An example that no real database could contain would mislead authors of other readers.
    #[test]
    fn the_golden_manifest_could_belong_to_a_database() {
        let text = include_str!("../../../../testdata/golden/manifest-v1.hex");
        let code = text.lines().filter_map(|line| line.split('#').next());
        let bytes: Vec<u8> = code
            .flat_map(str::split_whitespace)
            .map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits"))
            .collect();
        let dir = MemEnv::new(Background::Stepped)
            .open_dir(Path::new("db"), true)
            .expect("MemEnv creates any directory");
        let mut file = dir
            .create("MANIFEST-000005")
            .expect("creating in memory succeeds");
        file.append(&bytes).expect("appending in memory succeeds");
        let mut reader = ManifestReader::open(&*dir, FileNumber(5)).expect("the header is valid");
        let mut folded = Folded::default();
        while let Some(edit) = reader.advance().expect("every record is valid") {
            folded.apply(edit).expect("the edit fits the state so far");
        }
        folded.check_closed().expect("the close is consistent");
        let tables = folded.tables.values();
        let tables: Vec<_> = tables.map(|table| (table.file, table.run)).collect();
        assert_eq!(tables, [(16, 1)]);
        assert_eq!(folded.values.iter().collect::<Vec<_>>(), [&12]);
        assert!(folded.runs.contains(&1) && folded.closed.is_some());
    }
}
