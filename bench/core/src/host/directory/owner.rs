//! The process that works in a directory, as recorded in the note next to it: which process it is,
//! and that it was alive a second ago.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, utimensat};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::measure::ticker::Ticker;

/// How often the note is refreshed.
const BEAT: Duration = Duration::from_secs(1);

/// How long a process that was killed may take to be gone: the kernel first ends a call under way.
const DYING: Duration = Duration::from_secs(10);

/// Between two looks at a process that is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// A process; numbers are given again, but not at the same moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    process: u32,
    /// When it was started, in the kernel's units.
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

    /// Whether it has this number.
    pub(super) const fn is(&self, process: u32) -> bool {
        self.process == process
    }

    fn lives(&self) -> bool {
        self.since.is_some() && started(self.process) == self.since
    }
}

/// When a process was started; `None` for one that is not there or has ended.
fn started(process: u32) -> Option<u64> {
    const STARTED: usize = 19;
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The process name precedes it in brackets and may hold anything.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let ended = matches!(state, "Z" | "X" | "x");
    fields
        .nth(STARTED - 1)
        .filter(|_| !ended)
        .and_then(|text| text.parse().ok())
}

/// Waits until no other process works in a directory.
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
                "another db_bench works in {} (process {}): wait for its end or name another directory with --db",
                db.display(),
                worker.process
            )));
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

/// Notes that are refreshed every second.
static NOTES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Refreshes a note every second from now on.
pub(super) fn begin(note: &Path) {
    static TICKER: OnceLock<Option<Ticker>> = OnceLock::new();
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    notes.insert(note.to_owned());
    // Without the thread, the files of a killed run look like the user's, which is safe.
    TICKER.get_or_init(|| Ticker::start("alive", BEAT, notify).ok());
}

/// No longer.
pub(super) fn end(note: &Path) {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    notes.remove(note);
}

/// By the clock of the file system, as the files of the database have it.
fn notify() {
    let at = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let times = Timestamps {
        last_access: at(UTIME_OMIT),
        last_modification: at(UTIME_NOW),
    };
    let notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    for note in notes.iter() {
        // A note that was removed needs no refreshing.
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
            .expect_err("it lives")
            .to_string();
        let number = format!("(process {})", child.id());
        assert!(
            reported.contains("somewhere") && reported.contains(&number),
            "{reported}"
        );
        child.kill().expect("killed");
        // Not waited for yet: it is still in the process table.
        wait(db, Some(&worker), Duration::from_secs(9)).expect("it has ended");
        child.wait().expect("ended");
        wait(db, Some(&worker), limit).expect("it is gone");
        // The same number, given again.
        let again = Owner {
            since: Some(1),
            ..Owner::here()
        };
        wait(db, Some(&again), limit).expect("another process");
        wait(db, Some(&Owner::here()), limit).expect("this process");
        wait(db, None, limit).expect("nobody");
    }
}
