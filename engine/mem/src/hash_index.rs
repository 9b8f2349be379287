//! Hash index of a memtable: points to the newest version of each key, so that a get need not
//! search the list.
//!
//! A search among thousands of entries waits for one cache line after the other, most of which
//! another processor wrote last. With the index a get reads one line, which records whether the key
//! may be present and where its node is, and then the node. The list remains for scans, flushes and
//! older versions.
//!
//! A line has twelve slots. Each holds two bytes of the key's hash and the node's place in the
//! arena. A key whose line is full goes into the next line, and a bit in the full line records
//! this. After [`PROBES`] lines, or if a node has no place, the result is unknown and the list is
//! searched. A read at an older snapshot steps from the newest version to older ones, and searches
//! the list after [many](crate::memtable) steps.
//!
//! A slot holds two bytes of the hash, because a get may read dozens of memtables and each
//! accidental match costs the cache line of a node. Rejected: a filter of three bits per word,
//! because it only helped absent keys, and a hash table of pointers, because it is simpler but
//! takes 50% more memory per slot.
//!
//! Invariants:
//! 1. Either an inserted key has one slot on its path, which points to its newest version, or every
//!    line of the path records that keys overflowed.
//! 2. A slot belongs to the same key forever. Only its place changes, to that of a newer version or
//!    to none.
//!
//! Threads: one writer, any number of readers. Slots are stored with release after the node has
//! been linked, and loaded with acquire. All stores of an insert to the index precede the release
//! store that publishes its sequence number, so a reader that acquired a snapshot covering the
//! entry finds this entry or a newer one.
#![expect(
    unsafe_code,
    reason = "lines are in the arena's memory, which a pool reuses"
)]

use std::ptr::NonNull;
use std::slice;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Divisor of a memtable's capacity that gives the index's size in bytes. Entries of 64 bytes (a
/// 16-byte key without a value) fill three quarters of the slots. If nine tenths were filled, 7 of
/// 1000 keys would have no slot, and the lookups of a tenth of absent keys would return unknown
/// (simulated).
const CAPACITY_SHARE: usize = 10;

/// Number of slots in a line. With their tags they take 64 bytes.
const SLOTS: usize = 12;
/// Number of tags in a word.
const LANES: usize = 8;
/// Number of lines in a path.
const PROBES: usize = 8;

/// A one in each lane.
const ONES: u64 = 0x0101_0101_0101_0101;
/// All bits of each lane except the highest.
const LOWS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
/// The lanes of the second word that belong to slots.
const SECOND: u64 = u64::MAX >> (8 * (2 * LANES - SLOTS));
/// Set in the second word if keys of this line overflowed to the next.
const WENT_ON: u64 = 1 << 63;

/// A node's place in its arena, in 24 bits; see `Arena::place_of`. Never zero, and below
/// [`NODE_PLACE_END`].
pub(crate) type NodePlace = u32;
/// The bits above a place hold the second byte of the hash in a slot.
pub(crate) const NODE_PLACE_END: NodePlace = 1 << PLACE_BITS;
const PLACE_BITS: u32 = NodePlace::BITS - 8;
/// Stored in a slot if the key's newest version has no place.
const NOWHERE: NodePlace = 0;

/// Result of a lookup in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked<N> {
    /// The key's newest version.
    Here(N),
    /// The key is not in the memtable.
    Absent,
    /// Unknown: the list must be searched.
    Unknown,
}

/// Twelve slots.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line {
    /// Tags of slots 0 to 7, and of slots 8 to 11 with [`WENT_ON`]. A free slot's tag is zero.
    tags: [AtomicU64; 2],
    /// Each slot's place in the arena in the low bits, and a second byte of the key's hash in the
    /// high bits.
    places: [AtomicU32; SLOTS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Line>() == 64);

/// The lines of one memtable, in its arena's memory.
#[derive(Debug)]
pub(crate) struct HashIndex {
    lines: NonNull<Line>,
    len: usize,
}

// SAFETY: lines consist of atomics, in memory without thread affinity that the arena owns.
unsafe impl Send for HashIndex {}
// SAFETY: as for `Send`; all access is through atomics.
unsafe impl Sync for HashIndex {}

impl Line {
    /// Returns a mask with one bit set in the lane of each slot whose tag equals that of `pattern`,
    /// and whether keys overflowed.
    #[inline]
    fn matches(&self, pattern: u64) -> ([u64; 2], bool) {
        // Acquire: the tag publishes the slot's first place.
        let tags = self
            .tags
            .each_ref()
            .map(|word| word.load(Ordering::Acquire));
        let equal = tags.map(|word| zero_lanes(word ^ pattern));
        ([equal[0], equal[1] & SECOND], tags[1] & WENT_ON != 0)
    }

    /// Returns whether no slot is taken and no key overflowed, as in a new memtable.
    #[inline]
    fn is_free(&self) -> bool {
        // Relaxed: a reader that may see an entry also sees its tag.
        let tags = self
            .tags
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        tags[0] | tags[1] == 0
    }

