//! The public API: thin handles over the engine.

pub(crate) mod access;
pub(crate) mod bounds;
pub(crate) mod cursor;
pub(crate) mod db;
pub(crate) mod entries;
pub(crate) mod iter;
pub(crate) mod keyspace;
#[cfg(feature = "leveldb")]
pub(crate) mod leveldb;
pub(crate) mod offline;
pub(crate) mod range;
pub(crate) mod range_cursor;
pub(crate) mod range_deletion;
pub(crate) mod repair;
pub(crate) mod snapshot;
pub(crate) mod value;
pub(crate) mod walk;
