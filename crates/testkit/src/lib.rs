//! The crash regime: a model of what may survive, workloads, and the harness that crashes them.
//!
//! A [`workload`] is a list of steps. A [`runner`] performs it on a simulated machine and writes
//! down in a [`history`] what was asked for and what was acknowledged. At every operation of the
//! machine a [`campaign`] takes the states a crash may leave there, and the [`oracle`] opens each
//! one and demands that the history explains what it finds. Everything follows from a seed.
//!
//! Nothing in the engine knows of all this: it runs with the logic of a release, single-threaded,
//! on the simulated environment of `crates/env`.

pub mod campaign;
pub mod effects;
pub mod facts;
pub mod history;
pub mod kill;
pub mod lives;
pub mod oracle;
pub mod runner;
pub mod setup;
pub mod sweep;

pub mod value;
pub mod workload;

use std::fmt;

/// Something the database promised and did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl Violation {
    /// A violation in words.
    pub fn new(what: impl Into<String>) -> Violation {
        Violation(what.into())
    }

    /// The same, said to have been found in `place`.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Violation {
        Violation(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// What the regime's checks return.
pub type Check<T> = Result<T, Violation>;

/// A number from the environment variable `name`, or `default`: how every test is replayed
/// (`CAIRN_SEED`) and scaled (`CAIRN_STATES`, in percent of a push).
pub fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.trim().parse().ok())
        .unwrap_or(default)
}
