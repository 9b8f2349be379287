//! Band e: the engine - who owns the state, and every transition of it.

pub(crate) mod background;
pub(crate) mod checkpoint;
pub(crate) mod close;
pub(crate) mod compact;
pub(crate) mod core;
mod deferred;
pub(crate) mod flush;
pub(crate) mod install;
pub(crate) mod leftovers;
pub(crate) mod live_log;
pub(crate) mod log_end;
pub(crate) mod maintain;
mod merging;
pub(crate) mod moved_values;
mod numbers;
pub(crate) mod open;
pub(crate) mod persist;
pub(crate) mod properties;
pub(crate) mod recover;
pub(crate) mod recovered;
mod relocate;
pub(crate) mod replay;
pub(crate) mod report;
mod rest;
pub(crate) mod unnamed;
pub(crate) mod write;
mod write_values;
