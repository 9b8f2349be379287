//! Followers: handles that read a database which another process writes.
//!
//! * `manifest_tail`: the manifest, read as it grows
//! * `log_tail`: the log, read as it grows
//! * `followed`: the writes of the log that are not in tables yet
//! * `follower`: makes views of them, and decides when

mod followed;
pub(crate) mod follower;
mod log_tail;
mod manifest_tail;
