//! The straight way of a get: a filter line, one search of the fence in memory, one of a fence block, one of a
//! page's heads, one value.
//!
//! Nearly every get meets the same: a mapped table in bytewise order, pages that have been checked, keys that
//! are prefix and head and perhaps the page's ending, entries of one kind. All of
//! that is asked with a few comparisons, and what is left are loads and searches: 340 instructions of a get's, where
//! placing every column of the page made it 800. Whatever is not so is left to [`Lookup::get`], which knows everything;
//! nothing here judges whether bytes are right.
//!
//! Invariant: where the straight way gives an answer, it is the one that the general way gives. The tests' model asks
//! for every key more than once: a page is not checked the first time, and straight from then on.
//!
//! [`Lookup::get`]: super::lookup::Lookup::get

use cairndb_base::head::behind_prefix;
use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Kind, Result, SeqNo};
use cairndb_kernel::{append_parts, codec, prefetch_span, search};

use super::EntryMark;
use super::address::share;
use super::bits::{head_bytes, head_of, load, load_span, load16, low8, low32};
use super::fence::{self, BLOCK_HEADS};
use super::filter::{LINE_BYTES, fold, line_may_hold};
use super::hits;
use super::layout::{HEADER_BYTES, ValueMode, flag, page_kind, u64_at};
use super::lookup::Lookup;
use super::open::{Found, Table};
use super::spot::{PageBytes, Spot, Straight};

/// Lines of a page that hold its header and, on most pages, its heads.
const LINES_OF_COLUMNS: usize = 4;
/// Lines requested around the likely place of a value. Keys that are drawn at random stand a few entries beside where
/// their heads say, in the middle of a page of 64 four; with 4 lines a get from more than the caches hold took 228 ns,
/// with 8 192 and a seek 308 instead of 329, with 12 and 16 no less.
const LINES_OF_VALUE: usize = 8;
/// From this length on, all lines of a value are requested when its place is known.
const LONG_VALUE_BYTES: usize = 256;

impl Table {
    /// Requests the lines that a get of this key will wait for, if the filter lets it pass; whether it does, as far as that
    /// is known.
    #[inline]
    pub(super) fn request_straight(&self, mapping: &[u8], key: &[u8], hash: u64) -> bool {
        let passes = self.straight_filter(mapping, hash) == Some(true);
        if passes {
            let _ = self.spot(mapping, key);
        }
        passes
    }

