//! `leveldb-original/`: LevelDB's files, linked before anything else changes.
//!
//! The mark `UNFINISHED` is the first file in it and the last to go. While it is there, the
//! contents are those of an attempt that has not come to its end: links that the next attempt makes
//! anew or, once `CURRENT` is ours, that only lack the removal of their first names. Without it,
//! they are the copy that a finished conversion has left, which nothing here ever removes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::{Dir, Env};
use cairndb_files::{Ownership, ownership};
use cairndb_format::name::{self, FileKind};
use cairndb_leveldb::FileName;

/// The name of the directory.
pub(crate) const DIRECTORY: &str = "leveldb-original";
/// The file that marks its contents as those of an unfinished conversion.
pub(crate) const MARK: &str = "UNFINISHED";
/// Bytes of `CURRENT` that are compared; it has about twenty.
const CURRENT_BYTES_MAX: u64 = 4096;

/// What a directory to be converted holds of an earlier attempt.
#[derive(Debug)]
pub(crate) enum Earlier {
    /// Nothing.
    None,
    /// Files of an unfinished attempt.
    Unfinished(Arc<dyn Dir>),
    /// The copy of a finished conversion, or files of the user's.
    Foreign(String),
}

/// Returns what `dir` holds of an earlier attempt.
///
/// # Errors
/// Errors of opening and listing the directory of that name.
pub(crate) fn earlier(env: &dyn Env, dir: &dyn Dir) -> Result<Earlier> {
    let originals = match env.open_dir(&path(dir), false) {
        Ok(originals) => originals,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Earlier::None),
        Err(error) => return Err(error),
    };
    let names = originals.list()?;
    if names.iter().any(|name| name == MARK) {
        return Ok(Earlier::Unfinished(originals));
    }
    Ok(match names.into_iter().next() {
        Some(name) => Earlier::Foreign(name),
        None => Earlier::None,
    })
}

fn path(dir: &dyn Dir) -> PathBuf {
    dir.path().join(DIRECTORY)
}

/// Returns the error for a directory that holds an older copy.
#[cold]
pub(crate) fn occupied(dir: &dyn Dir, found: &str) -> Error {
    let message = "leveldb-original/ already holds files, perhaps another database that was \
        converted here; move it elsewhere and run the conversion again";
    Error::invalid(message).path(&path(dir)).found(found)
}

/// Adds what to do to the error of the first change.
#[cold]
fn not_permitted(error: Error) -> Error {
    match error.io_kind() {
        Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            let message = "the directory of the LevelDB database cannot be changed; make it \
                writable for this user and run the conversion again";
            Error::new(ErrorKind::Io, message).source_error(error)
        }
        _ => error,
    }
}

/// The directory during one attempt.
#[derive(Debug)]
pub(crate) struct Originals {
    dir: Arc<dyn Dir>,
}

