//! A chunk: entries that were fetched and wait to become Python objects.
//!
//! Its memory is kept: from chunk to chunk, and by the thread from iterator to iterator, because a
//! short scan would spend a tenth of its time on growing it.

use std::cell::Cell;

/// A thread keeps a chunk whose data has at most this capacity.
const KEPT_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// An empty chunk, for the next iterator of the thread.
    static KEPT: Cell<Chunk> = const { Cell::new(Chunk::new()) };
}

/// Entries, one after the other in one buffer, which is kept from chunk to chunk.
#[derive(Debug)]
pub(crate) struct Chunk {
    data: Vec<u8>,
    /// Ends of the key and of the value of each entry in `data`.
    ends: Vec<(usize, usize)>,
    /// Number of entries that were taken, and the end of the last of them.
    taken: usize,
    taken_bytes: usize,
}

impl Chunk {
    pub(crate) const fn new() -> Chunk {
        Chunk {
            data: Vec::new(),
            ends: Vec::new(),
            taken: 0,
            taken_bytes: 0,
        }
    }

    /// Returns an empty chunk, with the memory that the thread has kept.
    pub(crate) fn kept() -> Chunk {
        let kept = KEPT.try_with(|kept| kept.replace(Chunk::new()));
        kept.unwrap_or_else(|_| Chunk::new())
    }

    /// Gives the memory to the thread.
    pub(crate) fn keep(mut self) {
        if self.data.capacity() <= KEPT_BYTES_MAX {
            self.clear();
            // A thread that ends keeps nothing.
            let _ = KEPT.try_with(|kept| kept.set(self));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.data.clear();
        self.ends.clear();
        self.taken = 0;
        self.taken_bytes = 0;
    }

    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.data.extend_from_slice(key);
        let key_end = self.data.len();
        self.data.extend_from_slice(value);
        self.ends.push((key_end, self.data.len()));
    }

    /// Returns the key and the value of the next entry.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(&[u8], &[u8])> {
        let (key_end, end) = *self.ends.get(self.taken)?;
        let key = self.data.get(self.taken_bytes..key_end)?;
        let value = self.data.get(key_end..end)?;
        self.taken += 1;
        self.taken_bytes = end;
        Some((key, value))
    }

    /// Takes the entries that are left and returns how many they were.
    pub(crate) fn take_all(&mut self) -> u64 {
        let left = self.ends.len() - self.taken;
        self.taken = self.ends.len();
        self.taken_bytes = self.data.len();
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// Returns the number of entries that were taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns the key of the last entry that was taken.
    pub(crate) fn last_taken(&self) -> Option<&[u8]> {
        let last = self.taken.checked_sub(1)?;
        let start = match last.checked_sub(1) {
            Some(before) => self.ends.get(before)?.1,
            None => 0,
        };
        self.data.get(start..self.ends.get(last)?.0)
    }

    /// Returns whether every entry was taken.
    #[inline]
    pub(crate) fn is_read(&self) -> bool {
        self.taken == self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
    }
}