    /// The newest version of `key` that `snapshot` sees, its value in place of what `value` holds.
    #[inline]
    pub(super) fn straight_get<'t>(
        &'t self,
        mapping: &'t [u8],
        key: &[u8],
        hash: Option<u64>,
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<Straight<'t>> {
        let Some(hash) = hash else {
            return self.straight_at(self.spot(mapping, key), key, snapshot, value);
        };
        // Both waits at once where the key is likely to be there; else the page's lines would be asked for in vain.
        let first = hits::likely().then(|| {
            self.request_filter(hash);
            self.spot(mapping, key)
        });
        match self.straight_filter(mapping, hash) {
            Some(true) => hits::note_pass(),
            Some(false) => {
                hits::note_refusal();
                return Ok(Straight::Answer(None));
            }
            None => return Ok(Straight::Unknown),
        }
        let spot = first.unwrap_or_else(|| self.spot(mapping, key));
        self.straight_at(spot, key, snapshot, value)
    }

    /// Whether the filter lets a key of this hash pass, if its page has been checked. `mapping` is the table's.
    #[inline]
    pub(super) fn straight_filter(&self, mapping: &[u8], hash: u64) -> Option<bool> {
        let Some((page, at)) = self.filter_place(hash) else {
            return Some(true);
        };
        if !self.pages.is_checked(page) {
            return None;
        }
        let at = page as usize * PAGE_BYTES + at;
        let line = mapping.get(at..at + LINE_BYTES)?;
        Some(line_may_hold(line, fold(hash), self.meta.filter_probes))
    }

    /// The same, at the one page that can hold the key, which the filter has let pass.
    #[inline]
    fn straight_at<'t>(
        &'t self,
        spot: Option<Spot<'t>>,
        key: &[u8],
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<Straight<'t>> {
        let Some(spot) = spot else {
            return Ok(Straight::Unknown);
        };
        let Some(columns) = Columns::of(spot.page) else {
            return Ok(Straight::Page(spot));
        };
        let (index, is_there) = columns.place_of(spot.page, key);
        if !is_there || !spot.is_newest(index) {
            return Ok(spot.without(index, columns.count));
        }
        // The newest version of the key; where it is too new, another may stand behind it.
        let mark = columns.mark(spot.page, index);
        if mark.seq > snapshot {
            return Ok(Straight::Page(spot));
        }
        self.straight_value(&spot, &columns, index, value)?;
        let found = Found::new(mark.seq, mark.kind, false);
        Ok(Straight::Answer(Some(found)))
    }

    /// Requests the columns of a page and the lines where a value is likely to stand, `share` of 4096 into the values, at
    /// once: the page is rarely in a cache, and one wait is less than two.
    #[inline]
    pub(super) fn request_lines(&self, page: &PageBytes, share: u32) {
        let values = self.pages.values_hint();
        let value = values + (PAGE_BYTES - values) * share as usize / PAGE_BYTES;
        prefetch_span(page.as_ptr(), LINES_OF_COLUMNS * LINE_BYTES);
        // Around it: half of the guesses are too high.
        let before = (LINES_OF_VALUE / 2 - 1) * LINE_BYTES;
        let value = page.as_ptr().wrapping_add(value).wrapping_sub(before);
        prefetch_span(value, LINES_OF_VALUE * LINE_BYTES);
    }

    /// The one page that can hold `key`, its lines requested, if it is told from all others by its first head, or a likely
    /// one by its tie head.
    #[inline]
    pub(super) fn spot<'t>(&self, mapping: &'t [u8], key: &[u8]) -> Option<Spot<'t>> {
        if !self.is_plain() {
            return None;
        }
        // Of a key without the table's prefix it is some number, and leads to any page, before which or behind which
        // the key belongs.
        let head = head_of(key, self.meta.prefix as usize, 8);
        let block = self.blocks_up_to(head).checked_sub(1)?;
        let (fence_page, start) = self.place_of_block(block);
        if !self.pages.is_checked(fence_page) {
            return None;
        }
        let first = block * BLOCK_HEADS;
        let count = (self.meta.units as usize)
            .saturating_sub(first)
            .min(BLOCK_HEADS);
        let fence = mapping.get(fence_page as usize * PAGE_BYTES..)?;
        let heads = fence::block_of(fence, start, count);
        let below = search::upper_bound(heads, 8, heads.len() / 8, head);
        let (heads, _) = heads.as_chunks::<8>();
        let head_at = |index: usize| heads.get(index).map(|head| u64::from_le_bytes(*head));
        let low = head_at(below.wrapping_sub(1))?;
        let number = low32(first + below - 1);
        if low == head {
            // The key may stand in the pages before, too.
            let alone = head_at(below.wrapping_sub(2)).is_some_and(|before| before != head);
            return if alone {
                self.spot_at(mapping, number, 0, false)
            } else {
                self.tied_spot(mapping, key, head, number + 1)
            };
        }
        let next = head_at(below).unwrap_or_default();
        self.spot_at(mapping, number, share(low, head, next), true)
    }

    /// The likeliest page of those before `end` that share the head of `key`, if their tie heads tell.
    #[inline(never)]
    fn tied_spot<'t>(
        &self,
        mapping: &'t [u8],
        key: &[u8],
        head: u64,
        end: u32,
    ) -> Option<Spot<'t>> {
        if self.meta.tie_levels == 0 {
            return None;
        }
        let lookup = Lookup::new(self);
        let start = lookup.units_below(head).ok()?;
        let place = lookup.tied_place(start..end, key).ok()?;
        if place.same.end == start {
            return None;
        }
        self.spot_at(mapping, place.same.end - 1, place.share, false)
    }

    /// A page where a key is likely to stand, its lines requested, if it has been checked.
    #[inline]
    fn spot_at<'t>(
        &self,
        mapping: &'t [u8],
        number: u32,
        share: u32,
        certain: bool,
    ) -> Option<Spot<'t>> {
        let page = mapping.get(number as usize * PAGE_BYTES..)?.first_chunk()?;
        self.request_lines(page, share);
        let spot = Spot {
            page,
            number,
            certain,
        };
        self.pages.is_checked(number).then_some(spot)
    }

    /// Replaces what `value` holds by the value of an entry.
    #[inline]
    pub(super) fn straight_value(
        &self,
        spot: &Spot<'_>,
        columns: &Columns,
        index: usize,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        let page = spot.page;
        let (start, end, raw_len) = columns.value_of(page, index);
        let stored = page.get(start..end).unwrap_or_default();
        if stored.len() > LONG_VALUE_BYTES {
            // Of a long value a part was asked for at most, and decoding would wait for one line after the other.
            let within = stored.as_ptr().addr() % LINE_BYTES;
            prefetch_span(stored.as_ptr().wrapping_sub(within), within + stored.len());
        }
        value.clear();
        if raw_len == stored.len() {
            value.extend_from_slice(stored);
            return Ok(());
        }
        let decoded = if columns.mode == ValueMode::Each as u8 {
            codec::decode(stored, raw_len, value)
        } else {
            let dictionary = &self.meta.dictionary;
            codec::decode_with(dictionary, page, start..end, raw_len, value)
        };
        let damage = || self.pages.damage(spot.number, "value does not decode");
        decoded.ok_or_else(damage)
    }
}