    /// Takes the first free slot.
    #[inline]
    fn take(&self, tag: u8, slot: u32) -> bool {
        for (word, lanes) in [(0, u64::MAX), (1, SECOND)] {
            let tags = &self.tags[word];
            // Relaxed: stored by this thread, or by the previous writer under the engine's lock.
            let taken = tags.load(Ordering::Relaxed);
            let free = zero_lanes(taken) & lanes;
            if free != 0 {
                let lane = free.trailing_zeros() as usize / 8;
                self.places[word * LANES + lane].store(slot, Ordering::Relaxed);
                // Release: publishes the place, and with it the node's bytes.
                tags.store(taken | u64::from(tag) << (8 * lane), Ordering::Release);
                return true;
            }
        }
        false
    }

    fn send_on(&self) {
        let tags = self.tags[1].load(Ordering::Relaxed);
        self.tags[1].store(tags | WENT_ON, Ordering::Release);
    }
}

impl HashIndex {
    /// Returns the number of bytes that the index of a memtable of `capacity` bytes takes at any
    /// alignment.
    pub(crate) fn bytes_for(capacity: usize) -> usize {
        let lines = (capacity / CAPACITY_SHARE / size_of::<Line>()).max(PROBES);
        (lines + 1) * size_of::<Line>()
    }

    /// Returns an empty index in `bytes` of `memory`.
    ///
    /// # Safety
    /// The memory must belong only to the caller and outlive the result; `bytes` must be the result
    /// of [`HashIndex::bytes_for`].
    pub(crate) unsafe fn write(memory: NonNull<u8>, bytes: usize) -> HashIndex {
        let unaligned = memory.align_offset(align_of::<Line>());
        let len = bytes / size_of::<Line>() - 1;
        assert!(unaligned < size_of::<Line>() && len >= PROBES);
        // SAFETY: the memory fits one line more than `len`, and less than one line is skipped for
        // alignment.
        let lines = unsafe { memory.add(unaligned) }.cast::<Line>();
        for at in 0..len {
            // SAFETY: `at` is below `len`, and the caller's memory has that many lines.
            let line = unsafe { lines.add(at) };
            // SAFETY: as above; a line starts at a multiple of its alignment.
            unsafe { line.write(Line::default()) };
        }
        HashIndex { lines, len }
    }

    /// Looks a key up by its hash. `node_at` returns the node at a place if it has that key.
    #[inline]
    pub(crate) fn look<N>(&self, hash: u64, node_at: impl Fn(NodePlace) -> Option<N>) -> Looked<N> {
        let pattern = u64::from(tag_of(hash)) * ONES;
        for line in self.path(hash) {
            if line.is_free() {
                return Looked::Absent;
            }
            let (equal, went_on) = line.matches(pattern);
            for slot in slots_of(equal) {
                // Acquire: makes the node's bytes visible.
                let place = line.places[slot].load(Ordering::Acquire) ^ high_of(hash);
                if place >= NODE_PLACE_END {
                    continue;
                }
                if place == NOWHERE {
                    return Looked::Unknown;
                }
                if let Some(node) = node_at(place) {
                    return Looked::Here(node);
                }
            }
            if !went_on {
                return Looked::Absent;
            }
        }
        Looked::Unknown
    }

    /// Adds the first version of a key, after its node is linked. Only the writer calls this and
    /// `replace`.
    #[inline]
    pub(crate) fn add(&self, hash: u64, place: Option<NodePlace>) {
        for line in self.path(hash) {
            if place.is_some_and(|place| line.take(tag_of(hash), high_of(hash) | place)) {
                return;
            }
            line.send_on();
        }
    }

    /// Replaces the place of a key with that of a newer version. `is_older` returns whether the
    /// previous version is at a place.
    pub(crate) fn replace(
        &self,
        hash: u64,
        place: Option<NodePlace>,
        is_older: impl Fn(NodePlace) -> bool,
    ) {
        let pattern = u64::from(tag_of(hash)) * ONES;
        for line in self.path(hash) {
            let (equal, went_on) = line.matches(pattern);
            for slot in slots_of(equal) {
                let before = line.places[slot].load(Ordering::Relaxed) ^ high_of(hash);
                if before != NOWHERE && before < NODE_PLACE_END && is_older(before) {
                    let place = high_of(hash) | place.unwrap_or(NOWHERE);
                    // Release: publishes the node's bytes.
                    line.places[slot].store(place, Ordering::Release);
                    return;
                }
            }
            // The key has no slot, by the first invariant.
            if !went_on {
                break;
            }
        }
    }

