//! A directory that is opened to look into its files.
//!
//! While a process has the database open for writing, its files are read without the lock. That is
//! sound, because every record and page carries a checksum: manifest and LevelDB's files are only
//! appended to, tables never change, and a log segment is written from front to back. What is
//! printed was written; what the process writes meanwhile may be missing. Two things need care. A
//! file may be replaced and removed between two reads: the reader then begins again with `CURRENT`.
//! And bytes of a log that look damaged may just have been in the making: they are read again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairndb::env::{Dir, DirLock, Env, ReadFile, RealEnv};
use cairndb::{Error, ErrorKind};
use cairndb_format::evidence::{Evidence, OtherStore, evidence, other_store_in};
use cairndb_format::manifest::read_current;
use cairndb_format::name::{self, FileKind};
use cairndb_leveldb::FileName;

use super::printer::Printer;
use crate::database::holder;
use crate::escape::typed;
use crate::failure::{Failure, Result, Store};
use crate::message::notify;

/// Number of attempts to read files that are replaced meanwhile.
pub(super) const ATTEMPTS_MAX: usize = 20;

/// An open directory.
#[derive(Debug)]
pub(super) struct InspectedDir {
    pub(super) path: PathBuf,
    pub(super) dir: Arc<dyn Dir>,
    pub(super) store: Store,
    /// Whether a process has the database open for writing.
    pub(super) is_live: bool,
    _lock: Option<Box<dyn DirLock>>,
}

impl InspectedDir {
    /// Opens a directory, and finds out which store's it is.
    pub(super) fn open(path: &Path) -> Result<InspectedDir> {
        let of = Failure::of(path);
        let dir = RealEnv::new().open_dir(path, false).map_err(&of)?;
        let store = store_of(&*dir, path)?;
        let (lock, is_live) = match dir.lock_shared(name::LOCK) {
            Ok(lock) => (lock, false),
            Err(error) if error.kind() == ErrorKind::Locked => {
                notify(&format!(
                    "cairn: {}: {}; what it writes meanwhile may be missing",
                    path.display(),
                    holder(&error)
                ));
                (None, true)
            }
            Err(error) => return Err(of(error)),
        };
        Ok(InspectedDir {
            path: path.to_owned(),
            dir,
            store,
            is_live,
            _lock: lock,
        })
    }

    /// Returns the names in the directory, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let mut names = self.dir.list().map_err(self.failure())?;
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a regular file; `None` if there is none of this name.
    pub(super) fn file(&self, found: &str) -> Result<Option<Arc<dyn ReadFile>>> {
        match self.dir.open_read(found) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failure()(error)),
        }
    }

    /// Opens the file that the command line names.
    pub(super) fn named_file(&self, found: &str) -> Result<Arc<dyn ReadFile>> {
        let missing = || {
            let path = self.path.display();
            Failure::other(format!(
                "{path} has no file {found}; without a name, the command prints those in use"
            ))
        };
        self.file(found)?.ok_or_else(missing)
    }

    /// Returns the number of the manifest that `CURRENT` names.
    pub(super) fn current(&self) -> Result<u64, Error> {
        let damage = |what: String| Error::corruption(what).file(name::CURRENT).offset(0);
        if self.store == Store::LevelDb {
            let read = cairndb_leveldb::read_current(&*self.dir);
            return read.map_err(|error| damage(error.message().to_owned()));
        }
        let number = read_current(&*self.dir)?.map(|number| number.0);
        number.ok_or_else(|| damage("the file that names the manifest is missing".to_owned()))
    }

    /// Returns the number of the manifest that `CURRENT` names or, if `CURRENT` is damaged or
    /// missing, of the newest one; `None` if there is none.
    pub(super) fn manifest_in_use(&self, printer: &mut Printer) -> Result<Option<u64>> {
        match self.current() {
            Ok(number) => return Ok(Some(number)),
            Err(error) => printer.damage(0, error)?,
        }
        let names = self.names()?;
        let numbers = names
            .iter()
            .filter_map(|found| match FileName::parse(found)? {
                FileName::Manifest(number) => Some(number),
                _ => None,
            });
        Ok(numbers.max())
    }

    /// Reads the manifest in use, again if it is replaced meanwhile. `read` returns what its intact
    /// edits describe, and the damage, which is printed.
    pub(super) fn read_manifest<T>(
        &self,
        printer: &mut Printer,
        read: impl Fn(u64) -> Result<(T, Vec<Error>)>,
    ) -> Result<Option<T>> {
        for attempt in 1.. {
            let Some(number) = self.manifest_in_use(printer)? else {
                break;
            };
            let (state, damage) = read(number)?;
            // The manifest may have been replaced since `CURRENT` was read.
            let moved = self.is_live && self.current().ok() != Some(number);
            if damage.is_empty() || !moved || attempt == ATTEMPTS_MAX {
                let mut damage = damage.into_iter();
                damage.try_for_each(|error| printer.damage(0, error))?;
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// Returns a function that makes a failure of an error.
    pub(super) fn failure(&self) -> impl Fn(Error) -> Failure + '_ {
        Failure::of_files(self.store, &self.path)
    }
}

/// Refuses a file of another kind than the command prints.
pub(super) fn not_a(found: &str, noun: &str) -> Failure {
    let found = typed(found.as_bytes());
    Failure::usage(format!("`{found}` is not the name of a {noun}"))
}

/// Returns the store whose files the directory holds.
fn store_of(dir: &dyn Dir, path: &Path) -> Result<Store> {
    let names = dir.list().map_err(Failure::of(path))?;
    match other_store_in(dir).ok().flatten() {
        Some(OtherStore::LevelDb) => return Ok(Store::LevelDb),
        Some(OtherStore::RocksDb) => {
            let path = path.display();
            return Err(Failure::other(format!("{path} holds a RocksDB database")));
        }
        None => {}
    }
    let is_ours = |found: &&String| {
        FileKind::parse(found).is_some()
            && matches!(dir.size_of(found), Ok(Some(_)))
            && matches!(evidence(dir, found), Ok(Evidence::Ours))
    };
    let is_table = |ending: &str| names.iter().any(|found| found.ends_with(ending));
    if names.iter().any(|found| is_ours(&found)) || is_table(".tbl") {
        return Ok(Store::Cairn);
    }
    if is_table(".ldb") {
        return Ok(Store::LevelDb);
    }
    let missing = Error::new(ErrorKind::NotFound, "the directory holds no database");
    Err(Failure::of(path)(missing))
}
