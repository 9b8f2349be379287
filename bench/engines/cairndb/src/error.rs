//! The store's errors as the benchmark's faults.

use bench_core::fault::Fault;

/// The store's error as one line.
#[cold]
pub(crate) fn fault(error: &cairndb::Error) -> Fault {
    Fault::new(error.to_string())
}
