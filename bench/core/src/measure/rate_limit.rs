//! A rate limiter without bursts after a pause.

use std::time::{Duration, Instant};

/// Maximum unused time that a thread may make up for after a delay.
const CREDIT: Duration = Duration::from_millis(100);

/// Maximum length of one piece of a pause.
const REST_PIECE: Duration = Duration::from_millis(10);

/// A rate limiter.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    per_second: f64,
    /// When the first unit was due; `None` before it.
    since: Option<Instant>,
    spent: f64,
}

impl Pace {
    /// Creates the limiter for one of `threads` that share a rate; `None` for a rate of 0, which
    /// means no limit.
    #[expect(clippy::cast_precision_loss, reason = "a rate, not a count")]
    pub fn share(per_second: u64, threads: u32) -> Option<Self> {
        (per_second > 0).then(|| Self {
            per_second: per_second as f64 / f64::from(threads.max(1)),
            since: None,
            spent: 0.0,
        })
    }

    /// Records completed work. Returns how long to wait before the next operation.
    pub fn spend(&mut self, amount: u64) -> Duration {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        self.spend_at(amount, now.saturating_duration_since(since))
    }

    /// Like [`Pace::spend`], but at a given time after the start.
    #[expect(
        clippy::cast_precision_loss,
        reason = "bytes or operations of one call"
    )]
    fn spend_at(&mut self, amount: u64, now: Duration) -> Duration {
        let used = now.saturating_sub(CREDIT).as_secs_f64() * self.per_second;
        self.spent = self.spent.max(used) + amount as f64;
        let due = Duration::try_from_secs_f64(self.spent / self.per_second);
        due.unwrap_or(Duration::MAX).saturating_sub(now)
    }
}

/// Pauses in pieces, so that the pause can be interrupted.
#[cold]
pub(crate) fn rest(pause: Duration, goes_on: impl Fn() -> bool) {
    let start = Instant::now();
    while let Some(left) = pause.checked_sub(start.elapsed())
        && !left.is_zero()
        && goes_on()
    {
        std::thread::park_timeout(left.min(REST_PIECE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn work_faster_than_its_rate_rests_until_it_is_due() {
        let mut pace = Pace::share(1000, 2).expect("a rate");
        assert_eq!(pace.spend_at(100, ms(0)), ms(200));
        assert_eq!(pace.spend_at(100, ms(200)), ms(200));
        assert_eq!(pace.spend_at(5, ms(450)), Duration::ZERO);
    }

    #[test]
    fn what_was_not_used_in_a_pause_is_lost() {
        let mut pace = Pace::share(1000, 1).expect("a rate");
        assert_eq!(pace.spend_at(1, ms(0)), ms(1));
        // Ten seconds later, a tenth of a second is left to catch up on.
        assert_eq!(pace.spend_at(100, ms(10_000)), Duration::ZERO);
        assert_eq!(pace.spend_at(100, ms(10_000)), ms(100));
    }

    #[test]
    fn no_rate_is_no_limit() {
        assert!(Pace::share(0, 4).is_none());
    }
}
