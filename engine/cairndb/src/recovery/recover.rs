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

use std::collections::BTreeSet;
use std::sync::Arc;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::{Dir, Env};
use cairndb_files::{NUMBER_MAX, Ownership, out_of_range, ownership, unused_file};
use cairndb_format::log::{HEADER_BYTES, SegmentHeader};
use cairndb_format::manifest::{ManifestReader, Tail};
use cairndb_format::name::{self, FileKind};

use crate::recovery::folded::Folded;
use crate::recovery::live_log::LiveLog;
use crate::recovery::log_end::Walk;
use crate::recovery::orphans::ManifestFiles;
use crate::recovery::recovered::Recovered;
use crate::recovery::replay::{Replay, Replayed};
use crate::recovery::report::{ManifestCut, OpenReport};
use crate::recovery::value_copier::LargeValues;
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::keyspaces::Keyspaces;
use crate::state::options::RecoveryMode;
use crate::state::sections::{Section, Sections};
use crate::versions::settings::Settings;

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
        let mut manifest_files = ManifestFiles::new(number);
        let (mut folded, manifest_cut) = self.fold(number, &mut manifest_files)?;
        folded.check_closed().map_err(named)?;
        check_components(&folded, &self.contexts[Section::Default], number)?;
        let listed = dir.list()?;
        let next_file = unused_file(&listed, folded.next_file.max(number.0 + 1));
        let restored = folded.keyspaces.restore(self.keyspaces, next_file);
        restored.map_err(named)?;
        let version = folded.version(self.opener, &listed, &self.keyspaces.live());
        let mut version = version.map_err(|error| located(error, number))?;
        version.becomes_newest(&self.opener.mapping);
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
            next_segment: folded.log.next_segment.max(1),
            manifest: number.0,
            value_dead: folded.value_dead.clone(),
            stored: folded.stored.clone(),
            history: folded.log.found(),
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
        recovered.last_seq = recovered.last_seq.max(folded.log.newest_event());
        let kept = recovered.history.kept.iter();
        recovered.logs.extend(kept.map(|kept| kept.record.file));
        Ok(recovered)
    }

    /// Folds the edits of a manifest. Returns where a crash has cut it.
    fn fold(
        &self,
        number: FileNumber,
        manifest_files: &mut ManifestFiles,
    ) -> Result<(Folded, Option<ManifestCut>)> {
        let mut folded = Folded::default();
        let mut reader = ManifestReader::open(&*self.opener.files.dir, number)?;
        while let Some(edit) = reader.advance()? {
            manifest_files.add(&edit);
            let applied = folded.apply(edit);
            applied.map_err(|error| error.file(name::manifest(number)))?;
        }
        let cut = match reader.tail() {
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
        Ok((folded, cut))
    }

    /// Replays the log into `recovered`, which must not be used after an error.
    fn replay(
        &self,
        folded: &Folded,
        manifest_files: &mut ManifestFiles,
        recovered: &mut Recovered,
    ) -> Result<()> {
        let dir = &*self.opener.files.dir;
        let log = LiveLog::new(dir, folded.log.live.values());
        if self.settings.read_only {
            let live = folded.log.live.values();
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
        let replayed = replayed.and_then(|()| {
            if self.settings.read_only {
                return Ok(());
            }
            let (history, next_file) = (&mut recovered.history, &mut recovered.next_file);
            let replayed = (log.records(), &*end.ends);
            history.keep(dir, next_file, replayed, recovered.last_seq)
        });
        if replayed.is_err() && !self.settings.read_only {
            // The next attempt cannot use anything written so far. Errors of the sweep are dropped
            // in favour of the replay's.
            let _ = manifest_files.sweep_failed(dir, &recovered.made);
        }

        replayed
    }
}

/// Adds the manifest to an error that names no file.
fn located(error: Error, manifest: FileNumber) -> Error {
    match error.file_name() {
        Some(_) => error,
        None => error.file(name::manifest(manifest)),
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

pub(crate) fn check_components(
    folded: &Folded,
    context: &ReadContext,
    number: FileNumber,
) -> Result<()> {
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
    if let (Some(stored), Some(operator)) = (&folded.stored.merge_operator, &context.merge_operator)
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
