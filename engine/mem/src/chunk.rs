//! Chunks: the raw memory of arenas, and a pool that passes it from a flushed memtable to the next
//! memtable.
//!
//! Fresh memory from the operating system costs one page fault per page, which takes longer per
//! entry than the insert itself. A database therefore keeps one [`ChunkPool`] for all its
//! memtables. The next owner must treat a pooled chunk as uninitialised.
//!
//! A chunk of a memtable's size is mapped instead of allocated. After freeing the first such chunk,
//! an allocator raises its mapping threshold, places later chunks in its heap and never returns the
//! memory between them. A random load with 4 MiB once held three times the memory of its chunks.
//!
//! Invariants: a chunk has one owner, a pool or an arena; `bytes` is the sum of the pooled chunks'
//! sizes and never above `limit` between two calls.
#![expect(unsafe_code, reason = "allocates raw memory")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_env::sync::Mutex;

/// Alignment of every chunk and of its pieces: the alignment of the links and words in a node.
pub(crate) const ALIGN: usize = 8;

/// Minimum size of a chunk that is mapped.
const MAPPED_BYTES_MIN: usize = 128 << 10;

/// One allocation or anonymous mapping.
#[derive(Debug)]
pub(crate) struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
    /// Owns the memory of a mapped chunk.
    mapping: Option<Mapping>,
}

#[cfg(not(any(loom, miri)))]
type Mapping = memmap2::MmapMut;

/// Model checkers support only the allocator.
#[cfg(any(loom, miri))]
type Mapping = std::convert::Infallible;

/// Returns a mapping of `bytes`, if they reach the minimum and the system can provide them.
#[cfg(not(any(loom, miri)))]
fn map(bytes: usize) -> Option<(NonNull<u8>, Mapping)> {
    if bytes < MAPPED_BYTES_MIN {
        return None;
    }
    let mut mapping = memmap2::MmapOptions::new().len(bytes).map_anon().ok()?;
    let start = NonNull::new(mapping.as_mut_ptr())?;
    Some((start, mapping))
}

#[cfg(any(loom, miri))]
fn map(bytes: usize) -> Option<(NonNull<u8>, Mapping)> {
    debug_assert!(bytes > 0 && MAPPED_BYTES_MIN > 0);
    None
}

// SAFETY: a chunk is owned memory without thread affinity and exposes only its address.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Maps `bytes` or allocates them from the global allocator; `bytes` must be at least 1.
    pub(crate) fn new(bytes: usize) -> Chunk {
        assert!(bytes > 0, "a chunk must hold at least one piece");
        let layout = Layout::from_size_align(bytes, ALIGN)
            .expect("pieces are bounded by the limits on keys and values");
        if let Some((start, mapping)) = map(bytes) {
            return Chunk {
                start,
                layout,
                mapping: Some(mapping),
            };
        }
        // SAFETY: the layout's size is not zero, as asserted above.
        let start = unsafe { alloc(layout) };
        match NonNull::new(start) {
            Some(start) => Chunk {
                start,
                layout,
                mapping: None,
            },
            None => handle_alloc_error(layout),
        }
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns the size.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if self.mapping.is_some() {
            return;
        }
        // SAFETY: without a mapping `start` came from `alloc` with this layout, and a chunk is
        // dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Memory of dropped memtables, kept for later memtables up to a limit.
///
/// ```
/// use cairndb_base::{Kind, Order};
/// use cairndb_mem::{ChunkPool, Memtable};
///
/// let pool = ChunkPool::new(1 << 20);
/// let (table, mut writer) = Memtable::pooled(&pool, Order::Bytewise, Vec::new(), 512 << 10);
/// writer.insert(1, Kind::Put, b"k", b"v");
/// assert_eq!(pool.bytes(), 0);
/// drop((table, writer));
/// // One chunk: all memory except that of the memtable's own structure.
/// assert!((480 << 10..512 << 10).contains(&pool.bytes()));
/// ```
#[derive(Debug)]
pub struct ChunkPool {
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    chunks: Vec<Chunk>,
    bytes: usize,
    limit: usize,
}

impl ChunkPool {
    /// Returns an empty pool that keeps at most `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Arc<ChunkPool> {
        Arc::new(ChunkPool {
            kept: Mutex::new(Kept {
                chunks: Vec::new(),
                bytes: 0,
                limit: limit_bytes,
            }),
        })
    }

    /// Returns the number of bytes kept now; no memtable counts them.
    pub fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }

    /// Changes the limit and frees any excess at once. 0 empties the pool.
    pub fn set_limit(&self, limit_bytes: usize) {
        let mut kept = self.kept.lock();
        kept.limit = limit_bytes;
        while kept.bytes > limit_bytes {
            kept.bytes -= kept.chunks.pop().as_ref().map_or(0, Chunk::bytes);
        }
    }

    /// Returns a chunk of exactly `bytes`: the most recently pooled one, which is the most likely
    /// to be in a cache, or a new one.
    pub(crate) fn take(&self, bytes: usize) -> Chunk {
        let mut kept = self.kept.lock();
        let found = kept.chunks.iter().rposition(|chunk| chunk.bytes() == bytes);
        if let Some(index) = found {
            kept.bytes -= bytes;
            return kept.chunks.swap_remove(index);
        }
        drop(kept);
        Chunk::new(bytes)
    }

    /// Keeps the chunks that fit within the limit and frees the rest.
    pub(crate) fn give(&self, chunks: impl Iterator<Item = Chunk>) {
        let mut kept = self.kept.lock();
        for chunk in chunks {
            if kept.bytes + chunk.bytes() <= kept.limit {
                kept.bytes += chunk.bytes();
                kept.chunks.push(chunk);
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_pool_returns_chunks_of_the_size_asked_for_and_keeps_its_limit() {
        let pool = ChunkPool::new(1000);
        pool.give([64, 512, 64, 512].map(Chunk::new).into_iter());
        assert_eq!(pool.bytes(), 64 + 512 + 64);
        let chunk = pool.take(512);
        assert_eq!((chunk.bytes(), pool.bytes()), (512, 128));
        assert_eq!(
            pool.take(128).bytes(),
            128,
            "no such chunk is pooled, so it must be new"
        );
        assert_eq!(pool.bytes(), 128);
        pool.give([chunk].into_iter());
        pool.set_limit(64);
        assert_eq!(pool.bytes(), 64);
        pool.set_limit(0);
        assert_eq!(pool.bytes(), 0);
    }
}
