//! Opening after a crash: turns the files in the directory into a version.

pub(crate) mod leftovers;
pub(crate) mod live_log;
pub(crate) mod log_end;
pub(crate) mod moved_values;
pub(crate) mod numbers;
pub(crate) mod orphans;
pub(crate) mod recover;
pub(crate) mod recovered;
pub(crate) mod replay;
pub(crate) mod replay_bit_by_bit;
pub(crate) mod report;
