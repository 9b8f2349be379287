//! LevelDB's files that a conversion has kept in `leveldb-original/`: their size, and their
//! removal.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use cairndb::env::{Dir, Env, RealEnv};
use cairndb_leveldb::FileName;

use crate::database::{open_with, options_for};
use crate::escape::{typed, visible};
use crate::failure::{Failure, ORIGINAL, Result};
use crate::output::{counted, print, size};

/// Removes LevelDB's files of the converted database at `path`, if the user confirms it.
///
/// The database is opened first, so that the copy is not removed before the conversion is complete,
/// and no other process has it open for writing.
/// Files that are not LevelDB's stay, and so does the directory then.
pub(super) fn drop_original(path: &Path, confirmed: bool) -> Result<()> {
    let db = open_with(path, &options_for(path).read_only(true))?;
    let original = path.join(ORIGINAL);
    // A link is not followed.
    let is_there = fs::symlink_metadata(&original).is_ok_and(|found| found.is_dir());
    if !is_there {
        let original = original.display();
        return print([format!("nothing to remove: {original} does not exist")]);
    }
    let failure = Failure::of_leveldb(&original);
    let dir = RealEnv::new().open_dir(&original, false);
    let dir = dir.map_err(&failure)?;
    let (bytes, count) = sizes(&*dir).map_err(&failure)?;
    let (files, size) = (counted(count, "file", "files"), size(bytes));
    let what = format!("{} ({files}, {size})", original.display());
    if !confirmed && !confirm(&what)? {
        return print([format!("kept {what}")]);
    }
    let left = remove(&*dir).map_err(&failure)?;
    db.close().map_err(Failure::of(path))?;
    let left = left.map(|found| {
        let found = typed(found.as_bytes());
        format!("kept what is not LevelDB's, such as {found}")
    });
    print([format!("removed {what}")].into_iter().chain(left))
}

/// Removes LevelDB's files in a directory, and it if nothing else is there. Returns the name of
/// another file.
fn remove(dir: &dyn Dir) -> cairndb::Result<Option<String>> {
    // The lock is held until its file is removed, so that no LevelDB has the files open.
    let _lock = dir.lock("LOCK")?;
    // Without `CURRENT`, what an interrupted removal leaves is not taken for a database.
    let mut names = dir.list()?;
    names.sort_by_key(|found| found != "CURRENT");
    for found in names {
        let is_file = matches!(dir.size_of(&found), Ok(Some(_)));
        if is_file && FileName::parse(&found).is_some() {
            dir.unlink(&found)?;
        }
    }
    dir.sync()?;
    let mut left = dir.list()?;
    if left.is_empty() {
        dir.remove()?;
    }
    Ok(left.pop())
}

/// Returns the bytes and the number of the files in a directory.
pub(super) fn sizes(dir: &dyn Dir) -> cairndb::Result<(u64, u64)> {
    let names = dir.list()?;
    // A link or a directory is not one of the database's files.
    let sizes = names
        .iter()
        .filter_map(|found| dir.size_of(found).ok().flatten());
    Ok(sizes.fold((0, 0), |(bytes, count), size| (bytes + size, count + 1)))
}

/// Asks whether to remove something; without a terminal, nobody can answer.
fn confirm(what: &str) -> Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!("{what} is removed only with --yes")));
    }
    let question = format!("Remove {what}? Nothing else has LevelDB's files. [y/N] ");
    // The question is lost with stderr; the answer is then no.
    let _ = io::stderr().write_all(visible(&question).as_bytes());
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|error| Failure::other(format!("no answer can be read: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
