//! `--rate`: when operations begin.

use serde::{Deserialize, Serialize};

use crate::workload::definition::Workload;

/// The rate at which the operations of a row begin, over all its threads.
///
/// ```
/// use bench_core::workload::rate::Rate;
/// assert_eq!(Rate::parse("20000"), Some(Rate::PerSecond(20_000)));
/// assert_eq!(Rate::parse("50%"), Some(Rate::Percent(50)));
/// assert_eq!(Rate::parse("0"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rate {
    /// Each thread begins an operation when it has ended the one before.
    #[default]
    Closed,
    /// So many begin in a second.
    PerSecond(u64),
    /// So many per cent of what the store did in a closed loop just before.
    Percent(u32),
}

impl Rate {
    /// Reads a number, or a percentage.
    pub fn parse(text: &str) -> Option<Self> {
        let rate = match text.strip_suffix('%') {
            Some(percent) => Self::Percent(percent.parse().ok()?),
            None => Self::PerSecond(text.parse().ok()?),
        };
        (!matches!(rate, Self::PerSecond(0) | Self::Percent(0))).then_some(rate)
    }

    /// Returns the rate of a row: a closed loop if its operations are no single calls.
    #[must_use]
    pub const fn of(self, workload: &Workload) -> Self {
        if workload.has_schedule() {
            self
        } else {
            Self::Closed
        }
    }

    /// Returns the number of closed loops that the rate depends on.
    pub fn warmups(self) -> u32 {
        u32::from(matches!(self, Self::Percent(_)))
    }

    /// Returns the operations per second, after a closed loop that did `closed`; `None` if the row
    /// is a closed loop itself.
    pub fn per_second(self, closed: Option<f64>) -> Option<f64> {
        match self {
            Self::Closed => None,
            #[expect(clippy::cast_precision_loss, reason = "a rate, not a count")]
            Self::PerSecond(count) => Some(count as f64),
            Self::Percent(percent) => Some(closed? * f64::from(percent) / 100.0),
        }
    }
}
