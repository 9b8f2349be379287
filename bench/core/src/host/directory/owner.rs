//! The process that uses a directory, as recorded in the note next to it: its identity, and that it
//! was alive a second ago.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, utimensat};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::measure::ticker::Ticker;

/// Interval at which the note is refreshed.
const BEAT: Duration = Duration::from_secs(1);

/// Maximum time a killed process may take to disappear: the kernel first finishes the system call
/// in progress.
const DYING: Duration = Duration::from_secs(10);

/// Interval between two checks while waiting for a process.
const LOOK: Duration = Duration::from_millis(10);

/// A process, identified by its process ID and start time, because IDs are reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    process: u32,
    /// The start time in the kernel's units.
    since: Option<u64>,
}

impl Owner {
    /// This process.
    pub(super) fn here() -> Self {
        Self::of(std::process::id())
    }

    fn of(process: u32) -> Self {
        Self {
            process,
            since: started(process),
        }
    }

    /// Returns whether the process has this ID.
    pub(super) const fn is(&self, process: u32) -> bool {
        self.process == process
    }

    fn lives(&self) -> bool {
        self.since.is_some() && started(self.process) == self.since
    }
}

/// Returns the start time of a process; `None` if it does not exist or has ended.
fn started(process: u32) -> Option<u64> {
    const STARTED: usize = 19;
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The process name precedes it in parentheses and may contain any character.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let ended = matches!(state, "Z" | "X" | "x");
    fields
        .nth(STARTED - 1)
        .filter(|_| !ended)
        .and_then(|text| text.parse().ok())
}

/// Waits until no other process uses a directory.
pub(super) fn wait_for_end(db: &Path, worker: Option<&Owner>) -> Result<(), Fault> {
    wait(db, worker, DYING)
}

fn wait(db: &Path, worker: Option<&Owner>, limit: Duration) -> Result<(), Fault> {
    let Some(worker) = worker.filter(|worker| **worker != Owner::here()) else {
        return Ok(());
    };
    let begun = Instant::now();
    while worker.lives() {
        if begun.elapsed() >= limit {
            return Err(Fault::new(format!(
                "another db_bench is using {} (process {}): wait until it ends or name another directory with --db",
                db.display(),
                worker.process
            )));
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

/// The notes that are refreshed every second.
static NOTES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Starts refreshing a note every second.
pub(super) fn begin(note: &Path) {
    static TICKER: OnceLock<Option<Ticker>> = OnceLock::new();
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    notes.insert(note.to_owned());
    // Without the thread, the files of a killed run count as the user's, which is safe.
    TICKER.get_or_init(|| Ticker::start("alive", BEAT, notify).ok());
}

/// Stops refreshing a note.
pub(super) fn end(note: &Path) {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    notes.remove(note);
}

/// Refreshes the notes by the file system's clock, which also dates the database files.
fn notify() {
    let at = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let times = Timestamps {
        last_access: at(UTIME_OMIT),
        last_modification: at(UTIME_NOW),
    };
    let notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    for note in notes.iter() {
        // A removed note does not need to be refreshed.
        let _gone = utimensat(CWD, note, &times, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_lives_is_waited_for_and_one_that_ended_is_not() {
        let db = Path::new("somewhere");
        let limit = Duration::from_millis(30);
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .expect("started");
        let worker = Owner::of(child.id());
        let reported = wait(db, Some(&worker), limit)
            .expect_err("it is alive")
            .to_string();
        let number = format!("(process {})", child.id());
        assert!(
            reported.contains("somewhere") && reported.contains(&number),
            "{reported}"
        );
        child.kill().expect("killed");
        // The child has not been waited for yet, so it is still in the process table.
        wait(db, Some(&worker), Duration::from_secs(9)).expect("it has ended");
        child.wait().expect("ended");
        wait(db, Some(&worker), limit).expect("it has exited");
        // The same ID, reused.
        let again = Owner {
            since: Some(1),
            ..Owner::here()
        };
        wait(db, Some(&again), limit).expect("another process");
        wait(db, Some(&Owner::here()), limit).expect("this process");
        wait(db, None, limit).expect("nobody");
    }
}
