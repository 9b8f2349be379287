//! The adapter for etcd: small, precious data on three or five machines.
//!
//! A store is the part of the key space that starts with the prefix of the URL. A revision is a
//! snapshot. A transaction reads at one revision, and its commit compares what was read with the
//! present: the modification revisions of keys, and for ranges that no key in them is newer.

mod cluster;
mod errors;
mod keys;
mod memory;
mod reads;
mod scan;
mod store;
mod transaction;
mod watch;

pub use store::EtcdStore;
pub use watch::{Change, Watch};
