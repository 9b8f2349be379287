//! Engines added by another program.

use std::sync::OnceLock;

use bench_core::fault::Fault;
use bench_core::measure::runner::Event;
use bench_core::workload::plan::Plan;

/// Runs a plan over an engine and passes on its events.
pub type Run = fn(&Plan, &mut dyn FnMut(Event)) -> Result<(), Fault>;

/// A named engine.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// Name of the engine in `--engine=` and in results.
    pub name: &'static str,
    /// Returns the version of the engine.
    pub version: fn() -> String,
    /// Runs a plan over the engine, as [`bench_core::measure::runner::run`] does.
    pub run: Run,
}

/// The added engines; set once, before the flags are read.
static EXTRA: OnceLock<&'static [Extra]> = OnceLock::new();

/// Registers the added engines.
pub(crate) fn register(extra: &'static [Extra]) {
    EXTRA.get_or_init(|| extra);
}

/// Returns all added engines.
pub(crate) fn all() -> &'static [Extra] {
    EXTRA.get().copied().unwrap_or_default()
}

/// Returns the added engine with this name.
pub(crate) fn named(name: &str) -> Option<&'static Extra> {
    all().iter().find(|extra| extra.name == name)
}
