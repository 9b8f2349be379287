//! What somebody has put into a directory of ours.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::note::{Directory, names_in, note};
use super::worker::Worker;

/// So long after a process has told that it lives its last files may have been made: it tells that each
/// second, if the system lets it.
const GRACE_NS: i128 = 3_000_000_000;

/// Names that are listed before it is said how many there are beside them.
const NAMES_SHOWN: usize = 5;

/// What a directory of ours holds that no run has left there, in order.
pub(super) fn entries(db: &Path, directory: &Directory) -> io::Result<Vec<String>> {
    let held = names_in(db)?;
    let mut found: Vec<String> = match (&directory.names, &directory.worker) {
        (Some(known), _) => {
            let unknown = |name: &&String| known.binary_search(name).is_err();
            held.iter().filter(unknown).cloned().collect()
        }
        (None, Some(worker)) if *worker == Worker::here() => Vec::new(),
        (None, _) => changed_since(db, changed(&fs::metadata(note(db))?) + GRACE_NS)?,
    };
    let again = |name: &&String| held.binary_search(name).is_ok() && !found.contains(name);
    let before: Vec<String> = directory.foreign.iter().filter(again).cloned().collect();
    found.extend(before);
    found.sort();
    Ok(found)
}

/// What was put in, moved in or changed later than a moment, folders in it included. Unlike the time of
/// the last write, nobody can set this one back, and moving a file sets it.
fn changed_since(db: &Path, moment: i128) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(db.join(&folder))? {
            let entry = entry?;
            let (about, path) = (entry.metadata()?, folder.join(entry.file_name()));
            if about.is_dir() {
                folders.push(path.clone());
            }
            if changed(&about) > moment {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
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
