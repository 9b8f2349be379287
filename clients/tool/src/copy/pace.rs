//! The pace of a copy: a largest number of bytes a second.

use std::time::{Duration, Instant};

/// How much a copy may do at once after it had to wait for a store.
const BURST: Duration = Duration::from_secs(1);

/// Holds a copy back to a rate.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes a second; `None` is no limit.
    rate: Option<u64>,
    /// When the bytes so far are due.
    due: Instant,
}

impl Pace {
    pub(super) fn new(rate: Option<u64>) -> Pace {
        Pace {
            rate,
            due: Instant::now(),
        }
    }

    /// Returns the largest useful batch: a quarter of a second's bytes.
    pub(super) fn batch_bytes(&self, most: usize) -> usize {
        let quarter = self.rate.map(|rate| rate / 4);
        quarter.map_or(most, |bytes| {
            most.min(usize::try_from(bytes).unwrap_or(most))
        })
    }

    /// Counts bytes, and waits until they are due.
    pub(super) fn spend(&mut self, bytes: u64) {
        let Some(rate) = self.rate else {
            return;
        };
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let now = Instant::now();
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        self.due = self.due.max(earliest) + Duration::from_nanos(nanos);
        // Nothing unparks this thread, but parking may end early by itself.
        while let Some(rest) = self.due.checked_duration_since(Instant::now()) {
            if rest.is_zero() {
                break;
            }
            std::thread::park_timeout(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time() {
        let begun = Instant::now();
        let mut pace = Pace::new(Some(1_000_000));
        assert_eq!(pace.batch_bytes(1 << 20), 250_000);
        for _ in 0..10 {
            pace.spend(5_000);
        }
        assert!(begun.elapsed() >= Duration::from_millis(50));
        let mut pace = Pace::new(None);
        assert_eq!(pace.batch_bytes(1 << 20), 1 << 20);
        pace.spend(u64::MAX);
    }
}
