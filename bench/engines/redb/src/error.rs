//! Errors of the library as faults.

use bench_core::fault::Fault;

/// Turns an error of the library into a fault.
pub(crate) fn fault(error: impl Into<redb::Error>) -> Fault {
    Fault::new(error.into().to_string())
}
