//! File contents shared between copies: reference-counted pages; pages of zeros take no memory.
//!
//! A crash state is a copy of every file with a few sectors changed. Copying costs a reference
//! count per page, changing a byte copies one page, and hashing reads only pages that were never
//! hashed before.
//!
//! Invariants: 1. the bytes of the last page after the length are zero; 2. the number of pages is
//! exactly what the length needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

/// The unit that a disk writes whole or not at all.
pub const SECTOR_BYTES: usize = 512;
const PAGE_BYTES: usize = 4096;
const SECTORS_PER_PAGE: u64 = (PAGE_BYTES / SECTOR_BYTES) as u64;

const _: () = assert!(PAGE_BYTES.is_multiple_of(SECTOR_BYTES));

/// The bytes of one sector, padded with zeros after the end of the file.
pub(crate) type Sector = [u8; SECTOR_BYTES];

#[derive(Debug)]
struct Page {
    bytes: [u8; PAGE_BYTES],
    /// Hash of the bytes; 0 if unknown or if all bytes are zero.
    hash: AtomicU64,
}

impl Clone for Page {
    fn clone(&self) -> Page {
        Page {
            bytes: self.bytes,
            hash: AtomicU64::new(0),
        }
    }
}

impl Page {
    const fn zero() -> Page {
        Page {
            bytes: [0; PAGE_BYTES],
            hash: AtomicU64::new(0),
        }
    }

    /// Returns a hash that is equal for equal bytes; 0 for zeros, as for a missing page.
    fn hash(&self) -> u64 {
        // Relaxed: a thread that finds no hash computes the same one.
        let known = self.hash.load(Ordering::Relaxed);
        if known != 0 || self.bytes.iter().all(|&byte| byte == 0) {
            return known;
        }
        let hash = xxh3_64(&self.bytes).max(1);
        self.hash.store(hash, Ordering::Relaxed);
        hash
    }
}

/// The bytes of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    len: u64,
    /// `None` stands for a page of zeros.
    pages: Vec<Option<Arc<Page>>>,
}

impl Content {
    /// Returns a file of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Content {
        let mut content = Content::default();
        content.write(0, bytes);
        content
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Sets the length, extending with zeros or truncating.
    pub(crate) fn set_len(&mut self, len: u64) {
        let pages = usize::try_from(len.div_ceil(PAGE_BYTES as u64)).expect("a file in memory");
        self.pages.resize(pages, None);
        if len < self.len {
            let tail = tail_of(len);
            if tail > 0 && self.pages.last().is_some_and(Option::is_some) {
                self.page_mut(pages - 1)[tail..].fill(0);
            }
        }
        self.len = len;
    }

    /// Overwrites bytes, growing the file as needed.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end > self.len {
            self.set_len(end);
        }
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let start = tail_of(at);
            let count = rest.len().min(PAGE_BYTES - start);
            self.page_mut(page_of(at))[start..start + count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            at += count as u64;
        }
    }

    /// Copies bytes out; returns `false`, with `out` unspecified, if the file ends before the range
    /// does.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> bool {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            // An empty read succeeds at any offset, as with the system call.
            return out.is_empty();
        }
        let mut rest = out;
        let mut at = offset;
        while !rest.is_empty() {
            let start = tail_of(at);
            let count = rest.len().min(PAGE_BYTES - start);
            let (now, later) = rest.split_at_mut(count);
            match &self.pages[page_of(at)] {
                Some(page) => now.copy_from_slice(&page.bytes[start..start + count]),
                None => now.fill(0),
            }
            rest = later;
            at += count as u64;
        }
        true
    }

    /// Returns all bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.len).expect("a file in memory")];
        let whole = self.read(0, &mut bytes);
        debug_assert!(whole, "the pages cover the length");
        bytes
    }

    /// Returns a sector, padded with zeros after the end of the file.
    pub(crate) fn sector(&self, index: u64) -> Sector {
        let mut sector = [0; SECTOR_BYTES];
        let start = usize::try_from(index % SECTORS_PER_PAGE).expect("below eight") * SECTOR_BYTES;
        let page = usize::try_from(index / SECTORS_PER_PAGE).expect("a file in memory");
        if let Some(Some(page)) = self.pages.get(page) {
            sector.copy_from_slice(&page.bytes[start..start + SECTOR_BYTES]);
        }
        sector
    }

    /// Overwrites the part of a sector within the length, which does not change.
    pub(crate) fn put_sector(&mut self, index: u64, sector: &Sector) {
        let start = index * SECTOR_BYTES as u64;
        if start < self.len {
            let count = usize::try_from(self.len - start).unwrap_or(SECTOR_BYTES);
            self.write(start, &sector[..count.min(SECTOR_BYTES)]);
        }
    }

    /// Returns a hash that is equal for equal contents.
    pub(crate) fn hash(&self) -> u64 {
        let mut state = self.len ^ 0xC0FF_EE00;
        for page in &self.pages {
            let hash = page.as_ref().map_or(0, |page| page.hash());
            state = mix(state, hash);
        }
        state
    }

    fn page_mut(&mut self, index: usize) -> &mut [u8; PAGE_BYTES] {
        let page = self.pages[index].get_or_insert_with(|| Arc::new(Page::zero()));
        let page = Arc::make_mut(page);
        *page.hash.get_mut() = 0;
        &mut page.bytes
    }
}

