//! Work on a database that nobody has open: verify, destroy.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, ErrorKind, FileNumber, Order, Result};
use cairndb_env::{Dir, Env, RealEnv};
use cairndb_format::evidence::Evidence;
use cairndb_format::name::{self, FileKind};
use cairndb_format::value_file::ValueScan;

use crate::engine::core::Core;
use crate::read::pointed::read_pointer_unmapped;
use crate::recovery::leftovers::{Whose, whose};
use crate::state::options::Options;
use crate::state::value_handle::ValueHandle;

/// What [`verify`] read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tables read whole.
    pub tables: u64,
    /// Entries in them.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Large values read through their pointers.
    pub values: u64,
    /// Entries found in the log.
    pub log_entries: u64,
}

/// Reads the database at `path` and checks it: of tables and manifest every byte, of the log what would be
/// replayed, of large values those that are alive and all that the last clean close found; checksums, order,
/// bounds, references. Changes nothing. `error_if_exists` of `options` is not heeded.
///
/// # Errors
/// The first damage found, with file and offset; `Locked` while a handle that writes has it open; as
/// [`Options::open`] otherwise.
pub fn verify(path: impl AsRef<Path>, options: &Options) -> Result<VerifyReport> {
    let options = options.clone().error_if_exists(false);
    let path = path.as_ref();
    let core = Core::open(&options.read_only(true).verify_always(true), path)?;
    let report = verify_all(&core);
    let report = report.map_err(|error| error.directory(path))?;
    core.close()?;
    Ok(report)
}

/// Removes the database at `path`: LOCK, CURRENT and every file whose bytes say that it is of this
/// format, then the directory if that leaves it empty. A missing database is no error. Of `options`
/// only the environment counts.
///
/// Files that merely have such a name stay, and so does the directory then: links, pipes, folders,
/// files of somebody else, and files that a crash left without contents. The directory stays,
/// empty, also where `path` is a symbolic link to it, a mount point or `.`, or its parent may not
/// be written.
///
/// # Errors
/// `Locked` while a handle has it open; `InvalidArgument` when no file there is of this format, which
/// names alone do not say (LevelDB's are the same), and there is more than LOCK and files without
/// contents; `Io` when a file cannot be looked at, or CURRENT is no regular file. Nothing is
/// removed then. `Io` of removing a file; the call can be repeated.
pub fn destroy(path: impl AsRef<Path>, options: &Options) -> Result<()> {
    let path = path.as_ref();
    destroy_here(path, options).map_err(|error| error.directory(path))
}

