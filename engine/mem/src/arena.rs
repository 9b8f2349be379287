//! The arena: the memory of one memtable, in chunks that are allocated on demand and never moved.
//!
//! The single writer cuts pieces off the current chunk through its [`Bump`]. Readers that hold the
//! memtable may read pieces until the [`Arena`] is dropped, which frees all chunks.
//!
//! Invariants:
//! 1. A piece is allocated once, lies within one chunk, and is aligned to [`ALIGN`].
//! 2. Only dropping the arena frees a chunk or returns it to the pool.
//! 3. `allocated` is the exact sum of the chunks' sizes.
//! 4. A node place identifies one address of a regular chunk for the lifetime of the arena.
//!
//! Threads: only one thread at a time allocates pieces (it needs `&mut Bump`); any thread may read
//! sizes.
#![expect(unsafe_code, reason = "this file manages raw memory")]

use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_env::sync::Mutex;
use cairndb_kernel::prefetch_span;

use crate::chunk::{ALIGN, Chunk, ChunkPool};
use crate::hash_index::{NODE_PLACE_END, NodePlace};
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Size of an arena's first chunk, small so that a memtable with few entries costs little.
const CHUNK_BYTES_MIN: usize = 64 << 10;
/// Maximum size of later chunks, which double the arena until then; larger chunks would only waste
/// more at the end.
const CHUNK_BYTES_MAX: usize = 256 << 10;
/// Maximum size of a chunk beyond the budget, which is a share of the budget.
const BEYOND_BYTES_MAX: usize = 256 << 10;
/// Divisor of a regular chunk's size above which a piece gets its own chunk. This bounds the waste
/// at the end of a chunk that the piece does not fit into.
const OWN_CHUNK_SHARE: usize = 4;

/// Prefetch distance ahead of the writer, and number of bytes prefetched: two entries with 16-byte
/// keys and values in the log take 144 bytes.
const AHEAD_BYTES: usize = 192;

/// Number of regular chunks whose pieces have node places. Chunks of 64 to 256 KiB then add up to 7
/// MiB; an arena with a pool has a single regular chunk.
const CHUNKS_PLACED: usize = if cfg!(loom) { 2 } else { 32 };
/// Number of bits of a node place that count steps of [`ALIGN`] from the chunk's start, up to 4
/// MiB; the bits above are the chunk's number.
const STEP_BITS: u32 = 19;
const _: () = assert!(CHUNKS_PLACED << STEP_BITS <= NODE_PLACE_END as usize);

/// The chunks of one memtable.
#[derive(Debug)]
pub(crate) struct Arena {
    chunks: Mutex<Vec<Chunk>>,
    allocated: AtomicUsize,
    budget: usize,
    pool: Option<Arc<ChunkPool>>,
    /// Start of each regular chunk.
    starts: [AtomicPtr<u8>; CHUNKS_PLACED],
}

/// The writer's position in the current chunk.
#[derive(Debug)]
pub(crate) struct Bump {
    at: NonNull<u8>,
    left: usize,
    /// Start of the current chunk.
    start: NonNull<u8>,
    /// Number of regular chunks so far.
    chunks: usize,
}

// SAFETY: the arena owns the memory after `at`, which has no thread affinity.
unsafe impl Send for Bump {}

impl Bump {
    /// Returns a position before the first chunk.
    pub(crate) fn new() -> Bump {
        Bump {
            at: NonNull::dangling(),
            left: 0,
            start: NonNull::dangling(),
            chunks: 0,
        }
    }
}

impl Arena {
    /// Returns an arena with a budget of `budget` bytes that takes its chunks from `pool`, if
    /// given. Allocates nothing yet.
    pub(crate) fn new(budget: usize, pool: Option<Arc<ChunkPool>>) -> Arena {
        Arena {
            chunks: Mutex::new(Vec::new()),
            allocated: AtomicUsize::new(0),
            // Chunk sizes are multiples of `ALIGN`, and only a chunk of exactly the budget returns
            // to the pool.
            budget: budget / ALIGN * ALIGN,
            pool,
            starts: std::array::from_fn(|_| AtomicPtr::default()),
        }
    }

