//! Mapping of a value file, and marks for its verified values.
//!
//! By default a value, like a page, is verified once per mapping of its file: a repeated read
//! computes no checksum, and a borrowed value costs nothing beyond the work of its reader. Each 4
//! KiB of the file has a mark for the last value read that starts there. Smaller values share a
//! mark with a neighbour and are verified again if the neighbour was read in between.
//!
//! A mark is half of a hash of the pointer and the key. A pointer into the middle of a value, or to
//! the value of another key, therefore passes for the verified one with a probability of 1 in 2^32,
//! as with the checksum itself.
//!
//! A borrowed value keeps the mapping, which stays counted until the value is dropped.
//!
//! Threads: any thread reads and writes marks with relaxed ordering, because they describe bytes
//! that do not change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cairndb_base::hash64;
use cairndb_env::{MappedBytes, Mapping};
use cairndb_format::value_file::{Check, Pointer};

/// Number of file bytes per mark. A value stored in at least this many bytes has a mark of its own.
/// Marks take a thousandth of the mapped size.
const BYTES_A_MARK: u64 = 4 << 10;

/// Mark of a place where nothing has been verified.
const NONE: u32 = 0;

/// Mapping of a value file from its first byte to its length at the time of mapping. These bytes no
/// longer change, except for leftovers of a crash after the last record, to which no pointer
/// refers.
#[derive(Debug)]
pub(crate) struct MappedPrefix {
    pub(crate) bytes: Mapping,
    marks: Box<[AtomicU32]>,
}

impl MappedPrefix {
    /// Takes over the marks of `before`, a shorter mapping of the same file.
    pub(crate) fn new(bytes: Mapping, before: Option<&MappedPrefix>) -> MappedPrefix {
        let marks = (bytes.len() as u64).div_ceil(BYTES_A_MARK);
        let kept = before.map_or(&[][..], |before| &before.marks);
        let mut kept = kept.iter().map(|mark| mark.load(Ordering::Relaxed));
        let marks = (0..marks).map(|_| AtomicU32::new(kept.next().unwrap_or(NONE)));
        let marks = marks.collect();
        MappedPrefix { bytes, marks }
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns whether the value of `pointer` still has to be verified.
    pub(crate) fn check(&self, pointer: &Pointer, key_hash: u64) -> Check {
        let mark = mark_of(pointer, key_hash);
        let found = self.place(pointer).map(|at| at.load(Ordering::Relaxed));
        if mark != NONE && found == Some(mark) {
            Check::Done
        } else {
            Check::Now
        }
    }

    /// Records that the value of `pointer` was verified.
    pub(crate) fn note(&self, pointer: &Pointer, key_hash: u64) {
        if let Some(at) = self.place(pointer) {
            at.store(mark_of(pointer, key_hash), Ordering::Relaxed);
        }
    }

    fn place(&self, pointer: &Pointer) -> Option<&AtomicU32> {
        let at = usize::try_from(pointer.offset / BYTES_A_MARK).ok()?;
        self.marks.get(at)
    }
}

/// Number of mapped bytes of one value file; subtracted from the total when the last mapping is
/// dropped.
#[derive(Debug)]
pub(crate) struct MappedCount {
    total: Arc<AtomicU64>,
    bytes: AtomicU64,
}

impl MappedCount {
    /// Returns the count of a file that is not mapped yet.
    pub(crate) fn new(total: &Arc<AtomicU64>) -> MappedCount {
        MappedCount {
            total: Arc::clone(total),
            bytes: AtomicU64::new(0),
        }
    }

    /// Adds `bytes`, which the total already includes, to this file.
    pub(crate) fn take(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts `bytes`, which could not be mapped, from the total.
    pub(crate) fn refuse(&self, bytes: u64) {
        self.total.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for MappedCount {
    fn drop(&mut self) {
        self.total
            .fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// A mapping that keeps its count as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted {
    mapping: Mapping,
    _count: Arc<MappedCount>,
}

impl Counted {
    /// Wraps `mapping` so that it is counted.
    pub(crate) fn wrap(mapping: Mapping, count: &Arc<MappedCount>) -> Mapping {
        Mapping::new(Arc::new(Counted {
            mapping,
            _count: Arc::clone(count),
        }))
    }
}

impl MappedBytes for Counted {
    fn bytes(&self) -> &[u8] {
        &self.mapping
    }

    fn read_ahead(&self, offset: usize, len: usize) {
        self.mapping.read_ahead(offset, len);
    }

    fn map_now(&self, offset: usize, len: usize) {
        self.mapping.map_now(offset, len);
    }
}

/// Returns half of a hash of everything that the checksum covers.
fn mark_of(pointer: &Pointer, key_hash: u64) -> u32 {
    let hash = hash64(&pointer.encode()) ^ key_hash;
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use cairndb_base::FileNumber;

    use super::*;

    #[derive(Debug)]
    struct Zeros(Vec<u8>);

    impl MappedBytes for Zeros {
        fn bytes(&self) -> &[u8] {
            &self.0
        }
    }

    fn zeros(len: usize) -> Mapping {
        Mapping::new(Arc::new(Zeros(vec![0; len])))
    }

    fn pointer(offset: u64, crc: u32) -> Pointer {
        Pointer {
            file: FileNumber(3),
            offset,
            len: 9_000,
            raw_len: 9_000,
            crc,
            codec: 0,
        }
    }

    #[test]
    fn what_was_checked_is_known_by_place_pointer_and_key() {
        let prefix = MappedPrefix::new(zeros(20_000), None);
        let first = pointer(40, 1);
        assert_eq!(prefix.check(&first, 7), Check::Now);
        prefix.note(&first, 7);
        assert_eq!(prefix.check(&first, 7), Check::Done);
        for (other, hash) in [
            (pointer(40, 1), 8),
            (pointer(40, 2), 7),
            (pointer(48, 1), 7),
        ] {
            assert_eq!(prefix.check(&other, hash), Check::Now, "{other:?} {hash}");
        }
        let after_end = pointer(30_000, 1);
        prefix.note(&after_end, 7);
        assert_eq!(prefix.check(&after_end, 7), Check::Now, "not mapped");
    }

    #[test]
    fn a_longer_front_keeps_what_the_shorter_knew() {
        let short = MappedPrefix::new(zeros(20_000), None);
        let (first, last) = (pointer(0, 1), pointer(17_000, 2));
        short.note(&first, 7);
        short.note(&last, 9);
        let long = MappedPrefix::new(zeros(40_000), Some(&short));
        assert_eq!(long.len(), 40_000);
        assert_eq!(long.check(&first, 7), Check::Done);
        assert_eq!(long.check(&last, 9), Check::Done);
        let new = pointer(30_000, 3);
        long.note(&new, 7);
        assert_eq!(long.check(&new, 7), Check::Done);
        assert_eq!(short.check(&new, 7), Check::Now);
    }
}
