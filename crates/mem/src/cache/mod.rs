//! Page caches: least recently used, and CLOCK.
//!
//! Both are sharded by a hash of the key, each shard under its own lock, bounded in bytes, and
//! count what they hold to the byte, slots and hash buckets included. They have two faces:
//! [`Cache`], keyed by a number with a charge the caller names, and `cairndb_base::PageCache`,
//! keyed by file and page.
//!
//! LRU takes its shard's lock alone for every lookup, since each one relinks the entry. CLOCK only
//! marks the entry, under a shared lock: worse victims, fewer waits.

mod clock;
mod key;
mod lru;
mod sharded;
mod slots;

pub use clock::{ClockCache, ClockShard};
pub use lru::{LruCache, LruShard};
pub use sharded::{Cache, Shard, ShardedCache};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
