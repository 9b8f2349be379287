//! Data movement: entries go from a database to a file of another format, or from there into a
//! database.
//!
//! `formats` reads and writes one format each, without a database. `export` and `import` connect
//! them with databases, resume after a kill, and verify what arrived.
//!
//! 1. Memory is bounded by the longest entry and a few buffers.
//! 2. An export has its final name only once it is complete, synced and read back.
//! 3. An import saves its position only after what precedes it is durable, so a position never
//!    claims entries that the database lost.

mod contents;
pub(crate) mod encoding;
pub(crate) mod export;
pub(crate) mod formats;
pub(crate) mod import;
pub(crate) mod inferred;
mod input;
pub(crate) mod leveldb;
pub(crate) mod rocksdb;
pub(crate) mod saved;
mod skipped;
pub(crate) mod source;
pub(crate) mod target;

pub(crate) use contents::Contents;
pub(crate) use export::export;
pub(crate) use import::import;
