//! One run at a time: two over the same directories disturb each other, two into the same file mix
//! their rows. The kernel releases a lock when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a program that was killed may take to be gone.
const DYING: Duration = Duration::from_secs(2);

/// Between two tries.
const LOOK: Duration = Duration::from_millis(10);

/// The directories of `--db` for this run alone, as long as what is given lives.
pub(super) fn directories(bases: &[PathBuf]) -> Result<Vec<File>, String> {
    let own = |base: &PathBuf| {
        let opened = std::fs::create_dir_all(base).and_then(|()| File::open(base));
        let file = opened.map_err(|error| format!("{}: {error}", base.display()))?;
        locked(file, base, "another suite runs in it")
    };
    bases.iter().map(own).collect()
}

/// The file of `--json`, likewise.
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
            // Where there are no locks it goes as it went without.
            Err(TryLockError::Error(_)) | Ok(()) => return Ok(file),
        }
    }
}
