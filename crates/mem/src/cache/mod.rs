//! Page caches: least recently used, and CLOCK.
//!
//! Both are sharded by a hash of the key, with a lock per shard. Both are bounded in bytes and
//! count their memory to the byte, slots and hash buckets included. They have two interfaces:
//! [`Cache`], keyed by a number, with a charge that the caller chooses, and
//! `cairndb_base::PageCache`, keyed by file and page.
//!
//! LRU takes its shard's lock exclusively for every lookup, because each one relinks the entry.
//! CLOCK only marks the entry, under a shared lock: worse victims, shorter waits.

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
