//! The page cache: CLOCK, and the parts that another eviction order needs.
//!
//! The cache is sharded by a hash of the key. Each shard is under its own lock, is bounded in
//! bytes, and counts what it holds to the byte, slots and hash buckets included. There are two
//! interfaces: [`Cache`], keyed by a number with a charge that the caller names, and
//! `cairndb_base::PageCache`, keyed by file and page.
//!
//! A lookup only marks the entry, under a shared lock.

mod clock;
mod key;
mod sharded;
mod slots;

pub use clock::{ClockCache, ClockShard};
pub use key::{hash_of, is_of_file};
pub use sharded::{Cache, Shard, ShardedCache};
pub use slots::{NIL, Slot, Slots};

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
