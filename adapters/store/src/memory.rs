//! A store in memory: every key with the versions that somebody may still read.
//!
//! It shares no code with the database, so that the contract suite compares two implementations,
//! and it needs no files. One lock guards everything; that is enough for tests and small caches.
//!
//! Invariant: each key has at least one version, the newest one last. A version is kept while it is
//! the newest of its key, or some snapshot sees it; a key whose newest version is a delete goes
//! away with the last snapshot that is older.

mod handle;
mod transaction;
mod versions;
mod view;

pub use handle::MemoryStore;
