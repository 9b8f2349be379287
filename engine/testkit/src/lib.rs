//! Crash-test framework: workloads, a model of the contents that may survive a crash, and a harness
//! that crashes the workloads.
//!
//! A [`workload`] is a list of steps. A [`runner`] performs it on a simulated machine and records
//! writes and acknowledgements in a [`history`]. At every operation of the machine, a [`campaign`]
//! takes the states that a crash may leave. The [`oracle`] opens each state and checks that the
//! history explains its contents. A seed determines everything.
//!
//! [`damage`] changes the files of directories, and judges how each is opened, read or repaired.
//! [`decoders`] are properties of everything that decodes bytes from a disk, for fuzzing.
//!
//! The engine knows nothing of this. It runs single-threaded, with the same code as in a release,
//! in the simulated environment of `engine/sim`.

mod calls;
pub mod campaign;
pub mod damage;
pub mod decoders;
pub mod effects;
pub mod facts;
pub mod history;
pub mod kill;
pub mod lives;
pub mod oracle;
pub mod runner;
pub mod setup;
pub mod spaces;
pub mod sweep;

pub mod value;
pub mod workload;

use std::fmt;

/// A description of a promise that the database broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl Violation {
    /// Returns a violation with this description.
    pub fn new(what: impl Into<String>) -> Violation {
        Violation(what.into())
    }

    /// Returns the same violation, with `place` prefixed to its description.
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

/// The result of a check.
pub type Check<T> = Result<T, Violation>;

/// Reads a number from the environment variable `name`, or returns `default`. `CAIRN_SEED` replays
/// all tests, and `CAIRN_STATES` scales them, in percent of a push check.
///
/// # Panics
/// If the variable is set to something else than a number.
pub fn setting(name: &str, default: u64) -> u64 {
    cairndb_env::testing::setting::setting(name).unwrap_or(default)
}
