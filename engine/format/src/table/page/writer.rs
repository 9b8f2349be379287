//! Page writer: collects the entries of one data page and writes it out, filled exactly.
//!
//! The writer knows the encoded size of its page after every entry without encoding it: keys come
//! in order, so the first and the last key alone give the common prefix and the range of the heads.
//! [`Shape`] holds these running figures. The builder computes the shape with one more entry and
//! ends the page if that would not fit.

use cairndb_base::head::behind_prefix;
use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Kind, SeqNo};
use cairndb_kernel::append_parts;

use crate::table::page::bits::{common_prefix, common_suffix, head_of, low8, low16, low32};
use crate::table::page::layout::{HEADER_BYTES, ValueMode, flag, page_kind};
use crate::table::page::shape::{Shape, Step};

/// One entry and the lengths of its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewEntry<'a> {
    pub(crate) key: &'a [u8],
    /// The result of [`PageWriter::head_behind`] for the key, if it was called.
    pub(crate) head: Option<u64>,
    pub(crate) seq: SeqNo,
    pub(crate) kind: Kind,
    pub(crate) raw_len: usize,
    pub(crate) stored_len: usize,
}

/// Data kept about an entry besides its key and its stored value. This is one struct because a
/// vector per field would cost five capacity checks per entry.
#[derive(Clone, Copy, Debug)]
struct Pushed {
    seq: SeqNo,
    key_end: u32,
    raw_len: u32,
    value_end: u32,
    kind: u8,
}

/// The entries of the page under construction.
#[derive(Debug, Default)]
pub(crate) struct PageWriter {
    keys: Vec<u8>,
    pushed: Vec<Pushed>,
    /// Consecutive stored values; that of an entry not yet pushed may follow them.
    pub(crate) values: Vec<u8>,
    pub(crate) shape: Shape,
    /// Increase of `shape` for one more entry of the same sort.
    step: Step,
    /// Whether keys may be cut into prefix and heads.
    bytewise: bool,
    /// Whether values may have been encoded against the table's dictionary.
    pub(crate) with_dictionary: bool,
}

