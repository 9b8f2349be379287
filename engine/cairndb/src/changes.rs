//! The feed of changes: reads the log for consumers.

pub(crate) mod change;
pub(crate) mod feed;
mod log_reader;
