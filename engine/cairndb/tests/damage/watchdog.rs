//! A watchdog that detects a mutant that occupies a thread for more than five seconds.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Interval between two polls of the watchdog. It counts polls instead of time, because a pause of
/// the machine also pauses the watchdog.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum number of polls without progress: five seconds.
const LOOKS_MAX: u32 = 50;

#[derive(Debug, Default)]
struct Slot {
    what: Option<String>,
    looks: u32,
    ended: bool,
}

/// One slot for each thread.
#[derive(Debug)]
pub(crate) struct Watchdog {
    slots: Mutex<Vec<Slot>>,
    ended: Condvar,
}

impl Watchdog {
    pub(crate) fn new(threads: u64) -> Watchdog {
        let slots = (0..threads).map(|_| Slot::default()).collect();
        Watchdog {
            slots: Mutex::new(slots),
            ended: Condvar::new(),
        }
    }

    /// Records that `thread` starts another mutant.
    pub(crate) fn begin(&self, thread: u64, what: impl FnOnce() -> String) {
        let slot = &mut self.slots.lock().unwrap()[usize::try_from(thread).unwrap()];
        slot.what = Some(what());
        slot.looks = 0;
    }

    /// Records that `thread` has finished.
    pub(crate) fn end(&self, thread: u64) {
        self.slots.lock().unwrap()[usize::try_from(thread).unwrap()].ended = true;
        self.ended.notify_all();
    }

    /// Watches until every thread has finished. Aborts the process if a thread hangs, because
    /// nothing else could stop that thread.
    pub(crate) fn watch(&self) {
        let mut slots = self.slots.lock().unwrap();
        while !slots.iter().all(|slot| slot.ended) {
            slots = self.ended.wait_timeout(slots, LOOK).unwrap().0;
            for slot in slots.iter_mut().filter(|slot| !slot.ended) {
                slot.looks += 1;
                if slot.looks > LOOKS_MAX {
                    eprintln!("no result after five seconds: {:?}", slot.what);
                    std::process::abort();
                }
            }
        }
    }
}

/// Returns the peak virtual memory of the process, if the system reports it.
pub(crate) fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
