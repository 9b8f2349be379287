//! Files found at open whose names follow this format but that no manifest names.
//!
//! Files left by unfinished jobs are removed, and log files are reused. However, a name proves
//! nothing: any program may have created `20261127.log`. A file is therefore removed, opened or
//! overwritten only if it is a regular file whose contents identify it as ours. Every other file
//! stays, its number is not used, and [`OpenReport::skipped`](crate::OpenReport) lists it.
//!
//! The files are examined when the result is first needed: at the first write of the handle, or
//! when the report is requested. After a clean close, examining them would take a noticeable part
//! of the open.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_env::Dir;
use cairndb_files::{Ownership, ownership};
use cairndb_format::name::FileKind;

use crate::recovery::report::{OpenReport, SkippedFile};
use crate::state::version::Version;

/// Returns the files in `found` that manifest number `manifest` does not name: tables of unfinished
/// jobs, old manifests, temporary files, spare logs, and any other file with such a name. Must be
/// called before a job of this handle creates files. `logs` are the log files that a read-only
/// handle reads.
pub(crate) fn unlisted_files(
    mut found: Vec<String>,
    version: &Version,
    manifest: u64,
    logs: &BTreeSet<u64>,
) -> Vec<String> {
    let tables: BTreeSet<u64> = version.tables().map(|table| table.record.file).collect();
    found.retain(|name| match FileKind::parse(name) {
        Some(FileKind::Table(number)) => !tables.contains(&number.0),
        Some(FileKind::Value(number)) => !version.values.contains_key(&number.0),
        Some(FileKind::Manifest(number)) => number.0 != manifest,
        Some(FileKind::Log(number)) => !logs.contains(&number.0),
        Some(FileKind::Temp(_)) => true,
        None | Some(FileKind::Lock | FileKind::Current | FileKind::Shared) => false,
    });
    found
}

/// Files that no manifest names, split by whether they are ours.
#[derive(Debug, Default)]
pub(crate) struct Classified {
    /// Files to reuse or remove.
    pub(crate) ours: Vec<String>,
    /// Files to leave alone.
    pub(crate) skipped: Vec<SkippedFile>,
}

/// Files that were found at open and that no manifest names.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    found: OnceLock<Vec<String>>,
    classified: OnceLock<Classified>,
    report: OnceLock<OpenReport>,
    taken: AtomicBool,
}

impl Leftovers {
    /// Stores the names `found`, all of this format. Called once, when the database is opened.
    pub(crate) fn note(&self, found: Vec<String>) {
        let noted = self.found.set(found);
        debug_assert!(noted.is_ok(), "a database is opened once");
    }

    /// Returns the files that are ours to the first caller, and nothing to later callers: a file
    /// must not be removed by one caller and reused by another. Call it under the commit lock.
    pub(crate) fn take_ours(&self, dir: &dyn Dir) -> &[String] {
        // Relaxed, because callers hold a lock.
        if self.taken.swap(true, Ordering::Relaxed) {
            return &[];
        }
        &self.classified(dir).ours
    }

    /// Returns `report` with the skipped files added. If `dir` is `None`, because the handle has
    /// released its directory, they are included only if they have already been determined.
    pub(crate) fn report<'a>(
        &'a self,
        report: &'a OpenReport,
        dir: Option<&dyn Dir>,
    ) -> &'a OpenReport {
        let Some(dir) = dir else {
            return self.report.get().unwrap_or(report);
        };
        self.report.get_or_init(|| OpenReport {
            skipped: self.classified(dir).skipped.clone(),
            ..report.clone()
        })
    }

    /// Returns the files, split by whether they are ours, as determined by the first call. A file
    /// that cannot be examined is left alone.
    pub(crate) fn classified(&self, dir: &dyn Dir) -> &Classified {
        self.classified.get_or_init(|| {
            let mut classified = Classified::default();
            for name in self.found.get().into_iter().flatten() {
                let reason = match ownership(dir, name) {
                    Ok(Ownership::Ours) => {
                        classified.ours.push(name.clone());
                        continue;
                    }
                    Ok(Ownership::Gone) => continue,
                    Ok(Ownership::Other(_, reason)) => reason,
                    Err(error) => error.to_string(),
                };
                classified.skipped.push(SkippedFile {
                    file: name.clone(),
                    reason,
                });
            }
            classified
        })
    }
}
