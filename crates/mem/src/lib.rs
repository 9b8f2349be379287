//! Everything CairnDB keeps in memory: the memtable and the page caches.
//!
//! Floor 3 of the house. The memtable is an arena with a list in it, and a tree to search it by: one writer, any number of
//! readers, no locks; values it leaves in the log, where they lie. The caches hold verified pages of tables
//! that are read with `pread`. Nothing here knows the engine.

mod arena;
pub mod cache;
mod chunk;
mod compare;
mod cursor;
mod hash_index;
mod list;
pub mod memtable;
mod node;
mod recent;
mod sync;
mod tree;
mod writer;

#[cfg(test)]
#[cfg(loom)]
mod loom_models;

pub use cache::{Cache, ClockCache, LruCache};
pub use chunk::ChunkPool;
pub use cursor::MemCursor;
pub use memtable::{MemEntry, MemPlace, Memtable};
pub use writer::{Borrowed, MemWriter};
