//! `Pace`: limits bytes a second, and waits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cairndb_env::sync::{Condvar, Mutex};
use cairndb_env::{Background, Env};

/// A limit on bytes a second, over all threads.
pub(crate) struct Pace {
    env: Arc<dyn Env>,
    bytes_per_second: Option<u64>,
    /// The time up to which the bytes so far take.
    until_ns: Mutex<u64>,
    /// Never signalled: for pauses.
    pauses: Condvar,
    paused: Mutex<()>,
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace")
            .field("bytes_per_second", &self.bytes_per_second)
            .finish_non_exhaustive()
    }
}

impl Pace {
    pub(crate) fn new(env: Arc<dyn Env>, bytes_per_second: Option<u64>) -> Pace {
        Pace {
            env,
            bytes_per_second,
            until_ns: Mutex::new(0),
            pauses: Condvar::new(),
            paused: Mutex::new(()),
        }
    }

    /// Waits until so many more bytes are within the limit.
    pub(crate) fn take(&self, bytes: u64) {
        let Some(limit) = self.bytes_per_second else {
            return;
        };
        let now = self.env.now_ns();
        let takes = u128::from(bytes) * 1_000_000_000 / u128::from(limit.max(1));
        let mut until = self.until_ns.lock();
        let begins = now.max(*until);
        *until = begins.saturating_add(u64::try_from(takes).unwrap_or(u64::MAX));
        drop(until);
        self.pause(Duration::from_nanos(begins - now));
    }

    /// Waits, unless the environment has no threads for which to wait.
    pub(crate) fn pause(&self, time: Duration) {
        if self.env.background() == Background::Threads && !time.is_zero() {
            self.pauses.wait_for(&mut self.paused.lock(), time);
        }
    }
}
