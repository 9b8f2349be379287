//! Operations on databases that are not open: destroy and repair.

use std::ffi::{OsString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use cairndb::env::{Dir, Env, RealEnv};
use cairndb::{Error, ErrorKind, RepairOptions, Result};
use cairndb_format::evidence::{OtherStore, other_store_in};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::boundary::guarded;
use crate::bytes::path;
use crate::errors::or_store;
use crate::leveldb::options::leveldb_options_t;
use crate::leveldb::translate;

/// Where a conversion keeps LevelDB's files.
const ORIGINALS: &str = "leveldb-original";

/// Removes the database at `name`, and LevelDB's files that its conversion has kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_destroy_db(
    options: *const leveldb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { options.as_ref() };
    // SAFETY: the header requires a string.
    let name = unsafe { path(name) };
    let destroyed = guarded(|| remove(name?, options));
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, destroyed, ()) };
}

/// Repairs the database at `name`. The damaged directory stays beside it, as `NAME.damaged-N`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_repair_db(
    options: *const leveldb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { options.as_ref() };
    // SAFETY: the header requires a string.
    let name = unsafe { path(name) };
    let repaired = guarded(|| repair(name?, options));
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, repaired, ()) };
}

fn remove(path: &Path, options: Option<&leveldb_options_t>) -> Result<()> {
    let dir = match RealEnv::new().open_dir(path, false) {
        Ok(dir) => dir,
        // As in LevelDB, what is missing needs no removal.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let names = dir.list()?;
    if other_store_in(&*dir)? == Some(OtherStore::LevelDb) {
        return remove_leveldb(&*dir, &names);
    }
    if names.iter().any(|name| name == ORIGINALS) {
        // First, because what remains after a failure is then still a whole database.
        let _lock = dir.lock("LOCK")?;
        remove_originals(path)?;
    }
    cairndb::destroy(path, &translate::options(options)?)
}

/// Removes LevelDB's files in a directory that has not been converted, and the directory, if that
/// leaves it empty.
fn remove_leveldb(dir: &dyn Dir, names: &[String]) -> Result<()> {
    let lock = dir.lock("LOCK")?;
    remove_originals(dir.path())?;
    // `CURRENT` last: until then, a repeated call finds the same database.
    for name in names.iter().filter(|name| is_leveldbs(name)) {
        if name != "CURRENT" && name != "LOCK" {
            dir.unlink(name)?;
        }
    }
    if names.iter().any(|name| name == "CURRENT") {
        dir.unlink("CURRENT")?;
    }
    drop(lock);
    dir.unlink("LOCK")?;
    remove_if_empty(dir)
}

/// Removes LevelDB's files that a conversion has kept.
fn remove_originals(path: &Path) -> Result<()> {
    let originals = match RealEnv::new().open_dir(&path.join(ORIGINALS), false) {
        Ok(dir) => dir,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in originals.list()?.iter().filter(|name| is_leveldbs(name)) {
        originals.unlink(name)?;
    }
    remove_if_empty(&*originals)
}

fn remove_if_empty(dir: &dyn Dir) -> Result<()> {
    if dir.list()?.is_empty() {
        dir.remove()?;
    }
    Ok(())
}

/// Returns whether LevelDB gives such a name to its files.
fn is_leveldbs(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = name.rsplit_once('.').is_some_and(|(number, kind)| {
        digits(number) && matches!(kind, "log" | "ldb" | "sst" | "dbtmp")
    });
    let fixed = matches!(name, "CURRENT" | "LOCK" | "LOG" | "LOG.old");
    fixed || numbered || name.strip_prefix("MANIFEST-").is_some_and(digits)
}

/// Repairs into a new directory, then exchanges the names of the two.
fn repair(path: &Path, options: Option<&leveldb_options_t>) -> Result<()> {
    let beside = unused_name(path)?;
    let options = RepairOptions::new(&translate::options(options)?);
    cairndb::repair(path, &beside, &options)?;
    exchange(path, &beside)
}

/// Returns a path beside `path` at which there is nothing.
fn unused_name(path: &Path) -> Result<PathBuf> {
    let nameable = matches!(path.components().next_back(), Some(Component::Normal(_)));
    let Some(name) = path.file_name().filter(|_| nameable) else {
        let error = Error::invalid("a repair keeps the directory under a name beside it; name it");
        return Err(error.path(path));
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let taken = RealEnv::new().open_dir(parent, false)?.list()?;
    let mut unused = (1..=u32::MAX).map(|number| {
        let mut beside = OsString::from(name);
        beside.push(format!(".damaged-{number}"));
        beside
    });
    let beside = unused.find(|beside| {
        !taken
            .iter()
            .any(|name| name.as_bytes() == beside.as_bytes())
    });
    let full = || Error::invalid("there are too many damaged copies; remove some").path(path);
    Ok(parent.join(beside.ok_or_else(full)?))
}

/// Exchanges the names of two directories in one step, so that a crash leaves the one or the other
/// at `path`. Where the file system cannot, moves one after the other.
fn exchange(path: &Path, beside: &Path) -> Result<()> {
    let failed = |errno: rustix::io::Errno| {
        let cause = std::io::Error::from(errno);
        Error::io(
            "the repaired database could not take the damaged one's name",
            cause,
        )
        .path(beside)
    };
    let swapped = renameat_with(CWD, path, CWD, beside, RenameFlags::EXCHANGE);
    if swapped.is_err() {
        let mut aside = beside.as_os_str().to_owned();
        aside.push(".repaired");
        rustix::fs::rename(beside, &*aside).map_err(failed)?;
        rustix::fs::rename(path, beside).map_err(failed)?;
        rustix::fs::rename(&*aside, path).map_err(failed)?;
    }
    let parent = beside.parent().unwrap_or(Path::new("."));
    RealEnv::new().open_dir(parent, false)?.sync()
}

#[cfg(test)]
mod tests {
    use super::is_leveldbs;

    #[test]
    fn only_names_of_leveldb_are_removed() {
        for name in [
            "CURRENT",
            "LOCK",
            "LOG",
            "LOG.old",
            "MANIFEST-000004",
            "000003.log",
        ] {
            assert!(is_leveldbs(name), "{name}");
        }
        for name in [
            "MANIFEST-",
            "notes.log",
            ".ldb",
            "000003.txt",
            "000003",
            "IDENTITY",
            "LOG.2",
        ] {
            assert!(!is_leveldbs(name), "{name}");
        }
    }
}
