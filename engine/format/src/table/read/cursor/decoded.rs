//! Decoded part of a cursor's page: the current key, or the keys and values of a range.
//!
//! A scan reads all values, so they are decoded in one loop with the first. Raw values of a page
//! that can be borrowed are copied in that loop: accessing each in place cost a scan more than
//! copying it, even at 2000 bytes. The processor prefetches for a copy in either direction.
//!
//! A compaction also goes through whole pages, but has a cursor for each of many runs. It decodes
//! fewer keys at once, and only groups of values: a page of values for each run would be a tenth of
//! the smallest memory budget.

use std::ops::Range;

use cairndb_kernel::codec::Dictionary;
use cairndb_kernel::prefetch_span;

use crate::table::page::Page;
use crate::table::page::bits::head_bytes;
use crate::table::page::key_window::KeyWindow;
use crate::table::page::layout::{Flaw, ValueMode, flag};
use crate::table::page::value_window::ValueWindow;
use crate::table::page::values::Stored;

/// Initial capacity of the key buffer.
const KEY_BYTES_EXPECTED: usize = 32;

/// Number of entries decoded together at the first step after a seek.
const KEYS_FIRST: usize = 8;
/// Growth factor from one decoded range to the next.
const KEYS_GROWTH: usize = 2;

/// Maximum key bytes of a page that are decoded at once: those of two thousand keys of 16 bytes.
const KEYS_BYTES_MAX: usize = 32 << 10;

/// Like [`KEYS_BYTES_MAX`], but in a compaction, where each of many runs must take little memory:
/// the bytes of 150 keys.
const COMPACTION_KEYS_BYTES_MAX: usize = 5000;

/// Number of raw bytes above which values are decoded one by one.
const DECODE_ALL_BYTES_MAX: usize = 32 << 10;

/// Number of stored bytes of a range that are prefetched; once they are read, the processor
/// prefetches the rest itself.
const PREFETCHED_BYTES_MAX: usize = 1 << 10;

/// Way in which the cursor reached its position in the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// By a seek.
    #[default]
    Sought,
    /// By a seek and one step.
    Stepped,
    /// By entering the page from its neighbour.
    Streaming,
}

/// Decoded keys and values of the page that a cursor is in, and the buffers for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoded {
    /// The current key, unless it is among `keys`, and up to eight bytes of room after it.
    key: Vec<u8>,
    key_len: usize,
    prefix_len: usize,
    /// Decoded keys of the page: all, or a range.
    keys: KeyWindow,
    values: ValueWindow,
    way: Way,
    for_compaction: bool,
}

impl Decoded {
    /// Decodes as a compaction needs from now on, with less memory.
    pub(super) fn spare_memory(&mut self) {
        self.for_compaction = true;
    }

    /// Returns the number of heap bytes of the buffers.
    pub(super) fn memory_bytes(&self) -> usize {
        self.key.capacity() + self.values.memory_bytes() + self.keys.memory_bytes()
    }

