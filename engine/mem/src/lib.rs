//! In-memory structures: the memtable and the page cache.
//!
//! Floor 3. The memtable is an arena with a linked list in it, a tree to search the list and a hash
//! index: one writer, any number of readers, no locks. Longer values stay in the log. The cache
//! holds verified pages of tables that are read with `pread`. Nothing here depends on the engine.

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

pub use cache::{Cache, ClockCache};
pub use chunk::ChunkPool;
pub use cursor::MemCursor;
pub use memtable::{MemEntry, MemPlace, Memtable};
pub use writer::{Borrowed, MemWriter};
