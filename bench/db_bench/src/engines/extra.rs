//! Engines added by another program.

use std::sync::OnceLock;

use bench_core::fault::Fault;
use bench_core::measure::runner::Event;
use bench_core::workload::plan::Plan;

/// Runs a plan over an engine and passes on its events.
pub type Run = fn(&Plan, &mut dyn FnMut(Event)) -> Result<(), Fault>;

/// An engine under its name.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// What `--engine=` and results call it.
    pub name: &'static str,
    /// Runs a plan over it, as [`bench_core::measure::runner::run`] does.
    pub run: Run,
}

/// Set once, before the flags are read.
static EXTRA: OnceLock<&'static [Extra]> = OnceLock::new();

/// Makes them known.
pub(crate) fn register(extra: &'static [Extra]) {
    EXTRA.get_or_init(|| extra);
}

/// All of them.
pub(crate) fn all() -> &'static [Extra] {
    EXTRA.get().copied().unwrap_or_default()
}

/// The one of this name.
pub(crate) fn named(name: &str) -> Option<&'static Extra> {
    all().iter().find(|extra| extra.name == name)
}
