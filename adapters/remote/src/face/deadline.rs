//! The deadline of a call, and the pauses between its attempts.

use std::time::Duration;

use cairndb_env::random::Random;
use cairndb_store::{CallOptions, Error, ErrorKind, Result};
use tokio::time::{Instant, sleep, timeout_at};

/// First pause between two attempts; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(2);
/// Longest pause: an election takes about a second.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// A limit that no clock can hold stands for this one: about thirty years.
const LIMIT_MAX: Duration = Duration::from_hours(24 * 365 * 30);

/// When a call must end, and how often it has been repeated.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
    pauses: u32,
}

impl Deadline {
    /// Begins a call with the time limit of `options`, or else of the store.
    pub(crate) fn of(options: &CallOptions, default: Duration) -> Deadline {
        let limit = options.get_timeout().unwrap_or(default);
        let now = Instant::now();
        Deadline {
            at: now.checked_add(limit).unwrap_or_else(|| now + LIMIT_MAX),
            limit,
            pauses: 0,
        }
    }

    /// Returns the time that is left, at most `max`.
    #[cfg(feature = "etcd")]
    pub(crate) fn left(&self, max: Duration) -> Duration {
        self.at.saturating_duration_since(Instant::now()).min(max)
    }

    /// Returns whether the deadline has passed.
    #[cfg(feature = "etcd")]
    pub(crate) fn passed(&self) -> bool {
        Instant::now() >= self.at
    }

    /// Waits for `future` until the deadline, or returns `None`.
    pub(crate) async fn wait<F: Future>(&self, future: F) -> Option<F::Output> {
        timeout_at(self.at, future).await.ok()
    }

    /// Returns the error of a call that has changed nothing when its time is up.
    pub(crate) fn exceeded(&self) -> Error {
        let millis = self.limit.as_millis();
        Error::new(
            ErrorKind::DeadlineExceeded,
            format!("no answer within {millis} ms"),
        )
    }

    /// Waits a little longer each time, at random, before the call is repeated after `error`.
    ///
    /// # Errors
    /// `error` itself, if the deadline would pass meanwhile.
    pub(crate) async fn pause(&mut self, error: Error) -> Result<()> {
        let pause = pause_before(self.pauses + 1);
        self.pauses += 1;
        if Instant::now() + pause >= self.at {
            return Err(error);
        }
        sleep(pause).await;
        Ok(())
    }
}

/// Returns the pause before the `attempt`-th repetition: random, so that clients that conflicted do
/// not meet again.
pub(crate) fn pause_before(attempt: u32) -> Duration {
    let longest = PAUSE_MIN
        .saturating_mul(1 << attempt.min(10))
        .min(PAUSE_MAX);
    let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(micros / 2 + seeded().below(micros / 2 + 1))
}

/// Returns a generator that differs between threads and calls. Pauses need no better one.
fn seeded() -> Random {
    use std::hash::{BuildHasher, RandomState};
    Random::new(RandomState::new().hash_one(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cairndb_store::CallOptions;

    use super::{Deadline, LIMIT_MAX, PAUSE_MAX, pause_before};

    #[test]
    fn the_longest_limit_is_not_the_shortest() {
        let options = CallOptions::new().timeout(Duration::MAX);
        let deadline = Deadline::of(&options, Duration::from_secs(1));
        let left = deadline.at.duration_since(tokio::time::Instant::now());
        assert!(left > LIMIT_MAX / 2, "{left:?}");
    }

    #[test]
    fn pauses_grow_and_stay_bounded() {
        for attempt in 1..2000 {
            let pause = pause_before(attempt);
            assert!(
                pause >= Duration::from_millis(2) && pause <= PAUSE_MAX,
                "{pause:?}"
            );
        }
        assert!(pause_before(1) <= Duration::from_millis(4));
        assert!(pause_before(20) >= PAUSE_MAX / 2);
    }
}
