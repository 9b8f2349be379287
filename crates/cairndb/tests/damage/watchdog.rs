//! Notices a mutant that keeps a thread for more than five seconds.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How often the watchdog looks. It counts looks, not time: a machine that stops for a while stops
/// the watchdog too.
const LOOK: Duration = Duration::from_millis(100);
/// Looks without progress: five seconds.
const LOOKS_MAX: u32 = 50;

#[derive(Debug, Default)]
struct Slot {
    what: Option<String>,
    looks: u32,
    ended: bool,
}

/// One slot a thread.
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

    /// `thread` goes on to something else.
    pub(crate) fn begin(&self, thread: u64, what: impl FnOnce() -> String) {
        let slot = &mut self.slots.lock().unwrap()[usize::try_from(thread).unwrap()];
        slot.what = Some(what());
        slot.looks = 0;
    }

    /// `thread` is done.
    pub(crate) fn end(&self, thread: u64) {
        self.slots.lock().unwrap()[usize::try_from(thread).unwrap()].ended = true;
        self.ended.notify_all();
    }

    /// Looks until every thread is done; ends the process when one hangs, as nothing else could.
    pub(crate) fn watch(&self) {
        let mut slots = self.slots.lock().unwrap();
        while !slots.iter().all(|slot| slot.ended) {
            slots = self.ended.wait_timeout(slots, LOOK).unwrap().0;
            for slot in slots.iter_mut().filter(|slot| !slot.ended) {
                slot.looks += 1;
                if slot.looks > LOOKS_MAX {
                    eprintln!("five seconds and no end: {:?}", slot.what);
                    std::process::abort();
                }
            }
        }
    }
}

/// The most virtual memory the process ever had, where the system says so.
pub(crate) fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
