//! The page cache interface that table readers use.
//!
//! The cache itself is in `engine/mem`, the tables in `engine/format`. Neither may import the
//! other, so both depend on this trait. Only tables read with `pread` use it: a mapped table is
//! read in place.

use std::fmt::Debug;
use std::sync::Arc;

use crate::ids::FileNumber;

/// A cache of verified table pages, keyed by file and page number.
///
/// Implementations are shared by all threads and bounded in bytes. An insert may evict other pages,
/// and a page larger than the whole cache is not kept.
pub trait PageCache: Debug + Send + Sync {
    /// Returns the cached bytes of a page, if present.
    fn get(&self, file: FileNumber, page: u32) -> Option<Arc<[u8]>>;
    /// Stores `bytes`, which the caller has verified, for later `get`s.
    fn insert(&self, file: FileNumber, page: u32, bytes: Arc<[u8]>);
    /// Drops all pages of a file that is about to be deleted.
    fn evict_file(&self, file: FileNumber);
    /// Returns the number of bytes held now, including keys and bookkeeping.
    fn bytes(&self) -> usize;
}
