//! Operations per second of a row: where a store stalls, some seconds are nearly empty.
//!
//! Reading the clock costs more than many operations do, so readings are spaced by operations: the
//! distance doubles until readings are about a tenth of a second apart, and then follows the rate.
//! Operations between two readings count as evenly spread over the time between them.

use std::time::Duration;

const SECOND: u128 = 1_000_000_000;
/// Target time between two clock readings.
const APART: Duration = Duration::from_millis(100);

/// Counts of operations, one for each second.
#[derive(Clone, Debug)]
pub struct Intervals {
    counts: Vec<u64>,
    looked_done: u64,
    looked_at: Duration,
    distance: u64,
    next_look: u64,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            looked_done: 0,
            looked_at: Duration::ZERO,
            distance: 1,
            next_look: 1,
        }
    }
}

impl Intervals {
    /// Returns the count of operations at which the next clock reading is due.
    #[inline]
    pub const fn next_look(&self) -> u64 {
        self.next_look
    }

    /// Returns the operations of each second; the last second is incomplete.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Records that `done` operations had finished at time `at` after the start.
    pub fn look(&mut self, done: u64, at: Duration) {
        let ops = done - self.looked_done;
        let took = at.saturating_sub(self.looked_at);
        self.spread(ops, self.looked_at.as_nanos(), at.as_nanos());
        let fitting = u128::from(ops) * APART.as_nanos() / took.as_nanos().max(1);
        let fitting = u64::try_from(fitting).unwrap_or(u64::MAX);
        self.distance = fitting.clamp(1, self.distance.saturating_mul(2));
        self.looked_done = done;
        self.looked_at = at;
        self.next_look = done.saturating_add(self.distance);
    }

    /// Spreads operations evenly over the seconds between two moments.
    fn spread(&mut self, ops: u64, from: u128, until: u128) {
        let mut given = 0;
        let mut edge = from;
        loop {
            let second = edge / SECOND;
            edge = ((second + 1) * SECOND).min(until.max(from));
            let share = if edge >= until {
                ops
            } else {
                // The share of a part is at most the whole.
                let share = u128::from(ops) * (edge - from) / (until - from);
                u64::try_from(share).unwrap_or(ops)
            };
            if share > given || edge > from {
                self.add(second, share - given);
            }
            given = share;
            if edge >= until {
                return;
            }
        }
    }

    fn add(&mut self, second: u128, ops: u64) {
        let at = usize::try_from(second).unwrap_or(usize::MAX - 1);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += ops;
    }
}

/// Adds the counts of another thread that started at the same time.
pub fn merge(into: &mut Vec<u64>, counts: &[u64]) {
    if into.len() < counts.len() {
        into.resize(counts.len(), 0);
    }
    for (sum, count) in into.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn operations_land_in_their_second() {
        let mut intervals = Intervals::default();
        intervals.look(10, ms(500));
        intervals.look(20, ms(1500));
        intervals.look(20, ms(3200));
        intervals.look(32, ms(3900));
        assert_eq!(intervals.counts(), [15, 5, 0, 12]);
    }

    #[test]
    fn nothing_is_lost_however_the_looks_fall() {
        let mut intervals = Intervals::default();
        let (mut done, mut at) = (0, 0);
        for step in 1..500u64 {
            done += step * 7 % 1000;
            at += step * 13 % 700;
            intervals.look(done, ms(at));
        }
        assert_eq!(intervals.counts().iter().sum::<u64>(), done);
        assert_eq!(intervals.counts().len() as u64, at / 1000 + 1);
    }

    #[test]
    fn looks_are_rare_at_any_rate() {
        let mut intervals = Intervals::default();
        let (mut looks, mut done) = (0, 0);
        // Ten million operations of 100 ns.
        while done < 10_000_000 {
            done = intervals.next_look();
            intervals.look(done, Duration::from_nanos(done * 100));
            looks += 1;
        }
        assert!(looks < 40, "{looks}");
    }

    #[test]
    fn threads_are_added_second_by_second() {
        let mut sum = vec![1, 2];
        merge(&mut sum, &[10, 10, 10]);
        assert_eq!(sum, [11, 12, 10]);
    }
}
