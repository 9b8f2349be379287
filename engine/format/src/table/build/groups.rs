//! Packs entries into pages whose values are compressed in groups of neighbours.
//!
//! Entries wait until they make a group, or (with one group per page) until they probably fill a
//! page. Then as many of them as fit are compressed and pushed to the page. The number that fits is
//! found by compressing: a guess from the ratio so far is corrected a few times.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Kind, SeqNo};
use cairndb_kernel::codec::{Encoder, RAW_BYTES_MAX};

use crate::table::build::sample::compress;
use crate::table::page::bits::low16;
use crate::table::page::layout::{GROUP_RAW_BYTES_MAX, ValueMode};
use crate::table::page::shape::Shape;
use crate::table::page::writer::{NewEntry, PageWriter};

/// Number of raw bytes that wait for the first page of one group. After that, the last page
/// decides.
const PAGE_RAW_BYTES: usize = 8 << 10;
/// Maximum number of raw bytes that wait for one group.
const WAITING_BYTES_MAX: usize = GROUP_RAW_BYTES_MAX / 2;
/// Values longer than this are not grouped: they would be a group of their own.
pub(crate) const GROUPED_VALUE_BYTES_MAX: usize = 4 << 10;
/// Number of compressions spent on finding how many entries still fit into a page.
const TRIES: usize = 4;

const _: () = assert!(GROUP_RAW_BYTES_MAX <= RAW_BYTES_MAX);
const _: () = assert!(WAITING_BYTES_MAX + GROUPED_VALUE_BYTES_MAX <= GROUP_RAW_BYTES_MAX);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    key_end: usize,
    raw_end: usize,
    seq: SeqNo,
    kind: Kind,
}

/// Outcome of packing the waiting entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    /// All are in the page, or wait for more.
    All,
    /// The page is full; some entries wait for the next.
    PageFull,
    /// The first of them does not even fit an empty page.
    TooLarge,
}

/// Entries waiting for their group, and the groups of the page under construction.
#[derive(Debug)]
pub(crate) struct GroupPacker {
    /// Number of raw bytes that make a group.
    target: usize,
    whole_page: bool,
    waiting: Vec<Waiting>,
    keys: Vec<u8>,
    raw: Vec<u8>,
    /// End of each group of the page: entries, and stored bytes.
    ends: Vec<(u16, u16)>,
    stored: Vec<u8>,
    scratch: Vec<u8>,
}

impl GroupPacker {
    /// Returns a packer that makes groups of about this many raw bytes.
    pub(crate) fn of_groups(raw_bytes: usize) -> GroupPacker {
        GroupPacker::new(raw_bytes, false)
    }

    /// Returns a packer that makes one group per page.
    pub(crate) fn of_pages() -> GroupPacker {
        GroupPacker::new(PAGE_RAW_BYTES, true)
    }

    fn new(target: usize, whole_page: bool) -> GroupPacker {
        GroupPacker {
            target,
            whole_page,
            waiting: Vec::new(),
            keys: Vec::new(),
            raw: Vec::new(),
            ends: Vec::new(),
            stored: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.capacity()
            + self.raw.capacity()
            + self.stored.capacity()
            + self.scratch.capacity()
            + self.waiting.capacity() * size_of::<Waiting>()
    }

    /// Returns the last waiting entry.
    pub(crate) fn last(&self) -> Option<(&[u8], SeqNo)> {
        let last = self.waiting.len().checked_sub(1)?;
        Some((self.key(last), self.waiting[last].seq))
    }

    /// Returns the first waiting entry, with its raw value.
    pub(crate) fn first(&self) -> Option<(&[u8], SeqNo, Kind, &[u8])> {
        let first = self.waiting.first()?;
        let value = &self.raw[..first.raw_end];
        Some((self.key(0), first.seq, first.kind, value))
    }

    fn key(&self, index: usize) -> &[u8] {
        let start = match index {
            0 => 0,
            _ => self.waiting[index - 1].key_end,
        };
        &self.keys[start..self.waiting[index].key_end]
    }

    fn entry(&self, index: usize) -> NewEntry<'_> {
        let start = match index {
            0 => 0,
            _ => self.waiting[index - 1].raw_end,
        };
        let waiting = &self.waiting[index];
        NewEntry {
            key: self.key(index),
            head: None,
            seq: waiting.seq,
            kind: waiting.kind,
            raw_len: waiting.raw_end - start,
            stored_len: 0,
        }
    }

    /// Returns whether enough entries wait to be packed.
    pub(crate) fn is_ready(&self) -> bool {
        // Keys count as well, so that a page of tombstones is ended. So do entries, each of which
        // takes at least a byte of a page: many versions of one key may have neither key bytes nor
        // values.
        let bytes = self.raw.len() + self.keys.len();
        bytes >= self.target.min(WAITING_BYTES_MAX) || self.waiting.len() >= PAGE_BYTES
    }

