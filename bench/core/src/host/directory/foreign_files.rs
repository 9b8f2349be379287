//! What somebody has put into a directory of ours.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::marker::{Directory, entries_in, note};
use super::owner::Owner;

/// So long after a process has told that it lives its last files may have been made: it tells that each
/// second, if the system lets it. Behind what it left a file system may bring times up to date as long.
const GRACE_NS: i128 = 3_000_000_000;

/// Names that are listed before it is said how many there are beside them.
const NAMES_SHOWN: usize = 5;

/// What a directory of ours holds that no run has left there, in order.
///
/// Behind a run that has told what it left that is what has another number, and files that were changed
/// later: somebody may have written into one of ours. Behind one that has not, whatever was put in, moved
/// in or changed later. Unlike the time of the last write, nobody can set that time back, and moving a
/// file sets it.
pub(super) fn entries(db: &Path, directory: &Directory) -> io::Result<Vec<String>> {
    let told_nothing = directory.held.is_none();
    let mut found = Vec::new();
    if directory.worker != Some(Owner::here()) {
        let moment = changed(&fs::metadata(note(db))?) + GRACE_NS;
        for (path, about) in entries_in(db)? {
            let other = |held: &BTreeMap<_, _>| held.get(&path) != Some(&about.ino());
            let later = changed(&about) > moment && (told_nothing || !about.is_dir());
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

/// When anything about a file was changed, in nanoseconds.
fn changed(about: &Metadata) -> i128 {
    i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec())
}

/// Names in a sentence; `None` for none.
pub(super) fn list(names: &[String]) -> Option<String> {
    let shown = names[..names.len().min(NAMES_SHOWN)].join(", ");
    match names.len().saturating_sub(NAMES_SHOWN) {
        _ if names.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}