impl Originals {
    /// Creates the directory and its mark, both durable. Removes what an unfinished attempt left,
    /// here and in `main`, where LevelDB's files are still in use.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(crate) fn begin(env: &dyn Env, main: &dyn Dir, earlier: &Earlier) -> Result<Originals> {
        if let Earlier::Unfinished(dir) = earlier {
            let originals = Originals {
                dir: Arc::clone(dir),
            };
            originals.check_log_is_there(main)?;
            // The mark may not be durable yet.
            originals.dir.sync()?;
            originals.remove_links()?;
            remove_ours(main)?;
            return Ok(originals);
        }
        let dir = env.open_dir(&path(main), true).map_err(not_permitted)?;
        let originals = Originals { dir };
        let marked = originals.dir.create(MARK).map(drop);
        if let Err(error) = marked.and_then(|()| originals.dir.sync()) {
            let _ = originals.dir.unlink(MARK);
            let _ = originals.dir.remove();
            return Err(error);
        }
        Ok(originals)
    }

    /// Returns the directory of an attempt that has replaced `CURRENT`.
    pub(crate) fn of_finished(dir: Arc<dyn Dir>) -> Originals {
        Originals { dir }
    }

    /// Links the files `names` of `main`, and makes the links durable.
    ///
    /// # Errors
    /// `Io`; `NoSpace`, if the files must be copied because the file system has no links.
    pub(crate) fn link(&self, main: &dyn Dir, names: &[String]) -> Result<()> {
        for name in names {
            // LevelDB syncs its other files itself.
            if matches!(FileName::parse(name), Some(FileName::Log(_))) {
                main.sync_file(name)?;
            }
            let _ = main.link(name, &*self.dir, name)?;
        }
        self.dir.sync()
    }

    /// Removes the names of LevelDB's files from `main`, whose `CURRENT` is ours and durable, then
    /// the mark.
    ///
    /// # Errors
    /// `Io`; the call can be repeated.
    pub(crate) fn finish(&self, main: &dyn Dir) -> Result<()> {
        for name in self.links()? {
            let kept = matches!(
                FileName::parse(&name),
                None | Some(FileName::Current | FileName::Lock)
            );
            // A name that has become one of ours is not LevelDB's any more.
            if kept || main.size_of(&name)?.is_none() || is_ours(main, &name)? {
                continue;
            }
            main.unlink(&name)?;
        }
        main.sync()?;
        self.dir.unlink(MARK)?;
        self.dir.sync()
    }

    /// Undoes everything after a failed attempt, as far as possible: the mark stays if anything
    /// else does.
    pub(crate) fn abandon(self) {
        let removed = self.remove_links().and_then(|()| self.dir.sync());
        if removed.is_ok() && self.dir.unlink(MARK).is_ok() {
            let _ = self.dir.remove();
        }
    }

    /// Checks that `main` has every log that is linked here, unless LevelDB has used it since: it
    /// writes a new `CURRENT` when it opens a database. Files that a conversion had removed from
    /// `main` may have been moved back by hand, without the log. The links would then be its only
    /// copy, and LevelDB does not notice that a log is missing.
    fn check_log_is_there(&self, main: &dyn Dir) -> Result<()> {
        let current = |dir: &dyn Dir| -> Result<Vec<u8>> {
            let file = dir.open_read(name::CURRENT)?;
            let len = file.size().min(CURRENT_BYTES_MAX);
            let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
            file.read_at(0, &mut bytes)?;
            Ok(bytes)
        };
        let links = self.links()?;
        let linked = links.iter().any(|name| name == name::CURRENT);
        if !linked || current(&*self.dir)? != current(main)? {
            return Ok(());
        }
        for name in &links {
            let is_log = matches!(FileName::parse(name), Some(FileName::Log(_)));
            if is_log && main.size_of(name)?.is_none() {
                let message = "leveldb-original/ holds a log that the directory lacks, which may be \
                    its only copy; move it back from there, or remove leveldb-original/ if LevelDB \
                    has removed the log itself, and run the conversion again";
                return Err(Error::invalid(message).path(main.path()).found(name));
            }
        }
        Ok(())
    }

    /// Removes everything of LevelDB's in the directory.
    fn remove_links(&self) -> Result<()> {
        for name in self.links()? {
            if FileName::parse(&name).is_some() {
                self.dir.unlink(&name)?;
            }
        }
        Ok(())
    }

    fn links(&self) -> Result<Vec<String>> {
        let mut names = self.dir.list()?;
        names.retain(|name| name != MARK);
        Ok(names)
    }
}

fn is_ours(dir: &dyn Dir, name: &str) -> Result<bool> {
    Ok(FileKind::parse(name).is_some() && matches!(ownership(dir, name)?, Ownership::Ours))
}

/// Removes the files of ours from a directory whose `CURRENT` is LevelDB's.
fn remove_ours(dir: &dyn Dir) -> Result<()> {
    for found in dir.list()? {
        if found != name::CURRENT && found != name::LOCK && is_ours(dir, &found)? {
            dir.unlink(&found)?;
        }
    }
    Ok(())
}
