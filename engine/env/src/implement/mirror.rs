//! Mirror: a stable copy of a log region's bytes, for environments whose files cannot be borrowed
//! from.
//!
//! A real region lends bytes from its mapping. Other environments keep file contents behind locks
//! and copy them. Without a mirror the engine would copy every value there, and tests would
//! exercise a path that no user's data takes.
#![expect(unsafe_code, reason = "writes next to borrowed slices")]

use std::ptr::NonNull;

use super::borrowing::Borrowing;

/// The bytes written to a [`LogRegion`](crate::LogRegion) since it was created or reused. They can
/// be borrowed while other bytes are written. One thread writes; any thread may borrow.
///
/// ```
/// use cairndb_env::implement::Mirror;
/// let mirror = Mirror::new(4096).expect("4 KiB fit in memory");
/// mirror.write(0, &[b"one", b"two"]);
/// let borrowed = mirror.bytes(3, 3);
/// mirror.write(6, &[b"three"]);
/// assert_eq!(borrowed, b"two");
/// ```
#[derive(Debug)]
pub struct Mirror {
    /// `len` bytes of a `Box<[u8]>`.
    start: NonNull<u8>,
    len: usize,
    borrowing: Borrowing,
}

// SAFETY: the memory is owned and has no thread affinity.
unsafe impl Send for Mirror {}
// SAFETY: `borrowing` separates writes from each other and from reads.
unsafe impl Sync for Mirror {}

impl Mirror {
    /// Creates a mirror of a region of `len` bytes; `None` if the region is larger than memory.
    pub fn new(len: u64) -> Option<Mirror> {
        let bytes = vec![0u8; usize::try_from(len).ok()?].into_boxed_slice();
        let len = bytes.len();
        let start = NonNull::from(Box::leak(bytes)).cast();
        let borrowing = Borrowing::default();
        Some(Mirror {
            start,
            len,
            borrowing,
        })
    }

    /// Copies bytes written to the region.
    ///
    /// # Panics
    /// If the bytes extend past the end of the region, or change bytes that can be read in place.
    pub fn write(&self, offset: u64, parts: &[&[u8]]) {
        let mut at = usize::try_from(offset).expect("within the region");
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let end = at.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "a log write extends past the end of its region"
        );
        self.borrowing.begin(offset);
        for part in parts {
            // SAFETY: `at + part.len()` is at most `end`, which is at most `len`.
            let to = unsafe { self.start.add(at) };
            // SAFETY: `borrowing` guarantees that nothing from `to` on is borrowed, so `part` does
            // not overlap it even if it comes from this mirror, and that no other thread writes.
            unsafe { to.copy_from_nonoverlapping(NonNull::from(*part).cast(), part.len()) };
            at += part.len();
        }
        self.borrowing.written(at as u64);
    }

    /// Returns written bytes.
    ///
    /// # Panics
    /// If any of the bytes were not written.
    pub fn bytes(&self, offset: u64, len: usize) -> &[u8] {
        self.borrowing.borrow(offset, len);
        let at = usize::try_from(offset).expect("within the region");
        // SAFETY: `borrowing` granted bytes that were written, which are within the region.
        let start = unsafe { self.start.add(at) };
        // SAFETY: as above; no thread writes these `len` bytes while `self` is shared.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), len) }
    }

    /// Forgets the written bytes.
    pub fn reuse(&mut self) {
        self.borrowing.reuse();
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let bytes = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len);
        // SAFETY: pointer and length are those of the box that `new` leaked.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_lent_and_stays() {
        let mut mirror = Mirror::new(16).expect("16 bytes fit in memory");
        mirror.write(0, &[b"ab", b"", b"cd"]);
        let borrowed = mirror.bytes(1, 3);
        mirror.write(8, &[borrowed]);
        assert_eq!((borrowed, mirror.bytes(8, 3)), (&b"bcd"[..], &b"bcd"[..]));
        assert_eq!(mirror.bytes(11, 0), b"");
        mirror.reuse();
        mirror.write(0, &[b"new"]);
        assert_eq!(mirror.bytes(0, 3), b"new");
    }

    #[test]
    #[should_panic(expected = "past the end of its region")]
    fn nothing_is_written_behind_the_region_not_even_nothing() {
        let mirror = Mirror::new(16).expect("16 bytes fit in memory");
        mirror.write(17, &[]);
    }
}
