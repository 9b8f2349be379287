//! Files found at opening that have a name of ours and that no manifest names.
//!
//! What jobs that never finished have left is removed, and log files are used again. But a name
//! proves nothing: `20261127.log` may be anybody's. So a file is removed, opened or written over
//! only where it is a regular file whose bytes say that it is ours; every other one stays, its
//! number is not used, and [`OpenReport::skipped`](crate::OpenReport) lists it.
//!
//! The files are looked at when somebody needs to know: at this handle's first write, or when the
//! report is asked for. At opening it would take a tenth of the time after a clean close.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_base::{ErrorKind, Result};
use cairndb_env::Dir;
use cairndb_format::evidence::{Evidence, evidence};
use cairndb_format::name::FileKind;

use crate::recovery::report::{OpenReport, SkippedFile};
use crate::state::version::Version;

/// Whose a file with a name of ours is.
#[derive(Debug)]
pub(crate) enum Whose {
    /// Its bytes say that it is this format's.
    Ours,
    /// They do not, or it is no regular file; why, as a phrase. `Silent` where a crash of ours
    /// could have left it: it is empty, or begins with zeros.
    Other(Evidence, String),
    /// It is not there any more.
    Gone,
}

/// Looks at `name`, which has to be one of ours.
///
/// # Errors
/// Of looking the file up, opening and reading it.
pub(crate) fn whose(dir: &dyn Dir, name: &str) -> Result<Whose> {
    match dir.size_of(name) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(Whose::Gone),
        // No error of the system's: it is no regular file. Such are not opened: who waits at a
        // pipe's other end would be woken up.
        Err(error) if error.io_kind().is_none() => {
            return Ok(Whose::Other(Evidence::Foreign, error.message().to_owned()));
        }
        Err(error) => return Err(error),
    }
    let found = match evidence(dir, name) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Whose::Gone),
        Err(error) => return Err(error),
    };
    Ok(match found {
        Evidence::Ours => Whose::Ours,
        Evidence::Silent => {
            let reason = "empty, or begins with zeros: nothing says that it is this database's";
            Whose::Other(found, reason.to_owned())
        }
        Evidence::Foreign => {
            let kind = FileKind::parse(name).map_or("file of this format", FileKind::noun);
            Whose::Other(found, format!("its contents are not those of a {kind}"))
        }
    })
}

/// Files of those `found` that the manifest numbered `manifest` does not name: tables of jobs that
/// never finished, old manifests, temporary files, spare logs, and whatever else has such a name.
/// Asked before any job of the handle makes new ones; `logs` are those that a read-only handle
/// reads.
pub(crate) fn unnamed(
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
        None | Some(FileKind::Lock | FileKind::Current) => false,
    });
    found
}

/// Files that no manifest names, by whose they are.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// To be used again or removed.
    pub(crate) ours: Vec<String>,
    /// To be left alone.
    pub(crate) skipped: Vec<SkippedFile>,
}

/// What opening found.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    found: OnceLock<Vec<String>>,
    sorted: OnceLock<Sorted>,
    report: OnceLock<OpenReport>,
    taken: AtomicBool,
}

impl Leftovers {
    /// Notes the files `found`, which have names of ours. Once, by opening.
    pub(crate) fn note(&self, found: Vec<String>) {
        let noted = self.found.set(found);
        debug_assert!(noted.is_ok(), "a database is opened once");
    }

    /// Those that are ours, once: nobody may remove what somebody else uses again. Under the commit
    /// lock.
    pub(crate) fn take_ours(&self, dir: &dyn Dir) -> &[String] {
        // Relaxed: under a lock.
        if self.taken.swap(true, Ordering::Relaxed) {
            return &[];
        }
        &self.sorted(dir).ours
    }

    /// `report` with the skipped files; without them where they were never asked for and `dir` is
    /// none of this handle's any more.
    pub(crate) fn report<'a>(
        &'a self,
        report: &'a OpenReport,
        dir: Option<&dyn Dir>,
    ) -> &'a OpenReport {
        let Some(dir) = dir else {
            return self.report.get().unwrap_or(report);
        };
        self.report.get_or_init(|| OpenReport {
            skipped: self.sorted(dir).skipped.clone(),
            ..report.clone()
        })
    }

    /// By whose they are, as they were when this was asked first. One that cannot be looked at is
    /// left alone.
    pub(crate) fn sorted(&self, dir: &dyn Dir) -> &Sorted {
        self.sorted.get_or_init(|| {
            let mut sorted = Sorted::default();
            for name in self.found.get().into_iter().flatten() {
                let reason = match whose(dir, name) {
                    Ok(Whose::Ours) => {
                        sorted.ours.push(name.clone());
                        continue;
                    }
                    Ok(Whose::Gone) => continue,
                    Ok(Whose::Other(_, reason)) => reason,
                    Err(error) => error.to_string(),
                };
                sorted.skipped.push(SkippedFile {
                    file: name.clone(),
                    reason,
                });
            }
            sorted
        })
    }
}