    /// Returns the node place of an address in a piece of the current chunk, not at the chunk's
    /// start. Returns `None` for other addresses and in a chunk whose number is too high.
    #[inline]
    pub(crate) fn place_of(bump: &Bump, address: NonNull<u8>) -> Option<NodePlace> {
        let steps = address.addr().get().wrapping_sub(bump.start.addr().get()) / ALIGN;
        let cut = (bump.at.addr().get() - bump.start.addr().get()) / ALIGN;
        if steps == 0 || steps >= cut.min(1 << STEP_BITS) || bump.chunks > CHUNKS_PLACED {
            return None;
        }
        // At least one regular chunk exists, and the piece lies after its start.
        NodePlace::try_from((bump.chunks - 1) << STEP_BITS | steps).ok()
    }

    /// Returns the address of a place that [`Arena::place_of`] returned for a piece of this arena.
    /// The caller must have obtained the place through an acquire load.
    #[inline]
    pub(crate) fn address_of(&self, place: NodePlace) -> *mut u8 {
        let (chunk, steps) = (place >> STEP_BITS, place & ((1 << STEP_BITS) - 1));
        // Relaxed: the start was stored before the place, by the thread that stored the place with
        // release.
        let start = self.starts[chunk as usize % CHUNKS_PLACED].load(Ordering::Relaxed);
        start.wrapping_add(steps as usize * ALIGN)
    }

    /// Returns the number of bytes of all chunks.
    pub(crate) fn allocated(&self) -> usize {
        // Relaxed: a statistic that no other read depends on.
        self.allocated.load(Ordering::Relaxed)
    }

    /// Returns whether a piece of `bytes` fits without exceeding the budget.
    #[inline]
    pub(crate) fn has_room(&self, bump: &Bump, bytes: usize) -> bool {
        bytes <= bump.left || bytes <= self.budget.saturating_sub(self.allocated())
    }

    /// Allocates a piece of `bytes`, rounded up to [`ALIGN`]. Its memory is uninitialised, belongs
    /// only to the caller, and lives as long as the arena. Exceeds the budget rather than fails.
    #[inline]
    pub(crate) fn allocate(&self, bump: &mut Bump, bytes: usize) -> NonNull<u8> {
        let bytes = bytes.next_multiple_of(ALIGN);
        if bytes <= bump.left {
            let piece = bump.at;
            // SAFETY: the chunk has `left` bytes after `at`, and `bytes` is at most `left`.
            bump.at = unsafe { piece.add(bytes) };
            bump.left -= bytes;
            return piece;
        }
        self.allocate_from_new_chunk(bump, bytes)
    }

    /// Prefetches the cache lines of the piece after the next; those of the next piece were
    /// prefetched before. Pooled memory is in the cache of the processor that flushed it.
    #[inline]
    pub(crate) fn prefetch_next(bump: &Bump) {
        prefetch_span(bump.at.as_ptr().wrapping_add(AHEAD_BYTES), AHEAD_BYTES);
    }

    #[cold]
    fn allocate_from_new_chunk(&self, bump: &mut Bump, bytes: usize) -> NonNull<u8> {
        debug_assert!(bytes.is_multiple_of(ALIGN));
        let regular = self.regular_chunk_bytes();
        if bytes > regular / OWN_CHUNK_SHARE {
            return self.add_chunk(bytes);
        }
        let start = self.add_chunk(regular);
        // SAFETY: the new chunk has `regular` bytes and `bytes` is at most a quarter of them.
        bump.at = unsafe { start.add(bytes) };
        bump.left = regular - bytes;
        bump.start = start;
        if let Some(slot) = self.starts.get(bump.chunks) {
            slot.store(start.as_ptr(), Ordering::Relaxed);
        }
        bump.chunks += 1;
        start
    }

