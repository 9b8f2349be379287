//! The time, and whether this thread has waited for a disk.

#![allow(unsafe_code, reason = "no safe wrapper of `getrusage` is at hand")]

use std::mem::MaybeUninit;

use rustix::time::{ClockId, clock_gettime};

/// Returns monotonic nanoseconds.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + nanos
}

/// What this thread has waited for so far. Constant where the system does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// Page faults that needed the disk, and reads that were not answered from memory.
    pub(crate) disk_reads: u64,
    /// Times the thread has slept. When another thread gets the processor, it does not sleep.
    pub(crate) sleeps: u64,
}

impl Waits {
    #[cfg(target_os = "linux")]
    pub(crate) fn so_far() -> Waits {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the call writes at most a `rusage` to the pointer.
        let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        if status != 0 {
            return Waits::default();
        }
        // SAFETY: it consists of integers, so that zeros are valid, whatever the call has written.
        let usage = unsafe { usage.assume_init() };
        let count = |of: libc::c_long| u64::try_from(of).unwrap_or(0);
        Waits {
            disk_reads: count(usage.ru_majflt) + count(usage.ru_inblock),
            sleeps: count(usage.ru_nvcsw),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn so_far() -> Waits {
        Waits::default()
    }
}
