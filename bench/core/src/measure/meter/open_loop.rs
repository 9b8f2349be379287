//! The schedule of an open loop: operations begin at fixed times, however long those before took.
//!
//! The latency of an operation counts from the time at which it should have begun. So a stall
//! delays every operation that falls into it, as it would delay a service's callers; a closed loop
//! shows one slow call.

use std::time::{Duration, Instant};

/// Time before which a thread sleeps; then it looks at the clock until the time has come, because
/// the system wakes it some 50 microseconds late.
const SPIN: Duration = Duration::from_micros(120);

/// The schedule of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenLoop {
    /// Seconds between two operations of the thread.
    interval: f64,
    /// Part of the interval after which the first one begins: threads begin in turns.
    phase: f64,
    started: Instant,
}

impl OpenLoop {
    /// Returns the schedule of thread `index` of `threads` that share a rate per second.
    pub(super) fn new(rate: f64, (index, threads): (u32, u32), now: Instant) -> Self {
        Self {
            interval: f64::from(threads) / rate,
            phase: f64::from(index) / f64::from(threads),
            started: now,
        }
    }

    pub(super) const fn start(&mut self, now: Instant) {
        self.started = now;
    }

    /// Returns when the operation after `done` others should begin, waiting until then.
    #[expect(clippy::cast_precision_loss, reason = "a number of operations")]
    pub(super) fn wait(&self, done: u64) -> Instant {
        let after = (done as f64 + self.phase) * self.interval;
        let due = self.started + Duration::from_secs_f64(after);
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return due;
            }
            match left.checked_sub(SPIN) {
                Some(sleep) => std::thread::park_timeout(sleep),
                None => std::hint::spin_loop(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_due_at_fixed_times_however_late_they_are() {
        let past = Instant::now()
            .checked_sub(Duration::from_mins(1))
            .expect("a minute after the start of the system");
        let mut schedule = OpenLoop::new(1000.0, (1, 2), Instant::now());
        schedule.start(past);
        let due = |done| (schedule.wait(done) - past).as_micros();
        assert_eq!([due(0), due(1), due(500)], [1000, 3000, 1_001_000]);
        let now = Instant::now();
        schedule.start(now);
        assert!(schedule.wait(0) <= Instant::now());
        assert!(now.elapsed() >= Duration::from_millis(1));
    }
}