impl PageWriter {
    pub(crate) fn new(bytewise: bool) -> PageWriter {
        PageWriter {
            bytewise,
            ..PageWriter::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// Returns the number of heap bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.capacity() + self.values.capacity() + self.pushed.capacity() * size_of::<Pushed>()
    }

    pub(crate) fn key(&self, index: usize) -> &[u8] {
        let start = match index {
            0 => 0,
            _ => self.pushed[index - 1].key_end as usize,
        };
        &self.keys[start..self.pushed[index].key_end as usize]
    }

    /// Returns the last entry's key and sequence number.
    #[inline]
    pub(crate) fn last(&self) -> Option<(&[u8], SeqNo)> {
        let seq = self.pushed.last()?.seq;
        Some((self.key(self.shape.count - 1), seq))
    }

    /// Returns the number of bytes of the values pushed.
    #[inline]
    pub(crate) fn values_bytes(&self) -> usize {
        self.shape.values
    }

    /// Returns the shape that this page would have with `entry` added.
    #[inline]
    pub(crate) fn shape_with(&self, entry: &NewEntry<'_>) -> Shape {
        let old = &self.shape;
        let len = entry.key.len();
        let encoded = entry.stored_len != entry.raw_len;
        if old.count == 0 {
            return self.shape_of_one(entry);
        }
        let mut shape = Shape {
            count: old.count + 1,
            key_len_min: old.key_len_min.min(len),
            key_len_max: old.key_len_max.max(len),
            key_bytes: old.key_bytes + len,
            seq_min: old.seq_min.min(entry.seq),
            seq_max: old.seq_max.max(entry.seq),
            kinds_differ: old.kinds_differ || old.kind != entry.kind as u8,
            raws_differ: old.raws_differ || old.raw_len != entry.raw_len,
            stored_differ: old.stored_differ || old.stored_len != entry.stored_len,
            encoded: old.encoded || encoded,
            values: old.values + entry.stored_len,
            ..*old
        };
        if self.bytewise {
            self.cut_keys(&mut shape, entry.key);
        } else {
            shape.tails += len;
        }
        shape
    }

    fn shape_of_one(&self, entry: &NewEntry<'_>) -> Shape {
        let len = entry.key.len();
        Shape {
            count: 1,
            prefix: if self.bytewise { len } else { 0 },
            tails: if self.bytewise { 0 } else { len },
            key_len_min: len,
            key_len_max: len,
            key_bytes: len,
            seq_min: entry.seq,
            seq_max: entry.seq,
            kind: entry.kind as u8,
            raw_len: entry.raw_len,
            stored_len: entry.stored_len,
            encoded: entry.stored_len != entry.raw_len,
            values: entry.stored_len,
            ..Shape::default()
        }
    }

    /// Updates prefix, ending, heads and tails for a key after the last.
    #[inline]
    fn cut_keys(&self, shape: &mut Shape, key: &[u8]) {
        let old = &self.shape;
        let first = self.key(0);
        if behind_prefix(key, &first[..old.prefix]).is_none() {
            shape.prefix = common_prefix(&first[..old.prefix], key);
        }
        shape.ending = self.ending_with(shape, key);
        shape.head_bytes = (shape.key_len_max - shape.prefix - shape.ending).min(8);
        let cut = shape.prefix + shape.head_bytes;
        shape.last_head = head_of(key, shape.prefix, shape.head_bytes);
        let cut_alike = shape.prefix == old.prefix
            && shape.head_bytes == old.head_bytes
            && shape.ending == old.ending;
        if cut_alike {
            shape.tails += key.len().saturating_sub(cut + shape.ending);
            return;
        }
        shape.first_head = head_of(first, shape.prefix, shape.head_bytes);
        shape.tails = if shape.ending > 0 {
            0
        } else if shape.key_len_min >= cut {
            shape.key_bytes - shape.count * cut
        } else {
            let mut start = 0;
            let mut tails = key.len().saturating_sub(cut);
            for Pushed { key_end, .. } in &self.pushed {
                tails += ((*key_end - start) as usize).saturating_sub(cut);
                start = *key_end;
            }
            tails
        };
    }

    /// Returns the length of the ending of the page with `key` added, for the prefix of `shape`:
    /// the bytes that all keys end with, if they have one length and a head holds everything
    /// between. Ids followed by constant bytes then have heads of one or two bytes instead of eight
    /// and a tail, which would take up to a third of the page.
    #[inline]
    fn ending_with(&self, shape: &Shape, key: &[u8]) -> usize {
        let (old, first) = (&self.shape, self.key(0));
        let len = key.len();
        if shape.key_len_min != shape.key_len_max || shape.prefix == len {
            return 0;
        }
        // A single key, or versions of one, has no ending of its own yet.
        let before = if old.prefix == len { len } else { old.ending };
        let ending = common_suffix(&first[len - before..], key);
        if len - shape.prefix - ending > 8 {
            return 0;
        }
        ending
    }

    /// Returns the head of a key that has the others' length and prefix and sorts after all of them
    /// by its head alone.
    #[inline]
    pub(crate) fn head_behind(&self, key: &[u8]) -> Option<u64> {
        let shape = &self.shape;
        let alike = self.bytewise
            && shape.count > 0
            && key.len() == shape.key_len_min
            && key.len() == shape.key_len_max;
        if !alike || behind_prefix(key, &self.keys[..shape.prefix]).is_none() {
            return None;
        }
        if shape.ending > 0 {
            let at = key.len() - shape.ending;
            if key[at..] != self.keys[at..key.len()] {
                return None;
            }
        }
        let head = head_of(key, shape.prefix, shape.head_bytes);
        (head > shape.last_head).then_some(head)
    }

    /// Adds an entry that changes nothing about the page except counts and the last head: its head
    /// comes from [`PageWriter::head_behind`], and its other properties equal those of the page or
    /// already differ in it. Returns `false` and changes nothing for any other entry, and if it
    /// does not fit. Most entries take this path; computing a new shape for each costs about 100
    /// more instructions.
    #[inline]
    pub(crate) fn push_alike(&mut self, entry: &NewEntry<'_>) -> bool {
        let (shape, step) = (&mut self.shape, &mut self.step);
        let Some(head) = entry.head else {
            return false;
        };
        let used = step.used + step.entry + entry.stored_len;
        let alike = entry.kind as u8 == shape.kind
            && (shape.seq_min..=shape.seq_max).contains(&entry.seq)
            && (entry.raw_len == shape.raw_len || shape.raws_differ)
            && (entry.stored_len == shape.stored_len || shape.stored_differ)
            && (entry.stored_len == entry.raw_len || shape.encoded);
        if !alike || head - shape.first_head > step.head_range || used > PAGE_BYTES {
            return false;
        }
        debug_assert!(entry.key.len() == shape.key_len_min && head > shape.last_head);
        shape.count += 1;
        shape.key_bytes += entry.key.len();
        shape.tails += step.tail;
        shape.values += entry.stored_len;
        shape.last_head = head;
        step.used = used;
        debug_assert_eq!(used, shape.bytes());
        self.push_columns(entry);
        true
    }

    /// Adds an entry whose stored value already follows the others in `values`.
    #[inline]
    pub(crate) fn push(&mut self, entry: &NewEntry<'_>, shape: Shape) {
        self.shape = shape;
        self.step = shape.step();
        self.push_columns(entry);
    }

    #[expect(
        clippy::inline_always,
        reason = "called for each entry; an actual call would save all registers"
    )]
    #[inline(always)]
    fn push_columns(&mut self, entry: &NewEntry<'_>) {
        append_parts(&mut self.keys, [entry.key]);
        self.pushed.push(Pushed {
            seq: entry.seq,
            key_end: low32(self.keys.len()),
            raw_len: low32(entry.raw_len),
            value_end: low32(self.shape.values),
            kind: entry.kind as u8,
        });
        debug_assert_eq!(self.values.len(), self.shape.values);
    }

    /// Removes the entries pushed since the page had `shape`. Values are not touched.
    pub(crate) fn rewind(&mut self, shape: Shape) {
        let count = shape.count;
        let keys = match count {
            0 => 0,
            _ => self.pushed[count - 1].key_end as usize,
        };
        self.shape = shape;
        self.step = shape.step();
        self.keys.truncate(keys);
        self.pushed.truncate(count);
    }

    /// Removes all entries, but keeps a value that follows theirs.
    pub(crate) fn restart(&mut self) {
        self.values.drain(..self.shape.values);
        self.keys.clear();
        self.pushed.clear();
        self.shape = Shape::default();
        self.step = Step::default();
        if self.values.capacity() > VALUES_BYTES_KEPT {
            self.values.shrink_to(VALUES_BYTES_KEPT);
        }
    }

    /// Returns the mode of values stored alone; `encoded` states whether some are encoded.
    pub(crate) fn alone_mode(&self, encoded: bool) -> ValueMode {
        match (encoded, self.with_dictionary) {
            (false, _) => ValueMode::Raw,
            (true, false) => ValueMode::Each,
            (true, true) => ValueMode::Dictionary,
        }
    }

    /// Appends the page, with values stored alone, to `out`. The checksum stays zero.
    pub(crate) fn write(&self, continued: bool, out: &mut Vec<u8>) {
        let mode = self.alone_mode(self.shape.encoded);
        let values = &self.values[..self.shape.values];
        self.write_with(mode, &[], values, continued, out);
    }

    /// Appends the page, with values in `groups`, to `out`. The checksum stays zero. Each group has
    /// its end among the entries and in `stored`.
    pub(crate) fn write_groups(
        &self,
        groups: &[(u16, u16)],
        stored: &[u8],
        continued: bool,
        out: &mut Vec<u8>,
    ) {
        self.write_with(ValueMode::Groups, groups, stored, continued, out);
    }

    fn write_with(
        &self,
        mode: ValueMode,
        groups: &[(u16, u16)],
        values: &[u8],
        continued: bool,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let shape = &self.shape;
        let raws = shape.raws_differ && mode != ValueMode::Raw;
        let ends = shape.stored_differ && mode != ValueMode::Groups;
        out.extend_from_slice(&self.header(mode, groups.len(), values.len(), continued));
        let first = self.key(0);
        out.extend_from_slice(&first[..shape.prefix]);
        out.extend_from_slice(&first[first.len() - shape.ending..]);
        self.write_heads(out);
        if shape.has_short_heads() {
            let cut = shape.prefix + shape.head_bytes;
            out.extend(self.keys().map(|key| {
                let len = key.len().min(cut) - shape.prefix;
                low8(len)
            }));
        }
        if shape.tails > 0 {
            self.write_tail_ends(out);
        }
        if shape.kinds_differ {
            out.extend(self.pushed.iter().map(|pushed| pushed.kind));
        }
        if raws {
            let lens = self.pushed.iter().map(|pushed| u64::from(pushed.raw_len));
            write_column(out, 2, shape.count, lens);
        }
        self.write_seqs(out);
        for (entry_end, end) in groups {
            out.extend_from_slice(&entry_end.to_le_bytes());
            out.extend_from_slice(&end.to_le_bytes());
        }
        if ends {
            let ends = self.pushed.iter().map(|pushed| u64::from(pushed.value_end));
            write_column(out, 2, shape.count, ends);
        }
        if shape.tails > 0 {
            let cut = shape.prefix + shape.head_bytes;
            for key in self.keys() {
                out.extend_from_slice(key.get(cut..).unwrap_or_default());
            }
        }
        out.extend_from_slice(values);
        let used = out.len() - start;
        assert!(used <= PAGE_BYTES, "page shape was computed incorrectly");
        out.resize(start + PAGE_BYTES, 0);
    }

    fn header(
        &self,
        mode: ValueMode,
        groups: usize,
        values: usize,
        continued: bool,
    ) -> [u8; HEADER_BYTES] {
        let shape = &self.shape;
        let grouped = mode == ValueMode::Groups;
        let mut flags = 0;
        for (set, bit) in [
            (continued, flag::CONTINUED),
            (shape.tails > 0, flag::TAILS),
            (shape.has_short_heads(), flag::HEAD_LENS),
            (shape.kinds_differ, flag::KINDS),
            (shape.raws_differ && mode != ValueMode::Raw, flag::RAWS),
            (shape.stored_differ && !grouped, flag::ENDS),
            (shape.ending > 0, flag::ENDING),
        ] {
            if set {
                flags |= bit;
            }
        }
        let raw_len = if flags & flag::RAWS != 0 || mode == ValueMode::Raw {
            0
        } else {
            shape.raw_len
        };
        let stored_len = if shape.stored_differ || grouped {
            0
        } else {
            shape.stored_len
        };
        let mut header = [0u8; HEADER_BYTES];
        header[4] = page_kind::DATA;
        header[5] = flags;
        header[6..8].copy_from_slice(&low16(shape.count).to_le_bytes());
        header[8..10].copy_from_slice(&low16(shape.prefix).to_le_bytes());
        header[10] = low8(shape.head_bytes);
        header[11] = low8(shape.head_width());
        header[12] = low8(shape.seq_width());
        header[13] = if shape.kinds_differ { 0 } else { shape.kind };
        header[14] = mode as u8;
        header[15] = low8(groups);
        header[16..24].copy_from_slice(&shape.first_head.to_le_bytes());
        header[24..32].copy_from_slice(&shape.seq_min.to_le_bytes());
        header[32..34].copy_from_slice(&low16(raw_len).to_le_bytes());
        header[34..36].copy_from_slice(&low16(stored_len).to_le_bytes());
        // At least one of them is 0.
        let tails = shape.tails + shape.ending;
        header[36..38].copy_from_slice(&low16(tails).to_le_bytes());
        header[38..40].copy_from_slice(&low16(values).to_le_bytes());
        header
    }

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.pushed.iter().map(move |pushed| {
            let end = pushed.key_end as usize;
            let key = &self.keys[start..end];
            start = end;
            key
        })
    }

    fn write_heads(&self, out: &mut Vec<u8>) {
        let shape = &self.shape;
        let deltas = self
            .keys()
            .map(|key| head_of(key, shape.prefix, shape.head_bytes) - shape.first_head);
        write_column(out, shape.head_width(), shape.count, deltas);
    }

    fn write_seqs(&self, out: &mut Vec<u8>) {
        let base = self.shape.seq_min;
        let deltas = self.pushed.iter().map(|pushed| pushed.seq - base);
        write_column(out, self.shape.seq_width(), self.shape.count, deltas);
    }

    fn write_tail_ends(&self, out: &mut Vec<u8>) {
        let cut = self.shape.prefix + self.shape.head_bytes;
        let mut end = 0;
        for key in self.keys() {
            end += key.len().saturating_sub(cut);
            out.extend_from_slice(&low16(end).to_le_bytes());
        }
    }
}

/// A larger buffer of values is released after its page.
const VALUES_BYTES_KEPT: usize = 64 << 10;

/// Appends the low `width` bytes of each number.
fn write_column(out: &mut Vec<u8>, width: usize, count: usize, numbers: impl Iterator<Item = u64>) {
    if width == 0 {
        return;
    }
    let start = out.len();
    out.resize(start + count * width, 0);
    let column = &mut out[start..];
    match width {
        1 => fill::<1>(column, numbers),
        2 => fill::<2>(column, numbers),
        4 => fill::<4>(column, numbers),
        _ => fill::<8>(column, numbers),
    }
}

fn fill<const WIDTH: usize>(column: &mut [u8], numbers: impl Iterator<Item = u64>) {
    let (items, _) = column.as_chunks_mut::<WIDTH>();
    for (item, number) in items.iter_mut().zip(numbers) {
        item.copy_from_slice(&number.to_le_bytes()[..WIDTH]);
    }
}
