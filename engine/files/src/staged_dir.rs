//! `StagedDir`: a directory that is made under another name and renamed once it is a whole
//! database.
//!
//! Without this, a process that is killed while it makes a directory leaves one that does not open,
//! and that the next attempt refuses because it is not empty. A directory `NAME` is made as
//! `NAME.partial`, beside it. What an interrupted attempt has left there is removed by the next; it
//! is recognised by its names and contents.
//!
//! Not every target can be replaced. If its path ends in `.` or `..`, or its parent takes no new
//! directories, the files are made in place. A symbolic link or mount point is filled from the
//! finished partial directory, with `CURRENT` last.
//!
//! Threads: the partial directory is locked, so only one attempt at a time makes it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::{Dir, Env};
use cairndb_format::evidence::Evidence;
use cairndb_format::name::{self, FileKind};

use crate::ownership::{Ownership, ownership};

/// End of the name under which a directory is made.
const PARTIAL: &str = ".partial";

/// A directory in the making.
struct StagedDir<'a> {
    env: &'a dyn Env,
    target: &'a Path,
    dir: Arc<dyn Dir>,
    in_place: bool,
}

/// Makes the directory `target`, which must be missing or empty: `fill` writes its files and makes
/// them and their names durable. After an error, and after a crash at any moment, `target` is as it
/// was.
///
/// # Errors
/// - `InvalidArgument` if it is not empty, or if the partial directory holds a file that no
///   interrupted attempt has left.
/// - `Locked` if another attempt is making it.
/// - `NotFound` if its parent is missing; `Io`; the errors of `fill`.
pub fn make_directory<T>(
    env: &dyn Env,
    target: &Path,
    fill: impl FnOnce(&Arc<dyn Dir>) -> Result<T>,
) -> Result<T> {
    let exists = match env.open_dir(target, false) {
        Ok(dir) => match dir.list()?.into_iter().next() {
            None => true,
            Some(found) => {
                let message = "the target directory is not empty; choose another";
                return Err(Error::invalid(message).path(target).found(found));
            }
        },
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let partial = partial_path(target).map(|partial| env.open_dir(&partial, true));
    let (dir, in_place) = match partial {
        Some(Ok(dir)) => (dir, false),
        Some(Err(error)) if !exists => return Err(error),
        Some(Err(_)) | None => (env.open_dir(target, true)?, true),
    };
    let lock = dir.lock(name::LOCK)?;
    let staged = StagedDir {
        env,
        target,
        dir,
        in_place,
    };
    clear(&*staged.dir)?;
    let filled = fill(&staged.dir);
    let made = filled.and_then(|filled| staged.rename().map(|()| filled));
    if made.is_err() {
        staged.discard();
    }
    drop(lock);
    made
}

/// Returns the path under which `target` is made; `None` if its path does not end in a name.
fn partial_path(target: &Path) -> Option<PathBuf> {
    let mut name: OsString = target.file_name()?.to_owned();
    name.push(PARTIAL);
    Some(target.with_file_name(name))
}

/// Removes everything but the lock, if an interrupted attempt may have left it. `CURRENT` goes
/// first, so that no crash leaves a database without some of its files.
///
/// # Errors
/// `InvalidArgument`, with the file, if there is any other; then nothing is removed. `Io`.
fn clear(dir: &dyn Dir) -> Result<()> {
    let mut left = dir.list()?;
    left.retain(|found| found != name::LOCK);
    for found in &left {
        let ours = match FileKind::parse(found) {
            None => false,
            Some(FileKind::Current) => true,
            // A crash leaves files without contents.
            Some(_) => !matches!(
                ownership(dir, found)?,
                Ownership::Other(Evidence::Foreign, _)
            ),
        };
        if !ours {
            let message = "the target is made in this directory, but it holds a file that no \
                           interrupted attempt has left; move that away";
            return Err(Error::invalid(message).path(dir.path()).found(found));
        }
    }
    if let Some(current) = left.iter().position(|found| found == name::CURRENT) {
        dir.unlink(&left.swap_remove(current))?;
        dir.sync()?;
    }
    left.iter().try_for_each(|found| dir.unlink(found))
}

impl StagedDir<'_> {
    /// Gives the directory its name, durably.
    fn rename(&self) -> Result<()> {
        if self.in_place {
            return Ok(());
        }
        match self.dir.rename_to(self.target) {
            Err(error) if error.kind() == ErrorKind::NotSupported => {}
            renamed => return renamed,
        }
        let to = self.env.open_dir(self.target, true)?;
        let mut files = self.dir.list()?;
        files.retain(|found| found != name::LOCK && found != name::CURRENT);
        for found in &files {
            let _ = self.dir.link(found, &*to, found)?;
        }
        to.sync()?;
        let _ = self.dir.link(name::CURRENT, &*to, name::CURRENT)?;
        to.sync()?;
        self.discard();
        Ok(())
    }

    /// Removes what was made. Errors are dropped in favour of the caller's; the next attempt
    /// removes what is left.
    fn discard(&self) {
        // A sync may have failed: only a directory that is opened again may be synced again. A
        // rename that failed may have been done.
        let reopen = |path| self.env.open_dir(path, false);
        let Ok(dir) = reopen(self.dir.path()).or_else(|_| reopen(self.target)) else {
            return;
        };
        let _ = clear(&*dir);
        let _ = dir.unlink(name::LOCK);
        if !self.in_place {
            let _ = dir.remove();
        }
    }
}
