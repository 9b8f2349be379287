//! Basic types that all CairnDB crates share: identifiers, key order, integer encodings, limits,
//! errors, the watch over a long call.
//!
//! Floor 1: no I/O, no threads, no unsafe code. Except for the watch, which is a variable of the
//! thread, this crate contains only plain data and pure functions, so any crate may depend on it,
//! and its tests need nothing else.

pub mod cache;
pub mod coding;
pub mod comparator;
pub mod digest;
pub mod error;
pub mod hash;
pub mod head;
pub mod ids;
pub mod limits;
pub mod watch;

pub use cache::PageCache;
pub use comparator::{ByKeyspace, Comparator, KeyspaceOrders, Order};
pub use digest::Digest;
pub use error::{Error, ErrorKind, Result};
pub use hash::hash64;
pub use head::HeadRule;
pub use ids::{FileNumber, Kind, SEQ_MAX, SeqNo};

/// The mark in the header of a manifest of this format. The header is also a record that LevelDB's
/// log reader accepts: a version edit that names a comparator. The mark is the start of that name,
/// so that LevelDB refuses the database, and our reader of LevelDB's files does, too.
pub const MANIFEST_MARK: &[u8; 19] = b"CairnDB manifest\0\0\0";
