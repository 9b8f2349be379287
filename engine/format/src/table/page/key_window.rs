//! Key window: decoded keys of a page, all of them or a range.
//!
//! A page stores the keys' common prefix once, the next bytes of each in a column of numbers, and
//! the rest, if any, elsewhere. Assembling one key costs more than stepping to it, mainly because
//! loads wait for stores of another width. Decoding all keys of a page in one loop costs a third of
//! that per key.
//!
//! Invariant: the keys in the window are those of the page decoded last.

use std::ops::Range;

use crate::table::page::Page;
use crate::table::page::bits::low32;
use crate::table::page::entry_range::EntryRange;
use crate::table::page::values::value_at;

/// The loop copies this many bytes of a prefix or an ending, whatever its length. Longer ones are
/// copied separately.
const ENDS_BYTES: usize = 32;
/// The loop writes this many bytes per key, whatever its length.
const KEY_WORDS_BYTES: usize = ENDS_BYTES + 8 + ENDS_BYTES;

/// Representation of the ends of the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lengths {
    /// All keys have this length.
    Equal(usize),
    /// The ends are listed.
    #[default]
    Ends,
}

/// Decoded keys, and the buffers for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyWindow {
    /// The keys, followed by spare room.
    bytes: Vec<u8>,
    lengths: Lengths,
    /// Start of the first key and end of each key, unless all keys have the same length.
    ends: Vec<u32>,
    /// The entries whose keys are decoded.
    decoded: EntryRange,
}

impl KeyWindow {
    /// Returns whether the key of an entry is decoded.
    #[inline]
    pub(crate) fn holds(&self, index: usize) -> bool {
        self.decoded.holds(index)
    }

    /// Returns the entries whose keys are decoded.
    #[inline]
    pub(crate) fn entries(&self) -> Range<usize> {
        self.decoded.entries()
    }

