//! The front of a value file as it is mapped, and which of its values were found intact there.
//!
//! As pages are, a value is checked once for as long as its file is mapped, by default: a value that is read again is not
//! summed up again, and one that is lent costs no more than what its reader does with it. What was found intact is a
//! mark for each 8 KiB of the file, of the value that begins there: of small ones, which are copied anyway, the last
//! that was read. A bit for each would say the same of values of one length; the mark binds the pointer and the key
//! as well, so that a pointer that leads into the middle of a value, or to another key's, is not taken for the one that
//! was checked.
//!
//! Threads: marks are read and written by any, relaxed: they say what was seen in bytes that do not change.

use std::sync::atomic::{AtomicU32, Ordering};

use cairndb_base::hash64;
use cairndb_env::Mapping;
use cairndb_format::value_file::{Check, Pointer};

/// Bytes of the file for each mark: a large value has one of its own, and marks take a two-thousandth of what is mapped.
const BYTES_A_MARK: u64 = 8 << 10;

/// What is there when nothing was checked.
const NONE: u32 = 0;

/// All of a value file from its first byte that there was when it was mapped. Nothing changes that any more, but for what
/// a crash has left behind the last record, to which no pointer leads.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) bytes: Mapping,
    marks: Box<[AtomicU32]>,
}

impl Front {
    /// With the marks of `before`, a shorter one of the same file.
    pub(crate) fn new(bytes: Mapping, before: Option<&Front>) -> Front {
        let marks = (bytes.len() as u64).div_ceil(BYTES_A_MARK);
        let kept = before.map_or(&[][..], |before| &before.marks);
        let mut kept = kept.iter().map(|mark| mark.load(Ordering::Relaxed));
        let marks = (0..marks).map(|_| AtomicU32::new(kept.next().unwrap_or(NONE)));
        let marks = marks.collect();
        Front { bytes, marks }
    }

    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether the value of `pointer` is still to be checked.
    pub(crate) fn check(&self, pointer: &Pointer, key_hash: u64) -> Check {
        let mark = mark_of(pointer, key_hash);
        let found = self.place(pointer).map(|at| at.load(Ordering::Relaxed));
        if mark != NONE && found == Some(mark) {
            Check::Done
        } else {
            Check::Now
        }
    }

    /// Notes that the value of `pointer` was found intact.
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

/// Half of a hash of all that the checksum binds.
fn mark_of(pointer: &Pointer, key_hash: u64) -> u32 {
    let hash = hash64(&pointer.encode()) ^ key_hash;
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cairndb_base::FileNumber;
    use cairndb_env::MappedBytes;

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
        let front = Front::new(zeros(20_000), None);
        let first = pointer(40, 1);
        assert_eq!(front.check(&first, 7), Check::Now);
        front.note(&first, 7);
        assert_eq!(front.check(&first, 7), Check::Done);
        for (other, hash) in [
            (pointer(40, 1), 8),
            (pointer(40, 2), 7),
            (pointer(48, 1), 7),
        ] {
            assert_eq!(front.check(&other, hash), Check::Now, "{other:?} {hash}");
        }
        let behind = pointer(30_000, 1);
        front.note(&behind, 7);
        assert_eq!(front.check(&behind, 7), Check::Now, "not mapped");
    }

    #[test]
    fn a_longer_front_keeps_what_the_shorter_knew() {
        let short = Front::new(zeros(20_000), None);
        let (first, last) = (pointer(0, 1), pointer(17_000, 2));
        short.note(&first, 7);
        short.note(&last, 9);
        let long = Front::new(zeros(40_000), Some(&short));
        assert_eq!(long.len(), 40_000);
        assert_eq!(long.check(&first, 7), Check::Done);
        assert_eq!(long.check(&last, 9), Check::Done);
        let new = pointer(30_000, 3);
        long.note(&new, 7);
        assert_eq!(long.check(&new, 7), Check::Done);
        assert_eq!(short.check(&new, 7), Check::Now);
    }
}