fn destroy_here(path: &Path, options: &Options) -> Result<()> {
    let env: Arc<dyn Env> = match &options.env {
        Some(env) => Arc::clone(env),
        None => RealEnv::new(),
    };
    let dir = match env.open_dir(path, false) {
        Ok(dir) => dir,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // Before LOCK is made: a refusal leaves nothing behind. Where it is, locking makes nothing, and what is
    // seen before that may be half of what another call removes.
    let names = dir.list()?;
    if !names.is_empty() && !names.iter().any(|found| found == name::LOCK) {
        doomed(&*dir, &names)?;
    }
    let lock = match dir.lock(name::LOCK) {
        Ok(lock) => lock,
        // Another call has removed the directory since it was opened.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // What was there before somebody else closed it may be gone, and more have come.
    let doomed = doomed(&*dir, &dir.list()?)?;
    // CURRENT first: from then on a crash leaves a directory that cannot be taken for a database
    // with half its tables.
    if dir.size_of(name::CURRENT)?.is_some() {
        dir.unlink(name::CURRENT)?;
        dir.sync()?;
    }
    // Manifests last: they are marked from the first byte on, so that a call that was cut short can be
    // repeated.
    let is_manifest = |found: &&String| found.starts_with(name::MANIFEST_PREFIX);
    let (manifests, others): (Vec<&String>, Vec<&String>) = doomed.iter().partition(is_manifest);
    for found in others.into_iter().chain(manifests) {
        dir.unlink(found)?;
    }
    dir.unlink(name::LOCK)?;
    dir.sync()?;
    // From here on others may begin a database: nothing is touched but a directory that is empty.
    if dir.list()?.is_empty()
        && let Err(error) = dir.remove()
        && dir.list().is_ok_and(|names| names.is_empty())
    {
        return Err(error);
    }
    drop(lock);
    Ok(())
}

/// The files among `names` that are ours, but for LOCK and CURRENT.
///
/// # Errors
/// `InvalidArgument` where there is none and the directory holds more than what a creation or a removal
/// that was cut short leaves behind: LOCK, and files that are empty or hold zeros; of looking at a
/// file.
fn doomed(dir: &dyn Dir, names: &[String]) -> Result<Vec<String>> {
    // One that is no regular file is an error: what it stands for is not ours to decide.
    let mut foreign = dir.size_of(name::CURRENT)?.is_some();
    let mut ours = Vec::new();
    for found in names {
        match FileKind::parse(found) {
            None => foreign = true,
            Some(FileKind::Lock | FileKind::Current) => {}
            Some(_) => match whose(dir, found)? {
                Whose::Ours => ours.push(found.clone()),
                Whose::Other(evidence, _) => foreign |= evidence == Evidence::Foreign,
                // Somebody else may be removing it.
                Whose::Gone => {}
            },
        }
    }
    let begun = names.is_empty() || names.iter().any(|found| found == name::LOCK);
    if ours.is_empty() && (foreign || !begun) {
        return Err(Error::invalid(
            "the directory holds no database of this kind; nothing was removed",
        )
        .path(dir.path()));
    }
    Ok(ours)
}

/// Reads every table and every value behind a pointer.
fn verify_all(core: &Core) -> Result<VerifyReport> {
    let (view, _) = core.versions.read_point();
    let mut report = VerifyReport {
        log_entries: core.open_report().replayed_entries,
        ..Default::default()
    };
    view.version.check(&core.shared.context.order)?;
    for handle in view.version.tables() {
        let table = handle.table()?;
        table.verify()?;
        let wrong = |what: &'static str| {
            Error::corruption(what)
                .file(name::table(FileNumber(handle.record.file)))
                .offset(0)
        };
        if table.entries() != handle.record.entries {
            return Err(wrong("the table's entry count is not the manifest's"));
        }
        if table.smallest() != handle.record.smallest || table.largest() != handle.record.largest {
            return Err(wrong("the table's bounds are not the manifest's"));
        }
        report.tables += 1;
        report.entries += handle.record.entries;
        report.bytes += handle.record.bytes;
        if !handle.record.value_refs.is_empty() {
            report.values +=
                verify_values(&core.shared.context.order, table, &view.version.values)?;
        }
    }
    for handle in view.version.values.values() {
        verify_value_file(handle)?;
    }
    Ok(report)
}

/// Reads every record that the last clean close found, dead ones too.
fn verify_value_file(handle: &ValueHandle) -> Result<()> {
    let whole = handle.whole.load(Ordering::Relaxed);
    if whole == 0 {
        return Ok(());
    }
    let file = handle.file(whole)?;
    let mut scan = ValueScan::new(&*file, FileNumber(handle.number))?.until(whole);
    let mut value = Vec::new();
    while scan.advance(&mut value)?.is_some() {}
    Ok(())
}

fn verify_values(
    order: &Order,
    table: &Arc<cairndb_format::table::Table>,
    values: &crate::state::version::Values,
) -> Result<u64> {
    let mut cursor = table.cursor();
    let mut value = Vec::new();
    let mut read = 0;
    cursor.first()?;
    while cursor.valid() {
        if cursor.kind() == cairndb_base::Kind::Pointer {
            cursor.load_value()?;
            read_pointer_unmapped(order, values, cursor.key(), cursor.loaded(), &mut value)?;
            read += 1;
        }
        cursor.next()?;
    }
    Ok(read)
}
