//! The feed of changes: reads the log for consumers.
//!
//! * `change`: what a consumer receives
//! * `feed`: the changes after a place, one after another
//! * `source`: where a feed reads: `own_log`, or `followed_log` of another process
//! * `log_reader`: steps through the records of the log

pub(crate) mod change;
pub(crate) mod feed;
pub(crate) mod followed_log;
mod log_reader;
pub(crate) mod own_log;
mod source;
