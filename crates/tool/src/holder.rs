//! The process that has a database open, as far as the system shows it.
//!
//! A lock does not name its owner: locks of open file descriptions belong to no process. So the
//! processes are searched for one that has the lock file open, on Linux in `/proc`. Processes of
//! other users cannot be searched; then nothing is found.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns a process that has the lock file of a database open.
pub(crate) fn process_with_lock(directory: &Path) -> Option<u32> {
    let lock = fs::metadata(directory.join("LOCK")).ok()?;
    let own = std::process::id();
    let processes = fs::read_dir("/proc").ok()?;
    for process in processes.flatten() {
        let id = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(id) = id.filter(|id| *id != own) else {
            continue;
        };
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        for file in files.flatten() {
            let found = fs::metadata(file.path());
            if found.is_ok_and(|found| (found.dev(), found.ino()) == (lock.dev(), lock.ino())) {
                return Some(id);
            }
        }
    }
    None
}