    /// Empties the window.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.decoded.forget();
    }

    /// Returns the key of an entry, which must be decoded.
    #[inline]
    pub(crate) fn key(&self, index: usize) -> &[u8] {
        debug_assert!(self.decoded.holds(index));
        let at = self.decoded.place(index);
        match self.lengths {
            Lengths::Equal(len) => {
                let at = at.wrapping_mul(len);
                self.bytes.get(at..at + len).unwrap_or_default()
            }
            Lengths::Ends => value_at(&self.bytes, &self.ends, at),
        }
    }

    /// Returns the number of heap bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Replaces the window with the keys of some entries of a page. Leaves it empty if they need
    /// more than `most` bytes.
    pub(crate) fn decode(&mut self, page: &Page<'_, '_>, entries: &Range<usize>, most: usize) {
        let layout = page.layout;
        let key_len =
            layout.prefix_len as usize + usize::from(layout.head_bytes) + page.ending().len();
        let equal = page.fixed_keys();
        let tails = if equal { 0 } else { page.tail_bytes(entries) };
        // Each key is written in words; the next key overwrites the excess.
        let room = entries.len() * key_len + tails + KEY_WORDS_BYTES;
        self.forget();
        if room > most {
            return;
        }
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let apart = layout.prefix_len as usize > ENDS_BYTES || page.ending().len() > ENDS_BYTES;
        if equal && !apart {
            self.decode_equal(page, entries, key_len);
            self.lengths = Lengths::Equal(key_len);
        } else {
            self.decode_each(page, entries);
            self.lengths = Lengths::Ends;
        }
        self.decoded = EntryRange::of(entries);
    }

    /// Decodes keys that are prefix, whole head and the page's ending.
    fn decode_equal(&mut self, page: &Page<'_, '_>, entries: &Range<usize>, key_len: usize) {
        let layout = page.layout;
        let bytes = usize::from(layout.head_bytes);
        let loops = Heads {
            prefix: page.prefix(),
            ending: page.ending(),
            key_len,
            base: layout.base_head,
            shift: if bytes == 0 { 0 } else { 64 - 8 * bytes },
        };
        let out = &mut self.bytes;
        let width = usize::from(layout.head_width);
        let deltas = page.slice(layout.heads_at, layout.head_lens_at);
        let deltas = deltas.get(entries.start * width..entries.end * width);
        let deltas = deltas.unwrap_or_default();
        match layout.head_width {
            0 => loops.write(out, std::iter::repeat_n(0, entries.len())),
            1 => loops.write(out, deltas.iter().map(|head| u64::from(*head))),
            2 => {
                let (heads, _) = deltas.as_chunks();
                let heads = heads.iter().map(|head| u16::from_le_bytes(*head).into());
                loops.write(out, heads);
            }
            4 => {
                let (heads, _) = deltas.as_chunks();
                let heads = heads.iter().map(|head| u32::from_le_bytes(*head).into());
                loops.write(out, heads);
            }
            _ => {
                let (heads, _) = deltas.as_chunks();
                let heads = heads.iter().map(|head| u64::from_le_bytes(*head));
                loops.write(out, heads);
            }
        }
    }

    /// Decodes keys of any kind.
    fn decode_each(&mut self, page: &Page<'_, '_>, entries: &Range<usize>) {
        let prefix = page.prefix();
        let padded = padded(prefix);
        self.ends.clear();
        self.ends.push(0);
        let mut at = 0;
        for index in entries.clone() {
            let (head_len, tail) = (page.head_len(index), page.tail(index));
            let end = at + prefix.len() + head_len + tail.len();
            // Never writes past the room, which only damage can make too small.
            let Some(rest) = self.bytes.get_mut(at..) else {
                break;
            };
            if let Some(slot) = rest
                .first_chunk_mut()
                .filter(|_| prefix.len() <= ENDS_BYTES)
            {
                *slot = padded;
            } else if let Some(slot) = rest.get_mut(..prefix.len()) {
                slot.copy_from_slice(prefix);
            }
            let rest = rest.get_mut(prefix.len()..).unwrap_or_default();
            if let Some(slot) = rest.first_chunk_mut() {
                *slot = page.head_word(index);
            }
            if let Some(slot) = rest.get_mut(head_len..head_len + tail.len()) {
                slot.copy_from_slice(tail);
            }
            self.ends.push(low32(end));
            at = end;
        }
    }
}

/// Parts of keys that are prefix, whole head and the page's ending.
struct Heads<'p> {
    prefix: &'p [u8],
    ending: &'p [u8],
    key_len: usize,
    base: u64,
    /// Number of bits above the head.
    shift: usize,
}

impl Heads<'_> {
    /// Writes the keys of entries whose heads are `deltas` above the base, in ascending order and
    /// in words: the next key overwrites the excess of the one before.
    #[inline]
    fn write(&self, out: &mut [u8], deltas: impl Iterator<Item = u64>) {
        let (prefix, ending) = (padded(self.prefix), padded(self.ending));
        let prefix_len = self.prefix.len();
        let ended_at = self.key_len - self.ending.len();
        let mut at = 0;
        for delta in deltas {
            let head = self.base.wrapping_add(delta) << self.shift;
            let Some(rest) = out.get_mut(at..at + KEY_WORDS_BYTES) else {
                break;
            };
            rest[..ENDS_BYTES].copy_from_slice(&prefix);
            if let Some(slot) = rest.get_mut(prefix_len..prefix_len + 8) {
                slot.copy_from_slice(&head.swap_bytes().to_le_bytes());
            }
            if !self.ending.is_empty()
                && let Some(slot) = rest.get_mut(ended_at..ended_at + ENDS_BYTES)
            {
                slot.copy_from_slice(&ending);
            }
            at += self.key_len;
        }
    }
}

/// Returns the first bytes of a prefix or ending, padded with zeros.
fn padded(prefix: &[u8]) -> [u8; ENDS_BYTES] {
    let mut padded = [0; ENDS_BYTES];
    for (slot, byte) in padded.iter_mut().zip(prefix) {
        *slot = *byte;
    }
    padded
}