    /// Adds an entry. Returns whether enough wait to be packed.
    pub(crate) fn add(&mut self, key: &[u8], seq: SeqNo, kind: Kind, raw: &[u8]) -> bool {
        self.keys.extend_from_slice(key);
        self.raw.extend_from_slice(raw);
        self.waiting.push(Waiting {
            key_end: self.keys.len(),
            raw_end: self.raw.len(),
            seq,
            kind,
        });
        self.is_ready()
    }

    /// Packs the waiting entries as a group of `page`. With `all`, none may keep waiting for
    /// neighbours.
    pub(crate) fn pack(
        &mut self,
        page: &mut PageWriter,
        encoder: &mut Encoder,
        all: bool,
    ) -> Packed {
        let count = self.waiting.len();
        if count == 0 {
            return Packed::All;
        }
        let before = page.shape;
        let mut shapes = Vec::with_capacity(count);
        for index in 0..count {
            let entry = self.entry(index);
            let shape = page.shape_with(&entry);
            page.push(&entry, shape);
            shapes.push(shape);
        }
        let taken = self.entries_that_fit(&shapes, encoder);
        let bytes = self.raw.len() + self.keys.len();
        if taken == count && self.whole_page && !all && bytes < WAITING_BYTES_MAX {
            // There is room for more in the one group of this page.
            page.rewind(before);
            let used =
                shapes[count - 1].bytes_before_values(ValueMode::Groups) + self.scratch.len();
            self.target = (bytes * PAGE_BYTES / used.max(1)).max(bytes + bytes / 16);
            return Packed::All;
        }
        let Some(last) = taken.checked_sub(1) else {
            page.rewind(before);
            return if before.count == 0 {
                Packed::TooLarge
            } else {
                Packed::PageFull
            };
        };
        page.rewind(shapes[last]);
        self.take(page, taken);
        if taken < count {
            Packed::PageFull
        } else {
            Packed::All
        }
    }

    /// Returns how many of the waiting entries fit as one more group; `scratch` then holds their
    /// stored form. `shapes[n]` is the shape of the page with `n + 1` of them.
    fn entries_that_fit(&mut self, shapes: &[Shape], encoder: &mut Encoder) -> usize {
        let room = PAGE_BYTES - self.stored.len();
        let groups = 4 * (self.ends.len() + 1);
        let (mut fits, mut too_many) = (0, shapes.len() + 1);
        let mut guess = shapes.len();
        let mut best = Vec::new();
        let mut tries = 0;
        while too_many - fits > 1 && (tries < TRIES || fits == 0) {
            tries += 1;
            let raw = &self.raw[..self.waiting[guess - 1].raw_end];
            compress(encoder, raw, &mut self.scratch);
            let columns = shapes[guess - 1].bytes_before_values(ValueMode::Groups);
            let used = columns + groups + self.scratch.len();
            if used <= room && self.ends.len() < usize::from(u8::MAX) {
                fits = guess;
                std::mem::swap(&mut best, &mut self.scratch);
            } else {
                too_many = guess;
            }
            let likely = guess * room / used.max(1);
            guess = likely.min(too_many - 1).max(fits + 1);
        }
        self.scratch = best;
        fits
    }

    /// Makes the first `count` waiting entries, already pushed, a group.
    fn take(&mut self, page: &PageWriter, count: usize) {
        self.stored.extend_from_slice(&self.scratch);
        self.ends
            .push((low16(page.shape.count), low16(self.stored.len())));
        let Waiting {
            key_end, raw_end, ..
        } = self.waiting[count - 1];
        self.keys.drain(..key_end);
        self.raw.drain(..raw_end);
        self.waiting.drain(..count);
        for waiting in &mut self.waiting {
            waiting.key_end -= key_end;
            waiting.raw_end -= raw_end;
        }
        if self.whole_page {
            self.target = (raw_end + key_end + (raw_end + key_end) / 32).min(WAITING_BYTES_MAX);
        }
    }

    /// Drops the first waiting entry, which the caller has stored elsewhere.
    pub(crate) fn drop_first(&mut self) {
        let Waiting {
            key_end, raw_end, ..
        } = self.waiting.remove(0);
        self.keys.drain(..key_end);
        self.raw.drain(..raw_end);
        for waiting in &mut self.waiting {
            waiting.key_end -= key_end;
            waiting.raw_end -= raw_end;
        }
    }

    /// Returns whether the page under construction has groups.
    pub(crate) fn has_groups(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Appends the page with a zero checksum, and starts the next.
    pub(crate) fn write(&mut self, page: &PageWriter, continued: bool, out: &mut Vec<u8>) {
        page.write_groups(&self.ends, &self.stored, continued, out);
        self.ends.clear();
        self.stored.clear();
    }
}
