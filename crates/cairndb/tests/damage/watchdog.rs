//! Detects a mutant that occupies a thread for more than five seconds.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Interval between two looks of the watchdog. It counts looks and not time, because a machine that
/// stops for a while stops the watchdog as well.
const LOOK: Duration = Duration::from_millis(100);
/// Number of looks without progress that is allowed: five seconds.
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

    /// Notes that `thread` begins another mutant.
    pub(crate) fn begin(&self, thread: u64, what: impl FnOnce() -> String) {
        let slot = &mut self.slots.lock().unwrap()[usize::try_from(thread).unwrap()];
        slot.what = Some(what());
        slot.looks = 0;
    }

    /// Notes that `thread` has ended.
    pub(crate) fn end(&self, thread: u64) {
        self.slots.lock().unwrap()[usize::try_from(thread).unwrap()].ended = true;
        self.ended.notify_all();
    }

    /// Watches until every thread has ended. If one hangs, aborts the process, since nothing else
    /// could stop the thread.
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

/// Peak virtual memory of the process, if the system reports it.
pub(crate) fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
