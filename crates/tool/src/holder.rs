//! The process that has a database open, as Linux shows it in `/proc`.
//!
//! A lock of an open file description belongs to no process, so the system call that names the
//! holder of a lock does not help. `/proc/<process>/fdinfo` lists the locks of each descriptor. The
//! processes of other users are visible to root only.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the number of the process that holds a lock on the file `LOCK` in `directory`; `None` if
/// the system does not show it.
pub(crate) fn holder(directory: &Path) -> Option<u32> {
    let lock = fs::metadata(directory.join("LOCK")).ok()?;
    let wanted = (lock.dev(), lock.ino());
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.into_iter().find(|process| holds(*process, wanted))
}

/// Returns whether one of the process's descriptors of the file has a lock.
fn holds(process: u32, wanted: (u64, u64)) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    descriptors.filter_map(Result::ok).any(|descriptor| {
        let file = fs::metadata(descriptor.path());
        let same = file.is_ok_and(|file| (file.dev(), file.ino()) == wanted);
        let name = descriptor.file_name();
        same && fs::read_to_string(Path::new(&format!("/proc/{process}/fdinfo")).join(name))
            .is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
    })
}
