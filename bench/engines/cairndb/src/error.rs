//! Conversion of the store's errors to the benchmark's faults.

use bench_core::fault::Fault;

/// Returns the store's error as one line.
#[cold]
pub(crate) fn fault(error: &cairndb::Error) -> Fault {
    Fault::new(error.to_string())
}