/// What a get asks of a page's header, of a page whose keys have no tails and no lengths of their own, whose
/// entries are of one kind other than an operand, and whose values stand alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    count: usize,
    prefix_len: usize,
    /// Bytes of the ending, 0 where there is none.
    ending_len: usize,
    head_bytes: usize,
    head_width: usize,
    base_head: u64,
    /// What numbers of a column are added to, which there is unless its width is 0.
    base_seq: SeqNo,
    seq_width: usize,
    flags: u8,
    mode: u8,
    kind: Kind,
    raw_len: usize,
    stored_len: usize,
}

/// Columns that a page of this sort has not.
const UNUSUAL: u8 = flag::TAILS | flag::HEAD_LENS | flag::KINDS;

impl Columns {
    /// Reads the header of a page that has been checked; `None` of one that is not of this sort.
    #[inline]
    fn of(page: &PageBytes) -> Option<Columns> {
        let header = page.first_chunk::<HEADER_BYTES>()?;
        let half = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (flags, mode) = (header[5], header[14]);
        let kind = match header[13] {
            kind if kind == Kind::Put as u8 => Kind::Put,
            kind if kind == Kind::Delete as u8 => Kind::Delete,
            kind if kind == Kind::Pointer as u8 => Kind::Pointer,
            _ => return None,
        };
        let (head_bytes, head_width, seq_width) = (header[10], header[11], header[12]);
        // Widths and head bytes were checked with the page, but a page may come back otherwise from a disk that fails.
        if header[4] != page_kind::DATA
            || flags & UNUSUAL != 0
            || !matches!(seq_width, 0 | 1 | 2 | 4 | 8)
            || mode == ValueMode::Groups as u8
            || !matches!(head_width, 1 | 2 | 4 | 8)
            || head_bytes > 8
        {
            return None;
        }
        let ended = flags & flag::ENDING != 0;
        Some(Columns {
            count: half(6),
            prefix_len: half(8),
            ending_len: if ended { half(36) } else { 0 },
            head_bytes: head_bytes.into(),
            head_width: head_width.into(),
            base_head: u64_at(header, 16),
            base_seq: u64_at(header, 24),
            seq_width: seq_width.into(),
            flags,
            mode,
            kind,
            raw_len: half(32),
            stored_len: half(34),
        })
    }

    #[inline]
    fn heads_at(&self) -> usize {
        HEADER_BYTES + self.prefix_len + self.ending_len
    }

