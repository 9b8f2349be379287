//! Operations on a database that is not open: verify and destroy.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Order, Result, watch};
use cairndb_env::Dir;
use cairndb_files::{Ownership, ownership};
use cairndb_format::batch;
use cairndb_format::evidence::{Evidence, other_store_in};
use cairndb_format::log::HEADER_BYTES;
use cairndb_format::name::{self, FileKind};
use cairndb_format::value_file::ValueScan;
use cairndb_shared::Shared;

use crate::engine::core::Core;
use crate::log::history::History;
use crate::log::segment_file::SegmentFile;
use crate::read::get::sources;
use crate::read::merging_iter::MergingIter;
use crate::read::source::hidden::deleted_before;
use crate::read::value_ref::read_pointer_unmapped;
use crate::read::view::View;
use crate::state::files::value_handle::ValueHandle;
use crate::state::options::Options;
use crate::state::sections::StoredKey;

/// Counters of the data that [`verify`] read and found correct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of tables, each read completely.
    pub tables: u64,
    /// Number of entries that a scan returns: keys with a value.
    pub entries: u64,
    /// Number of versions stored in the tables: the newest one of each key, and tombstones, merge
    /// operands and older versions that no compaction has dropped yet.
    pub versions: u64,
    /// Number of bytes in the tables.
    pub bytes: u64,
    /// Number of large values read through their pointers.
    pub values: u64,
    /// Number of versions in the log that the next open would replay.
    pub log_versions: u64,
}

/// Checks the whole database at `path` without changing anything.
///
/// Reads every byte of the tables and of the manifest, the log records that an open would replay
/// or that are kept for [leases](crate::ChangesOptions::lease), and, in value files, the live
/// values and all values that existed at the last clean close. Checks checksums, key order, bounds
/// and references. At last, counts the entries, for which it reads the keys a second time, in
/// order. `options` must contain the database's comparator and merge operator, as for an open; its
/// `error_if_exists` is ignored.
///
/// With [`Options::follow`], another process may have the database open for writing: the state at
/// the time of the call is verified, and `log_versions` are those that are in no table yet.
///
/// May be [watched](crate::watch).
///
/// # Errors
/// - The first damage found: `Corruption`, with file and offset.
/// - `Locked` while a handle has the database open for writing, unless the options follow.
/// - `Revoked` if they do, and the writer has removed files meanwhile
///   ([`Options::reader_space_max`]).
/// - Otherwise the same as [`Options::open`].
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = cairndb::Db::open(&dir)?;
/// db.put(b"granite", b"grey")?;
/// db.put(b"granite", b"red")?;
/// db.close()?;
/// let report = cairndb::verify(&dir, &cairndb::Options::new())?;
/// assert_eq!(report.entries, 1);
/// # Ok(()) }
/// ```
pub fn verify(path: impl AsRef<Path>, options: &Options) -> Result<VerifyReport> {
    let options = options.clone().error_if_exists(false);
    let path = path.as_ref();
    let core = Core::open(&options.read_only(true).verify_always(true), path)?;
    let report = verify_all(&core);
    let report = report.map_err(|error| error.directory(path))?;
    core.close()?;
    Ok(report)
}

/// Removes the database at `path`: `LOCK`, `CURRENT` and every file whose contents identify it as a
/// file of this format, then the directory, if that leaves it empty. A missing database is not an
/// error. Only the environment of `options` is used.
///
/// Other files stay, even if their names follow this format: links, pipes, directories (such as
/// `leveldb-original/` of a converted database), foreign files, and files that a crash left without
/// contents. In that case the directory stays as well. It also stays, empty, if `path` is a
/// symbolic link to it, a mount point or `.`, or if its parent is not writable.
///
/// # Errors
/// With these errors, nothing is removed:
/// - `Locked` while a handle has the database open.
/// - `InvalidArgument` if the directory is LevelDB's or RocksDB's, even if an interrupted
///   conversion has left files of this format in it; or if it holds no file of this format, but
///   holds more than `LOCK` and files without contents. Names alone are not enough, because LevelDB
///   uses the same names.
/// - `Io` if a file cannot be examined, or `CURRENT` is not a regular file.
///
/// If removing a file fails with `Io`, the remaining files are left; the call can be repeated.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let parent = tempfile::tempdir().unwrap();
/// # let path = parent.path().join("stones");
/// cairndb::Db::open(&path)?.close()?;
/// cairndb::destroy(&path, &cairndb::Options::new())?;
/// assert!(!path.exists());
/// # Ok(()) }
/// ```
pub fn destroy(path: impl AsRef<Path>, options: &Options) -> Result<()> {
    let path = path.as_ref();
    destroy_here(path, options).map_err(|error| error.directory(path))
}

