//! A watchdog that detects a mutant that occupies a thread for more than five seconds.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Interval between two polls of the watchdog. It counts polls instead of time, because a pause of
/// the machine also pauses the watchdog.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum number of polls without progress: five seconds.
const LOOKS_MAX: u32 = 50;

/// For each thread its mutant, and the number of polls since that began.
#[derive(Debug)]
pub(super) struct Watchdog {
    slots: Mutex<Vec<(String, u32)>>,
    changed: Condvar,
}

impl Watchdog {
    pub(super) fn new(threads: usize) -> Watchdog {
        Watchdog {
            slots: Mutex::new(vec![("the first".to_owned(), 0); threads]),
            changed: Condvar::new(),
        }
    }

    /// Records that `thread` starts another mutant, or that it has finished if there is none.
    pub(super) fn begin(&self, thread: usize, mutant: &str) {
        self.slots.lock().expect("no panic")[thread] = (mutant.to_owned(), 0);
        if mutant.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Watches until every thread has finished. Aborts the process if a thread hangs, because
    /// nothing else could stop that thread.
    pub(super) fn watch(&self) {
        let mut slots = self.slots.lock().expect("no panic");
        while slots.iter().any(|(mutant, _)| !mutant.is_empty()) {
            slots = self.changed.wait_timeout(slots, LOOK).expect("no panic").0;
            for (mutant, looks) in slots.iter_mut().filter(|slot| !slot.0.is_empty()) {
                *looks += 1;
                if *looks > LOOKS_MAX {
                    eprintln!("no result after five seconds: {mutant}");
                    std::process::abort();
                }
            }
        }
    }
}
