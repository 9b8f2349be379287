//! The page cache: CLOCK eviction, and the parts that any eviction order needs.
//!
//! The cache is sharded by a hash of the key. Each shard has its own lock, is bounded in bytes, and
//! counts its memory exactly, including slots and hash buckets. There are two interfaces:
//! [`Cache`], keyed by a number with a charge given by the caller, and `cairndb_base::PageCache`,
//! keyed by file and page.
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
