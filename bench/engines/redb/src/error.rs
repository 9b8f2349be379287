//! Errors of the library as faults.

use bench_core::fault::Fault;

/// Turns an error of the library into a fault.
pub(crate) fn fault(error: impl std::fmt::Display) -> Fault {
    Fault::new(error.to_string())
}