    /// Forgets the page. Keeps the buffers.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.keys.forget();
        self.values.forget();
    }

    /// Begins a page that a seek leads to, at the entry at `index`.
    pub(super) fn begin_sought(&mut self, page: &Page<'_, '_>, index: usize) {
        self.begin(page, Way::Sought);
        self.decode_key(page, index);
    }

    /// Begins a page that a scan enters from its neighbour, at the entry at `index`.
    pub(super) fn begin_streaming(&mut self, page: &Page<'_, '_>, index: usize) {
        self.begin(page, Way::Streaming);
        self.decode_keys(page, index, index == 0);
    }

    #[inline]
    fn begin(&mut self, page: &Page<'_, '_>, way: Way) {
        debug_assert!(self.keys.entries().is_empty(), "the last page is forgotten");
        let prefix = page.prefix();
        self.key.clear();
        // Reserved once, with room for the prefixes of other pages: a seek's cursor often sees one
        // page only.
        self.key.reserve((prefix.len() + 8).max(KEY_BYTES_EXPECTED));
        self.key.extend_from_slice(prefix);
        self.key.extend_from_slice(&[0; 8]);
        self.prefix_len = prefix.len();
        self.key_len = prefix.len() + usize::from(page.layout.head_bytes);
        self.way = way;
    }

    /// Returns whether the page was entered from its neighbour.
    #[inline]
    pub(super) fn streams(&self) -> bool {
        self.way == Way::Streaming
    }

    /// Returns the entries whose keys are decoded.
    #[inline]
    pub(super) fn keys(&self) -> Range<usize> {
        self.keys.entries()
    }

    /// Returns the entries whose values are decoded.
    #[inline]
    pub(super) fn values(&self) -> Range<usize> {
        self.values.entries()
    }

    /// Returns whether the key of an entry is among those decoded together.
    #[inline]
    pub(super) fn holds_key(&self, index: usize) -> bool {
        self.keys.holds(index)
    }

    /// Returns whether the value of an entry is decoded.
    #[inline]
    pub(super) fn holds_value(&self, index: usize) -> bool {
        self.values.holds(index)
    }

    /// Returns the key of the current entry, which is at `index`, or of another whose key is
    /// decoded.
    #[inline]
    pub(super) fn key(&self, index: usize) -> &[u8] {
        if self.keys.holds(index) {
            return self.keys.key(index);
        }
        self.key.get(..self.key_len).unwrap_or_default()
    }

    /// Returns the value of an entry, which must be decoded.
    #[inline]
    pub(super) fn value(&self, index: usize) -> &[u8] {
        self.values.get(index)
    }

    /// Exchanges the buffers of keys and values decoded together for others.
    #[inline]
    pub(super) fn exchange(&mut self, keys: &mut KeyWindow, values: &mut ValueWindow) {
        std::mem::swap(&mut self.keys, keys);
        std::mem::swap(&mut self.values, values);
    }

    /// Decodes the key reached by a step. The first step after a seek may be the last.
    pub(super) fn step(&mut self, page: &Page<'_, '_>, index: usize, forward: bool) {
        if self.way == Way::Sought {
            self.way = Way::Stepped;
            self.decode_key(page, index);
        } else {
            self.decode_keys(page, index, forward);
        }
    }

    /// Decodes the current key and those that come next in one direction: the whole page in a scan,
    /// a few keys after a seek; fewer if those are too many bytes.
    fn decode_keys(&mut self, page: &Page<'_, '_>, index: usize, forward: bool) {
        let (before, count) = (self.keys.entries().len(), page.count());
        let mut wanted = if self.way == Way::Streaming {
            count
        } else {
            (before * KEYS_GROWTH).max(KEYS_FIRST)
        };
        let most = if self.for_compaction {
            COMPACTION_KEYS_BYTES_MAX
        } else {
            KEYS_BYTES_MAX
        };
        while wanted > 1 {
            let entries = if forward {
                index..count.min(index.saturating_add(wanted))
            } else {
                (index + 1).saturating_sub(wanted)..index + 1
            };
            if self.way != Way::Streaming {
                // Also the values of the next range.
                let more = entries.len();
                let both = if forward {
                    entries.start..count.min(entries.end + more)
                } else {
                    entries.start.saturating_sub(more)..entries.end
                };
                prefetch_values(page, &both, forward);
            }
            self.keys.decode(page, &entries, most);
            if self.keys.holds(index) {
                return;
            }
            wanted = entries.len() / 2;
        }
        self.decode_key(page, index);
    }

    /// Assembles the current key after the prefix.
    fn decode_key(&mut self, page: &Page<'_, '_>, index: usize) {
        let key = &mut self.key;
        let head = head_bytes(page.head(index), page.layout.head_bytes.into());
        key.truncate(self.prefix_len);
        key.extend_from_slice(&head);
        let mut len = self.prefix_len + page.head_len(index);
        if page.layout.has(flag::TAILS | flag::ENDING) {
            key.truncate(len);
            key.extend_from_slice(page.tail(index));
            len = key.len();
        }
        self.key_len = len;
    }

    /// Returns the entries whose values are to be decoded when that at `index` is read, or `None`
    /// if it is to be read in place.
    pub(super) fn values_wanted(&self, page: &Page<'_, '_>, index: usize) -> Option<Range<usize>> {
        let in_place = matches!(page.values().stored(index), Stored::Raw(_));
        if in_place && !page.layout.has_plain_puts() {
            return None;
        }
        let entries = self.decoded_with(page, index);
        // Nothing is gained by copying a value that will not be borrowed.
        (!in_place || entries.len() > 1).then_some(entries)
    }

    /// Returns the entries whose values are decoded together with that at `index`. In a scan, those
    /// whose keys are decoded, or the whole page.
    fn decoded_with(&self, page: &Page<'_, '_>, index: usize) -> Range<usize> {
        let groups = page.layout.mode == ValueMode::Groups;
        let several = if self.way == Way::Streaming && (groups || !self.for_compaction) {
            0..page.count()
        } else if self.keys.holds(index) && !groups && !self.for_compaction {
            self.keys.entries()
        } else {
            return page.values().grouped_with(index);
        };
        if page.values().raw_total(&several) <= DECODE_ALL_BYTES_MAX {
            several
        } else {
            page.values().grouped_with(index)
        }
    }

    /// Decodes the values of some entries. `dictionary` is the table's.
    pub(super) fn decode_values(
        &mut self,
        page: &Page<'_, '_>,
        entries: &Range<usize>,
        dictionary: &Dictionary,
    ) -> Result<(), Flaw> {
        self.values.decode(page.values(), entries, dictionary)
    }
}

/// Prefetches lines of the stored values of some entries of a page, from the end where a scan
/// begins.
fn prefetch_values(page: &Page<'_, '_>, entries: &Range<usize>, forward: bool) {
    if page.layout.mode != ValueMode::Groups
        && let Some(values) = page.bytes.get(page.values().stored_span_of(entries))
    {
        let len = values.len().min(PREFETCHED_BYTES_MAX);
        let from = if forward { 0 } else { values.len() - len };
        prefetch_span(values[from..].as_ptr(), len);
    }
}
