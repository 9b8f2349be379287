//! Recovery after a crash: turns the files in the directory into a version.

pub(crate) mod folded;
pub(crate) mod folded_log;
pub(crate) mod incremental_replay;
mod keyspaces;
pub(crate) mod leftovers;
pub(crate) mod live_log;
pub(crate) mod log_end;
pub(crate) mod orphans;
pub(crate) mod recover;
pub(crate) mod recovered;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod value_copier;