    /// The first entry not before `key`, and whether it has this very key.
    #[inline]
    fn place_of(&self, page: &PageBytes, key: &[u8]) -> (usize, bool) {
        let prefix_end = HEADER_BYTES + self.prefix_len;
        let prefix = page.get(HEADER_BYTES..prefix_end).unwrap_or_default();
        let Some(suffix) = behind_prefix(key, prefix) else {
            return (if key < prefix { 0 } else { self.count }, false);
        };
        let head = head_of(key, self.prefix_len, self.head_bytes);
        let Some(sought) = head.checked_sub(self.base_head) else {
            return (0, false);
        };
        let column = self.heads_at()..self.heads_at() + self.count * self.head_width;
        let Some(heads) = page.get(column) else {
            return (self.count, false);
        };
        let (index, same_head) = search::locate(heads, self.head_width, self.count, sought);
        let Some(tail) = suffix.get(self.head_bytes..).filter(|_| same_head) else {
            // A key that ends within its head comes before those that go on.
            return (index, false);
        };
        if tail.is_empty() && self.ending_len == 0 {
            return (index, true);
        }
        // All keys of the page go on alike, and each has a head of its own, which its versions share.
        let ending = page.get(prefix_end..self.heads_at()).unwrap_or_default();
        let order = ending.cmp(tail);
        if order.is_lt() {
            let beyond = search::upper_bound(heads, self.head_width, self.count, sought);
            return (beyond, false);
        }
        (index, order.is_eq())
    }

    /// The columns of the page that `key` leads to, and where in it the first entry not before (`key`, `snapshot`) is, whose
    /// key replaces what `found` holds; `None` where only the general way knows.
    #[inline]
    pub(super) fn sought(
        spot: &Spot<'_>,
        key: &[u8],
        snapshot: SeqNo,
        found: &mut Vec<u8>,
    ) -> Option<(Columns, usize)> {
        let columns = Columns::of(spot.page)?;
        let (index, is_there) = columns.place_of(spot.page, key);
        // A key behind the head that leads to a page is behind the page's first key, unless it has not the prefix that
        // heads are taken behind, or the bytes common to a tie: then the page is any. And where a key's newest version is too new, another may stand
        // behind it.
        if index == 0 || index >= columns.count || columns.mark(spot.page, index).seq > snapshot {
            return None;
        }
        found.clear();
        if is_there {
            found.extend_from_slice(key);
        } else {
            columns.key_into(spot.page, index, found);
        }
        Some((columns, index))
    }

    /// What stands beside an entry's key and value.
    #[inline]
    pub(super) fn mark(&self, page: &PageBytes, index: usize) -> EntryMark {
        let mut seq = self.base_seq;
        if self.seq_width != 0 {
            let more = load(page, low32(self.seqs_at()), low8(self.seq_width), index);
            seq = seq.wrapping_add(more);
        }
        let kind = self.kind;
        EntryMark { seq, kind }
    }

    /// Bytes of a column of halves, if there is this one.
    #[inline]
    fn column(&self, bit: u8) -> usize {
        if self.flags & bit == 0 {
            0
        } else {
            2 * self.count
        }
    }

    #[inline]
    fn raws_at(&self) -> usize {
        self.heads_at() + self.count * self.head_width
    }

    #[inline]
    fn seqs_at(&self) -> usize {
        self.raws_at() + self.column(flag::RAWS)
    }

    /// Appends the key of an entry.
    #[inline]
    fn key_into(&self, page: &PageBytes, index: usize, key: &mut Vec<u8>) {
        let prefix_end = HEADER_BYTES + self.prefix_len;
        let ending = page.get(prefix_end..self.heads_at()).unwrap_or_default();
        let delta = load(page, low32(self.heads_at()), low8(self.head_width), index);
        let head = head_bytes(self.base_head.wrapping_add(delta), self.head_bytes);
        let prefix = page.get(HEADER_BYTES..prefix_end).unwrap_or_default();
        append_parts(key, [prefix, &head[..self.head_bytes], ending]);
    }

    /// Where the stored value of an entry begins and ends, and how long the value is.
    #[inline]
    fn value_of(&self, page: &PageBytes, index: usize) -> (usize, usize, usize) {
        let ends_at = self.seqs_at() + self.count * self.seq_width;
        let values_at = ends_at + self.column(flag::ENDS);
        let (start, end) = if self.flags & flag::ENDS == 0 {
            (index * self.stored_len, (index + 1) * self.stored_len)
        } else {
            load_span(page, low32(ends_at), index)
        };
        let raw_len = if self.mode == ValueMode::Raw as u8 {
            end.saturating_sub(start)
        } else if self.flags & flag::RAWS == 0 {
            self.raw_len
        } else {
            load16(page, low32(self.raws_at()), index)
        };
        (values_at + start, values_at + end, raw_len)
    }
}