fn destroy_here(path: &Path, options: &Options) -> Result<()> {
    let env = options.environment();
    let dir = match env.open_dir(path, false) {
        Ok(dir) => dir,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // Checked before `LOCK` is created, so that a refusal leaves the directory as it was. If `LOCK`
    // exists, locking creates nothing, and another call may be halfway through removing these
    // files.
    let names = dir.list()?;
    if !names.is_empty() && !names.iter().any(|found| found == name::LOCK) {
        removable(&*dir, &names)?;
    }
    let lock = match dir.lock(name::LOCK) {
        Ok(lock) => lock,
        // Another call has removed the directory since it was opened.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    // Listed again under the lock: another process may have changed the files before it released
    // the lock.
    let removable = removable(&*dir, &dir.list()?)?;
    // `CURRENT` is removed first. A crash after this leaves a directory that cannot be mistaken for
    // a database, even if half of its tables are missing.
    if dir.size_of(name::CURRENT)?.is_some() {
        dir.unlink(name::CURRENT)?;
        dir.sync()?;
    }
    // Manifests are removed last. They can be identified from their first byte, so an interrupted
    // call can be repeated.
    let is_manifest = |found: &&String| found.starts_with(name::MANIFEST_PREFIX);
    let (manifests, others): (Vec<&String>, Vec<&String>) = removable.iter().partition(is_manifest);
    for found in others.into_iter().chain(manifests) {
        dir.unlink(found)?;
    }
    end_shared(&*dir)?;
    dir.unlink(name::LOCK)?;
    dir.sync()?;
    // From here on another process may create a database here, so only an empty directory is
    // removed.
    if dir.list()?.is_empty()
        && let Err(error) = dir.remove()
        && dir.list().is_ok_and(|names| names.is_empty())
    {
        return Err(error);
    }
    drop(lock);
    Ok(())
}

/// Removes the memory that followers share, if it is ours, and makes them notice.
fn end_shared(dir: &dyn Dir) -> Result<()> {
    if dir.size_of(name::SHARED)?.is_none() {
        return Ok(());
    }
    match Shared::open(dir, name::SHARED) {
        Ok(shared) if shared.file().is_writable() => shared.end(),
        // Of another version: its followers keep the last state.
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::FormatTooNew => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotSupported => {}
        Err(error) => return Err(error),
    }
    dir.unlink(name::SHARED)
}

/// Returns the files among `names` that belong to this format, without `LOCK` and `CURRENT`.
///
/// # Errors
/// `InvalidArgument` if the database is another store's, or if there is no such file and the
/// directory holds more than an interrupted creation or removal leaves: `LOCK`, and files that are
/// empty or hold zeros. Errors of examining a file.
fn removable(dir: &dyn Dir, names: &[String]) -> Result<Vec<String>> {
    // Fails if `CURRENT` is not a regular file, because its meaning is then unknown.
    let mut foreign = dir.size_of(name::CURRENT)?.is_some();
    let mut ours = Vec::new();
    for found in names {
        match FileKind::parse(found) {
            None => foreign = true,
            Some(FileKind::Lock | FileKind::Current | FileKind::Shared) => {}
            Some(_) => match ownership(dir, found)? {
                Ownership::Ours => ours.push(found.clone()),
                Ownership::Other(evidence, _) => foreign |= evidence == Evidence::Foreign,
                // Another process may have removed the file.
                Ownership::Gone => {}
            },
        }
    }
    let begun = names.is_empty() || names.iter().any(|found| found == name::LOCK);
    // A conversion that was interrupted leaves files of ours in another store's database.
    if other_store_in(dir)?.is_some() || ours.is_empty() && (foreign || !begun) {
        return Err(Error::invalid(
            "the directory holds no database of this kind; nothing was removed",
        )
        .path(dir.path()));
    }
    Ok(ours)
}

/// Reads every table and every value that a pointer refers to.
fn verify_all(core: &Core) -> Result<VerifyReport> {
    let version = core.base.versions.version();
    let mut report = VerifyReport {
        log_versions: match core.follower {
            None => core.disk.log.open_report().replayed_entries,
            Some(_) => core.base.versions.lock().memtable_entries(),
        },
        ..Default::default()
    };
    version.check(&core.base.opener.orders)?;
    let mut done = watch::done();
    // The entries are counted in a second pass.
    watch::expect(version.bytes().saturating_mul(2));
    for handle in version.values.values() {
        watch::expect(handle.bytes.load(Ordering::Relaxed));
    }
    for handle in version.tables() {
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
        report.versions += handle.record.entries;
        report.bytes += handle.record.bytes;
        if !handle.record.value_refs.is_empty() {
            let order = &core.base.opener.orders[handle.section()];
            report.values += verify_values(order, table, &version.values)?;
        }
        done += handle.record.bytes;
        watch::reach(done)?;
    }
    for handle in version.values.values() {
        verify_value_file(handle)?;
        done += handle.bytes.load(Ordering::Relaxed);
        watch::reach(done)?;
    }
    // A writer that is followed frees what is kept at any time.
    if core.follower.is_none() {
        verify_kept(&*core.base.dir, &core.disk.log.history)?;
    }
    let average = version.bytes() / report.versions.max(1);
    for section in core.base.versions.sections() {
        let view = core.base.versions.view_of(section);
        report.entries += count_entries(&view, average, |bytes| {
            let number = StoredKey { section, bytes }.keyspace();
            number == 0 || core.base.keyspaces.get(number).is_some()
        })?;
    }
    watch::reach(done + version.bytes())?;
    Ok(report)
}

/// Reads the log that is kept for readers of changes.
fn verify_kept(dir: &dyn Dir, history: &History) -> Result<()> {
    let (mut kept, mut bytes) = (BTreeMap::new(), Vec::new());
    history.add_readable(&mut kept);
    for (record, end) in kept.values() {
        let segment = SegmentFile::open(dir, record)?;
        // Entry by entry: a record may be valid and yet hold what is none.
        segment.read(HEADER_BYTES as u64..*end, &mut bytes, |record| {
            batch::iter(record.payload)?.try_for_each(|entry| entry.map(drop))
        })?;
        watch::check()?;
    }
    Ok(())
}

/// Counts the keys that `exist` and whose newest version is not a tombstone or in a deleted range:
/// those of dropped keyspaces do not exist. Values are not decoded, and operands not folded. A
/// watched call advances by `average` bytes for each version.
fn count_entries(view: &View, average: u64, exist: impl Fn(&[u8]) -> bool) -> Result<u64> {
    let context = view.context();
    let mut versions = MergingIter::new(sources(view, context), context.order.clone());
    let ranges = view.readers.ranges.newest();
    // The current key, while it may have older versions.
    let mut key: Option<Vec<u8>> = None;
    let mut entries = 0;
    versions.first()?;
    while versions.valid() {
        watch::advance(average)?;
        let is_older = |key: &Vec<u8>| context.order.compare(key, versions.key()).is_eq();
        if !key.as_ref().is_some_and(is_older) {
            let range = ranges.covering(&context.order, versions.key());
            let hidden = range.zip(versions.source());
            let hidden = hidden.is_some_and(|(range, it)| deleted_before(it, range.seq));
            let counts = versions.kind() != Kind::Delete && !hidden && exist(versions.key());
            entries += u64::from(counts);
            key = (!versions.alone()).then(|| versions.key().to_vec());
        }
        versions.step()?;
    }
    Ok(entries)
}

/// Reads every record, live or dead, up to the length recorded at the last clean close.
fn verify_value_file(handle: &ValueHandle) -> Result<()> {
    let whole = handle.whole.load(Ordering::Relaxed);
    if whole == 0 {
        return Ok(());
    }
    let file = handle.file(whole)?;
    let mut scan = ValueScan::new(&*file, FileNumber(handle.number))?.until(whole);
    let mut value = Vec::new();
    let begun = watch::done();
    while let Some(found) = scan.advance(&mut value)? {
        watch::reach(begun + found.pointer.end().unwrap_or(whole))?;
    }
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
        if cursor.kind() == Kind::Pointer {
            cursor.load_value()?;
            let key = cursor.key();
            read_pointer_unmapped(order, values, key, cursor.loaded(), &mut value).map_err(
                |error| match error.file_name() {
                    Some(_) => error,
                    None => error.file(name::table(table.file())),
                },
            )?;
            watch::check()?;
            read += 1;
        }
        cursor.next()?;
    }
    Ok(read)
}
