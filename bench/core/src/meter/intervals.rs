//! Operations of each second of a row.
//!
//! The clock is looked at about every fiftieth of a second: after each look the number of operations
//! until the next is set from how long the last ones took. What was done since the look before counts
//! for the second of the look, so a count may be off by a fiftieth; a stall shows as seconds of nothing.

use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);
const SECOND: Duration = Duration::from_secs(1);
const STEP_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Intervals {
    started: Instant,
    last: Instant,
    counted: u64,
    step: u64,
    counts: Vec<u64>,
}

impl Intervals {
    pub(super) const fn new(started: Instant) -> Self {
        Self {
            started,
            last: started,
            counted: 0,
            step: 16,
            counts: Vec::new(),
        }
    }

    /// The number of operations at which the clock is to be looked at.
    pub(super) const fn next(&self) -> u64 {
        self.counted + self.step
    }

    /// Counts what was done until `now`.
    pub(super) fn look(&mut self, now: Instant, done: u64) {
        let second = usize::try_from((now - self.started).as_secs()).unwrap_or(usize::MAX);
        if self.counts.len() <= second {
            self.counts.resize(second + 1, 0);
        }
        self.counts[second] += done - self.counted;
        self.counted = done;
        let took = now - self.last;
        self.last = now;
        self.step = if took < LOOK_EVERY / 2 {
            (self.step * 2).min(STEP_MAX)
        } else if took > LOOK_EVERY * 2 {
            (self.step / 2).max(1)
        } else {
            self.step
        };
    }

    /// The counts of the seconds that were over at `finished`.
    pub(super) fn whole(&self, finished: Instant) -> &[u64] {
        let seconds = (finished - self.started).as_nanos() / SECOND.as_nanos();
        let whole = usize::try_from(seconds).unwrap_or(usize::MAX);
        &self.counts[..whole.min(self.counts.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_count_for_the_second_they_end_in_and_stalls_are_zeros() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut intervals = Intervals::new(start);
        for (millis, done) in [(300, 10), (900, 40), (1100, 60), (4200, 61), (4999, 100)] {
            intervals.look(at(millis), done);
        }
        assert_eq!(intervals.whole(at(5000)), [40, 20, 0, 0, 40]);
        assert_eq!(intervals.whole(at(4999)), [40, 20, 0, 0]);
        assert_eq!(intervals.whole(at(700)), [0; 0]);
    }

    #[test]
    fn looks_come_closer_when_operations_take_long() {
        let start = Instant::now();
        let mut intervals = Intervals::new(start);
        let first = intervals.next();
        intervals.look(start + Duration::from_millis(1), first);
        let fast = intervals.next() - first;
        assert!(fast > first, "{fast}");
        let second = intervals.next();
        intervals.look(start + Duration::from_millis(500), second);
        assert!(intervals.next() - second < fast);
    }
}
