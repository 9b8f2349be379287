//! Locks that allow one run at a time: two runs over the same directories disturb each other, and
//! two runs into the same file mix their rows. The kernel releases a lock when its process ends,
//! for whatever reason.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum time that a killed program takes to end.
const DYING: Duration = Duration::from_secs(2);

/// Time between two attempts.
const LOOK: Duration = Duration::from_millis(10);

/// Locks the directories of `--db` for this run, as long as the returned value lives.
pub(super) fn directories(bases: &[PathBuf]) -> Result<Vec<File>, String> {
    let own = |base: &PathBuf| {
        let opened = std::fs::create_dir_all(base).and_then(|()| File::open(base));
        let file = opened.map_err(|error| format!("{}: {error}", base.display()))?;
        locked(file, base, "another suite runs in it")
    };
    bases.iter().map(own).collect()
}

/// Locks the file of `--json` for this run, as long as the returned value lives.
pub(super) fn results(json: &Path) -> Result<File, String> {
    let opened = json
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| OpenOptions::new().append(true).create(true).open(json));
    let file = opened.map_err(|error| format!("{}: {error}", json.display()))?;
    locked(file, json, "another suite writes its results into it")
}

fn locked(file: File, path: &Path, why: &str) -> Result<File, String> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < DYING => {
                std::thread::park_timeout(LOOK);
            }
            Err(TryLockError::WouldBlock) => return Err(format!("{}: {why}", path.display())),
            // Without lock support, the run continues without a lock.
            Err(TryLockError::Error(_)) | Ok(()) => return Ok(file),
        }
    }
}
