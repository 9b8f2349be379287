//! Files that a user has added to one of our directories.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::marker::{Directory, entries_in, note};
use super::owner::Owner;

/// Maximum time by which the last files of a process may be newer than its last sign of life, which
/// it gives every second. A file system may also update times this long after a run.
const GRACE_NS: i128 = 3_000_000_000;

/// Maximum number of names listed; the rest are only counted.
const NAMES_SHOWN: usize = 5;

/// Returns the sorted names of the entries in one of our directories that no run has left there.
///
/// After a run that listed its files, these are the entries with another inode number and those
/// changed later, because a user may have written to one of ours. After a run without a list, they
/// are all entries that were added, moved in or changed later. The time compared is the time of the
/// last status change: users cannot set it back, and moving a file updates it.
pub(super) fn entries(db: &Path, directory: &Directory) -> io::Result<Vec<String>> {
    let reported_nothing = directory.held.is_none();
    let mut found = Vec::new();
    if directory.worker != Some(Owner::here()) {
        let moment = changed(&fs::metadata(note(db))?) + GRACE_NS;
        for (path, about) in entries_in(db)? {
            let other = |held: &BTreeMap<_, _>| held.get(&path) != Some(&about.ino());
            let later = changed(&about) > moment && (reported_nothing || !about.is_dir());
            if later || directory.held.as_ref().is_some_and(other) {
                found.push(path);
            }
        }
    }
    let there = |name: &&String| fs::symlink_metadata(db.join(name)).is_ok();
    let before = directory.foreign.iter().filter(there).cloned();
    found.extend(before);
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns the time of a file's last status change in nanoseconds.
fn changed(about: &Metadata) -> i128 {
    i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec())
}

/// Returns the names joined for a message; `None` if there are none.
pub(super) fn list(names: &[String]) -> Option<String> {
    let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
    match names.len().saturating_sub(NAMES_SHOWN) {
        _ if names.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}