    /// Prefetches the first line in which a key is looked up.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        cairndb_kernel::prefetch_span(
            std::ptr::from_ref(&self.lines()[self.first(hash)]).cast(),
            1,
        );
    }

    #[inline]
    fn lines(&self) -> &[Line] {
        // SAFETY: `write` has written `len` lines there, in memory that outlives `self`.
        unsafe { slice::from_raw_parts(self.lines.as_ptr(), self.len) }
    }

    /// Returns the lines that may hold a key.
    #[inline]
    fn path(&self, hash: u64) -> impl Iterator<Item = &Line> {
        let first = self.first(hash);
        self.lines()[first..first + PROBES].iter()
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product's high half is below len"
    )]
    fn first(&self, hash: u64) -> usize {
        // No path starts so close to the end that it would have to wrap around.
        let first = self.len - (PROBES - 1);
        ((u128::from(hash) * first as u128) >> 64) as usize
    }
}

/// Returns the tag: the low byte of the hash, because the high bits select the line. It is never
/// zero, which marks a free slot.
#[inline]
fn tag_of(hash: u64) -> u8 {
    hash.to_le_bytes()[0].max(1)
}

/// Returns the next byte of the hash, shifted above a place.
#[inline]
fn high_of(hash: u64) -> u32 {
    u32::from(hash.to_le_bytes()[1]) << PLACE_BITS
}

/// Returns the highest bit of each zero lane. The result is exact, because no carry leaves a lane.
#[inline]
fn zero_lanes(word: u64) -> u64 {
    !(((word & LOWS) + LOWS) | word | LOWS)
}

/// Returns the slots whose bits are set.
#[inline]
fn slots_of(equal: [u64; 2]) -> impl Iterator<Item = usize> {
    let mut equal = equal;
    std::iter::from_fn(move || {
        let word = usize::from(equal[0] == 0);
        let bits = equal[word];
        if bits == 0 {
            return None;
        }
        equal[word] = bits & (bits - 1);
        Some(word * LANES + bits.trailing_zeros() as usize / 8)
    })
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use cairndb_base::hash64;

    /// An index with its own memory.
    struct Alone {
        index: HashIndex,
        _memory: Vec<u8>,
    }

    impl std::ops::Deref for Alone {
        type Target = HashIndex;

        fn deref(&self) -> &HashIndex {
            &self.index
        }
    }

    fn alone(capacity: usize) -> Alone {
        let bytes = HashIndex::bytes_for(capacity);
        let mut memory = vec![0xff; bytes];
        let start = NonNull::new(memory.as_mut_ptr()).unwrap();
        // SAFETY: the memory has that many bytes, is kept next to the index, and is not used by
        // anything else.
        let index = unsafe { HashIndex::write(start, bytes) };
        Alone {
            index,
            _memory: memory,
        }
    }

    /// Adds a number to an index that uses each number as its place.
    fn add(index: &HashIndex, number: u32) {
        index.add(hash64(&number.to_le_bytes()), Some(number));
    }

    fn look(index: &HashIndex, number: u32) -> Looked<u32> {
        let node_at = |place| (place == number).then_some(place);
        index.look(hash64(&number.to_le_bytes()), node_at)
    }

    #[test]
    fn what_was_added_is_found_and_the_rest_is_known_to_be_absent() {
        let index = alone(512 << 10);
        let held = if cfg!(miri) { 100 } else { 6_600 };
        for number in 1..=held {
            add(&index, number);
        }
        let here = (1..=held).filter(|number| look(&index, *number) == Looked::Here(*number));
        let here = here.count();
        assert!(here == held as usize, "{here} of {held}");
        let absent = |number: &u32| look(&index, *number) == Looked::Absent;
        let known = (held + 1..=2 * held).filter(absent).count();
        assert!(known == held as usize, "{known} of {held}");
    }

    #[test]
    fn a_directory_that_is_too_small_tells_no_lies() {
        for capacity in [0, 800, 8_000] {
            let index = alone(capacity);
            assert_eq!(look(&index, 1), Looked::Absent);
            for number in 1..=300 {
                add(&index, number);
                for held in 1..=number {
                    let looked = look(&index, held);
                    assert!(looked == Looked::Here(held) || looked == Looked::Unknown);
                }
            }
            assert!((301..=600).all(|number| !matches!(look(&index, number), Looked::Here(_))));
        }
    }

    #[test]
    fn a_newer_version_takes_the_slot_and_one_without_a_place_empties_it() {
        let index = alone(0);
        let hash = hash64(b"stone");
        index.add(hash, Some(1));
        index.replace(hash, Some(2), |place| place == 1);
        assert_eq!(index.look(hash, Some), Looked::Here(2));
        index.replace(hash, None, |place| place == 2);
        assert_eq!(index.look(hash, Some), Looked::Unknown);
        index.replace(hash, Some(3), |_| true);
        assert_eq!(index.look(hash, Some), Looked::Unknown);
    }

    #[test]
    fn a_first_version_without_a_place_is_not_called_absent() {
        let index = alone(0);
        let hash = hash64(b"stone");
        index.add(hash, None);
        assert_eq!(index.look(hash, Some), Looked::<NodePlace>::Unknown);
        // A newer version with a place changes nothing, because the key has no slot.
        index.replace(hash, Some(7), |_| false);
        assert_eq!(index.look(hash, Some), Looked::<NodePlace>::Unknown);
    }
}
