//! Stores of other projects, read through their own libraries: RocksDB's.
//!
//! Floor 4. A library is loaded at run time, from where the system's loader finds it, so that
//! nothing needs it to build or to run. Everything `unsafe` of the tool is in this crate.
//!
//! 1. A library stays loaded until the process ends: its threads outlive every database.
//! 2. What a database returns is borrowed from its cursor and copied by the caller.
//!
//! Threads: an open database and its cursors belong to one thread.

mod api;
mod rocksdb;

pub use rocksdb::{RocksCursor, RocksDb, rocksdb_families};

/// Why a foreign store could not be read: a sentence.
///
/// ```
/// use cairndb_foreign::ForeignError;
/// let error = ForeignError("no library".to_owned());
/// assert_eq!(error.to_string(), "no library");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignError(pub String);

impl std::fmt::Display for ForeignError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ForeignError {}