/// Folds a number into a running hash.
pub(crate) fn mix(state: u64, value: u64) -> u64 {
    let mut mixed = (state.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (mixed >> 32)
}

fn page_of(offset: u64) -> usize {
    usize::try_from(offset / PAGE_BYTES as u64).expect("a file in memory")
}

fn tail_of(offset: u64) -> usize {
    usize::try_from(offset % PAGE_BYTES as u64).expect("below a page")
}

#[cfg(test)]
mod tests {
    use cairndb_env::random::Random;

    use super::*;

    #[test]
    fn equals_a_plain_vector() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let (mut content, mut plain) = (Content::default(), Vec::new());
            for _ in 0..60 {
                let at = random.index(20_000);
                if random.below(4) == 0 {
                    content.set_len(at as u64);
                    plain.resize(at, 0);
                } else {
                    let byte = random.next_u64().to_le_bytes()[0];
                    let bytes = vec![byte; random.index(9000)];
                    content.write(at as u64, &bytes);
                    plain.resize(plain.len().max(at + bytes.len()), 0);
                    plain[at..at + bytes.len()].copy_from_slice(&bytes);
                }
                assert_eq!(content.to_vec(), plain, "seed {seed}");
                assert_eq!(content.hash(), Content::of(&plain).hash(), "seed {seed}");
                let sector = random.index(40);
                let mut padded = plain.clone();
                padded.resize(plain.len().max((sector + 1) * SECTOR_BYTES), 0);
                let start = sector * SECTOR_BYTES;
                let expected = &padded[start..start + SECTOR_BYTES];
                assert_eq!(content.sector(sector as u64)[..], *expected, "seed {seed}");
            }
        }
    }

    #[test]
    fn copies_are_independent() {
        let mut a = Content::of(&[1; 10_000]);
        let b = a.clone();
        let before = b.hash();
        a.put_sector(3, &[9; SECTOR_BYTES]);
        assert_eq!(b.to_vec(), [1; 10_000]);
        assert_eq!(b.hash(), before);
        assert_ne!(a.hash(), before);
        let mut c = a.clone();
        c.put_sector(3, &[1; SECTOR_BYTES]);
        assert_eq!(c.hash(), before);
    }

    #[test]
    fn a_sector_across_the_end_is_cut() {
        let mut content = Content::of(&[1; 600]);
        content.put_sector(1, &[2; SECTOR_BYTES]);
        content.put_sector(2, &[3; SECTOR_BYTES]);
        assert_eq!(content.len(), 600);
        assert_eq!(content.to_vec()[511..], [[1].as_slice(), &[2; 88]].concat());
        content.set_len(700);
        assert_eq!(content.to_vec()[600..], [0; 100]);
    }
}