    /// Returns the next chunk's size: the arena's size so far, within the two limits and the
    /// budget. A pooled arena allocates its whole budget at once: a pool can only reuse chunks of
    /// one size, and a large chunk comes from the operating system and does not fragment the heap.
    /// (Chunks of 64 to 128 KiB between the allocations of three threads doubled the memory of the
    /// process.)
    fn regular_chunk_bytes(&self) -> usize {
        let allocated = self.allocated();
        if allocated > self.budget {
            // A batch is larger than the whole memtable. Without chunks, each of its entries would
            // cost an allocation, a lock and 48 bytes.
            return (self.budget / OWN_CHUNK_SHARE).min(BEYOND_BYTES_MAX) / ALIGN * ALIGN;
        }
        let room = self.budget - allocated;
        if self.pool.is_some() {
            return room / ALIGN * ALIGN;
        }
        let bytes = allocated.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        bytes.min(room) / ALIGN * ALIGN
    }

    fn add_chunk(&self, bytes: usize) -> NonNull<u8> {
        let chunk = match &self.pool {
            Some(pool) => pool.take(bytes),
            None => Chunk::new(bytes),
        };
        let start = chunk.start();
        self.chunks.lock().push(chunk);
        let allocated = self.allocated() + bytes;
        self.allocated.store(allocated, Ordering::Relaxed);
        start
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let chunks = self.chunks.get_mut().drain(..);
        match &self.pool {
            Some(pool) => pool.give(chunks.filter(|chunk| chunk.bytes() == self.budget)),
            None => drop(chunks),
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_and_end_exactly_at_the_budget() {
        let arena = Arena::new(512 << 10, None);
        let mut bump = Bump::new();
        assert_eq!(arena.allocated(), 0);
        let mut pieces = 0;
        while arena.has_room(&bump, 1 << 10) {
            let piece = arena.allocate(&mut bump, 1 << 10);
            // SAFETY: the piece has 1 KiB, which nothing else uses.
            unsafe { piece.write_bytes(7, 1 << 10) };
            pieces += 1;
        }
        assert_eq!(pieces, 512);
        assert_eq!(arena.allocated(), 512 << 10);
        let sizes: Vec<usize> = arena.chunks.lock().iter().map(Chunk::bytes).collect();
        assert_eq!(sizes, [64 << 10, 64 << 10, 128 << 10, 256 << 10]);
    }

    #[test]
    fn a_large_piece_gets_its_own_chunk_and_leaves_the_current_one_in_use() {
        let arena = Arena::new(64 << 10, None);
        let mut bump = Bump::new();
        let first = arena.allocate(&mut bump, 10);
        let large = arena.allocate(&mut bump, 1 << 20);
        let second = arena.allocate(&mut bump, 10);
        assert_eq!(arena.allocated(), (64 << 10) + (1 << 20));
        assert_eq!(second.as_ptr().addr() - first.as_ptr().addr(), 16);
        assert_ne!(large, first);
        assert!(!arena.has_room(&bump, 64 << 10));
        assert!(arena.has_room(&bump, 100));
    }

    #[test]
    fn many_pieces_beyond_the_budget_share_chunks() {
        let arena = Arena::new(64 << 10, None);
        let mut bump = Bump::new();
        for _ in 0..10_000 {
            arena.allocate(&mut bump, 100);
        }
        // One chunk has the size of the budget, one exceeds it, and the others are shares of it.
        let chunks = arena.chunks.lock().len();
        assert_eq!(
            chunks,
            2 + (1_040_000_usize - (64 << 10)).div_ceil(16 << 10)
        );
        assert!(!arena.has_room(&bump, 16 << 10));
    }

    #[test]
    fn a_budget_of_nothing_still_serves() {
        let arena = Arena::new(0, None);
        let mut bump = Bump::new();
        assert!(!arena.has_room(&bump, 1));
        for bytes in [1, 8, 9, 4096] {
            let piece = arena.allocate(&mut bump, bytes);
            assert_eq!(piece.as_ptr().addr() % ALIGN, 0);
        }
        assert_eq!(arena.allocated(), 8 + 8 + 16 + 4096);
    }
}
