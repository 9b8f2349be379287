//! A use of an engine whose type is known only by its name.

use bench_core::engine::Engine;
use bench_core::fault::Fault;

/// Reason an engine cannot be used.
pub(crate) enum Trouble {
    /// The library is missing or not the expected one.
    Absent(Fault),
    /// The library is present, but its store cannot be opened or closed.
    Broken(Fault),
}

/// A use of an engine, once its library is loaded.
pub(super) trait Use {
    type Output;

    fn with<E: Engine>(self, engine: &E) -> Result<Self::Output, Fault>;
}
