//! `Resume`: what a suite does with an earlier run in its file.

use bench_core::flags::Given;

/// What to do with an earlier run whose results are in the JSON file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Replace it.
    Never,
    /// Run what it lacks.
    Stopped,
    /// Run what it lacks; add rounds if it is complete; replace it if it differs.
    AddRounds,
}

impl Resume {
    /// Reads the flags.
    pub(crate) fn of(given: &Given) -> Resume {
        match (given.is_on("add_rounds"), given.is_on("resume")) {
            (true, _) => Resume::AddRounds,
            (false, true) => Resume::Stopped,
            (false, false) => Resume::Never,
        }
    }
}
