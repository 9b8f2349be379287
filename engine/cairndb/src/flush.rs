//! From immutable memtables to tables.

pub(crate) mod flusher;
