//! What a copy is asked to do, and what it has done.

use std::path::PathBuf;

use crate::range::Range;
use crate::transfer::Contents;

/// What is to be copied.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) from: String,
    pub(crate) to: String,
    /// The keys that are copied, compared and replaced.
    pub(crate) range: Range,
    /// The file for the position, if it is not the usual one.
    pub(crate) state: Option<PathBuf>,
    /// Whether the target may hold entries already; those that the source does not hold are
    /// deleted.
    pub(crate) overwrite: bool,
    pub(crate) restart: bool,
    /// Bytes of entries between two saves.
    pub(crate) save_bytes: u64,
    /// Bytes of entries a second.
    pub(crate) rate: Option<u64>,
}

/// What a copy has done.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) from: String,
    pub(crate) to: String,
    /// What both stores hold in the range.
    pub(crate) contents: Contents,
    /// Keys that were written or deleted in the target.
    pub(crate) changed: u64,
}
