//! The face of the page cache, as a table reader sees it.
//!
//! The cache itself lives in `crates/mem`, the tables in `crates/format`; neither may import the
//! other, so the seam between them is this trait. Only tables read with `pread` use it: a mapped
//! table reads in place.

use std::fmt::Debug;
use std::sync::Arc;

use crate::ids::FileNumber;

/// A cache of verified table pages, keyed by file and page number.
///
/// Implementations are shared by all threads and bounded in bytes; an insert may evict others, and
/// a page larger than the whole cache is simply not kept.
pub trait PageCache: Debug + Send + Sync {
    /// The cached bytes of a page, if present.
    fn get(&self, file: FileNumber, page: u32) -> Option<Arc<[u8]>>;
    /// Keeps `bytes`, which the caller has verified, for later `get`s.
    fn insert(&self, file: FileNumber, page: u32, bytes: Arc<[u8]>);
    /// Drops every page of a file that is about to be deleted.
    fn evict_file(&self, file: FileNumber);
    /// Bytes held now, keys and bookkeeping included.
    fn bytes(&self) -> usize;
}
