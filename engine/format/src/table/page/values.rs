//! The values of one page: where they are, and how they are decoded.

use std::ops::Range;

use cairndb_base::Error;
use cairndb_kernel::codec::{self, Dictionary, raw_len_max};

use crate::table::ValueIn;
use crate::table::page::Page;
use crate::table::page::bits::{load_span, load16, low32};
use crate::table::page::layout::{Flaw, GROUP_RAW_BYTES_MAX, Layout, ValueMode, flag};

/// A value as a page stores it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stored<'a> {
    /// Uncompressed, in place.
    Raw(&'a [u8]),
    /// Encoded alone.
    Encoded { bytes: &'a [u8], raw_len: usize },
    /// Encoded alone against the table's dictionary; as positions, because its decoder may read
    /// past it.
    Shared {
        start: usize,
        end: usize,
        raw_len: usize,
    },
    /// Part of a group.
    Grouped,
}

/// Returns item `index` of consecutive `values`. `ends` holds the start of the first and the end of
/// each.
#[inline]
pub(crate) fn value_at<'v>(values: &'v [u8], ends: &[u32], index: usize) -> &'v [u8] {
    let ends = ends.get(index..).and_then(|ends| ends.first_chunk());
    let Some([start, end]) = ends else {
        return &[];
    };
    values
        .get(*start as usize..*end as usize)
        .unwrap_or_default()
}

const BAD_VALUE: Flaw = Flaw::Damaged("value does not decode");

/// The values of a data page or extent: its bytes, and where its columns are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageValues<'a, 'l> {
    bytes: &'a [u8],
    layout: &'l Layout,
}

impl<'a, 'l> Page<'a, 'l> {
    /// Returns the page's values.
    #[inline]
    pub(crate) fn values(&self) -> PageValues<'a, 'l> {
        PageValues {
            bytes: self.bytes,
            layout: self.layout,
        }
    }
}

impl<'a> PageValues<'a, '_> {
    #[inline]
    fn raw_len_of(&self, index: usize) -> usize {
        if self.layout.has(flag::RAWS) {
            load16(self.bytes, self.layout.raws_at, index)
        } else {
            self.layout.raw_len as usize
        }
    }

    /// Returns the position of a value's stored bytes, unless it is part of a group.
    #[inline]
    fn stored_span(&self, index: usize) -> (usize, usize) {
        let at = self.layout.values_at as usize;
        if self.layout.has(flag::ENDS) {
            let (start, end) = load_span(self.bytes, self.layout.ends_at, index);
            (at + start, at + end)
        } else {
            let len = self.layout.stored_len as usize;
            (at + index * len, at + (index + 1) * len)
        }
    }

    /// Returns the value of an entry as stored.
    #[inline]
    pub(crate) fn stored(&self, index: usize) -> Stored<'a> {
        if self.layout.mode == ValueMode::Groups {
            return Stored::Grouped;
        }
        let (start, end) = self.stored_span(index);
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        if self.layout.mode == ValueMode::Raw {
            return Stored::Raw(bytes);
        }
        let raw_len = self.raw_len_of(index);
        if bytes.len() == raw_len {
            Stored::Raw(bytes)
        } else if self.layout.mode == ValueMode::Dictionary {
            Stored::Shared {
                start,
                end,
                raw_len,
            }
        } else {
            Stored::Encoded { bytes, raw_len }
        }
    }

    /// Returns whether the value of an entry is encoded against the table's dictionary.
    pub(crate) fn is_shared(&self, index: usize) -> bool {
        matches!(self.stored(index), Stored::Shared { .. })
    }

    /// Appends the value of an entry. `dictionary` is the table's.
    pub(crate) fn value_into(
        &self,
        index: usize,
        dictionary: &Dictionary,
        out: &mut Vec<u8>,
    ) -> Result<(), Flaw> {
        match self.stored(index) {
            Stored::Raw(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Stored::Encoded { bytes, raw_len } => {
                codec::decode(bytes, raw_len, out).ok_or(BAD_VALUE)
            }
            Stored::Shared {
                start,
                end,
                raw_len,
            } => codec::decode_with(dictionary, self.bytes, start..end, raw_len, out)
                .ok_or(BAD_VALUE),
            Stored::Grouped => self.grouped_into(index, out),
        }
    }

    /// Returns the total raw length of some values.
    pub(crate) fn raw_total(&self, entries: &Range<usize>) -> usize {
        if self.layout.mode == ValueMode::Raw {
            let stored = self.stored_span_of(entries);
            stored.end.saturating_sub(stored.start)
        } else if self.layout.has(flag::RAWS) {
            (entries.clone()).map(|index| self.raw_len_of(index)).sum()
        } else {
            self.layout.raw_len as usize * entries.len()
        }
    }

    /// Returns the position in the page of the stored bytes of some values, which must not be
    /// grouped.
    pub(crate) fn stored_span_of(&self, entries: &Range<usize>) -> Range<usize> {
        if entries.is_empty() {
            return 0..0;
        }
        let (start, _) = self.stored_span(entries.start);
        let (_, end) = self.stored_span(entries.end - 1);
        start..end
    }

    /// Appends the values of some entries, which must be whole groups if values are grouped. `ends`
    /// receives the start in `out` of the first value and the end of each. `dictionary` is the
    /// table's.
    pub(crate) fn several_into(
        &self,
        entries: &Range<usize>,
        dictionary: &Dictionary,
        out: &mut Vec<u8>,
        ends: &mut Vec<u32>,
    ) -> Result<(), Flaw> {
        ends.reserve(entries.len() + 1);
        ends.push(low32(out.len()));
        if self.layout.mode == ValueMode::Groups {
            return self.groups_into(entries, out, ends);
        }
        // Reserves no more than the stored bytes can decode to: the lengths have not been checked
        // yet.
        let room = raw_len_max(self.stored_span_of(entries).len());
        out.reserve(self.raw_total(entries).min(room));
        if self.layout.mode == ValueMode::Raw && !self.layout.has(flag::ENDS) {
            return self.raw_into(entries, out, ends);
        }
        if self.is_encoded_alike() {
            return self.encoded_into(entries, out, ends);
        }
        for index in entries.clone() {
            match self.stored(index) {
                Stored::Encoded { bytes, raw_len } => {
                    codec::decode(bytes, raw_len, out).ok_or(BAD_VALUE)?;
                }
                Stored::Shared {
                    start,
                    end,
                    raw_len,
                } => codec::decode_with(dictionary, self.bytes, start..end, raw_len, out)
                    .ok_or(BAD_VALUE)?,
                Stored::Raw(bytes) => out.extend_from_slice(bytes),
                Stored::Grouped => return Err(BAD_VALUE),
            }
            ends.push(low32(out.len()));
        }
        Ok(())
    }

    /// Returns whether each value is encoded alone, all with one stored length and one raw length.
    fn is_encoded_alike(&self) -> bool {
        let layout = self.layout;
        layout.mode == ValueMode::Each
            && !layout.has(flag::ENDS)
            && !layout.has(flag::RAWS)
            && layout.stored_len != layout.raw_len
    }

    /// Like [`PageValues::several_into`], but for values that [`PageValues::is_encoded_alike`]
    /// accepts: offsets and sorts need not be computed one by one.
    fn encoded_into(
        &self,
        entries: &Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<u32>,
    ) -> Result<(), Flaw> {
        let (begin, raw_len) = (out.len(), self.layout.raw_len as usize);
        let len = self.layout.stored_len as usize;
        let values = self.bytes.get(self.stored_span_of(entries));
        codec::decode_each(values.ok_or(BAD_VALUE)?, len, raw_len, out).ok_or(BAD_VALUE)?;
        ends.extend((1..=entries.len()).map(|count| low32(begin + count * raw_len)));
        Ok(())
    }

    /// Like [`PageValues::several_into`], but for consecutive raw values of one length.
    fn raw_into(
        &self,
        entries: &Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<u32>,
    ) -> Result<(), Flaw> {
        let (begin, len) = (out.len(), self.layout.stored_len as usize);
        let values = self.bytes.get(self.stored_span_of(entries));
        out.extend_from_slice(values.ok_or(BAD_VALUE)?);
        ends.extend((1..=entries.len()).map(|count| low32(begin + count * len)));
        Ok(())
    }

    /// Like [`PageValues::several_into`], but for whole groups.
    fn groups_into(
        &self,
        entries: &Range<usize>,
        out: &mut Vec<u8>,
        ends: &mut Vec<u32>,
    ) -> Result<(), Flaw> {
        let mut next = entries.start;
        while next < entries.end {
            let group = self.group_of(next).ok_or(BAD_VALUE)?;
            let mut at = out.len();
            let (first, last) = self.group_into(group, usize::MAX, out)?;
            if first != next || last > entries.end {
                return Err(BAD_VALUE);
            }
            for index in first..last {
                at += self.raw_len_of(index);
                ends.push(low32(at));
            }
            next = last;
        }
        Ok(())
    }

    /// Returns the group of an entry's value. `None` if a damaged page has none.
    fn group_of(&self, index: usize) -> Option<usize> {
        (0..usize::from(self.layout.groups))
            .find(|group| load16(self.bytes, self.layout.groups_at, 2 * group) > index)
    }

    /// Returns the entries in the same group; the entry alone if values are not grouped.
    pub(crate) fn grouped_with(&self, index: usize) -> Range<usize> {
        let alone = index..index + 1;
        if self.layout.mode != ValueMode::Groups {
            return alone;
        }
        let Some(group) = self.group_of(index) else {
            return alone;
        };
        let (bytes, at) = (self.bytes, self.layout.groups_at);
        let first = group.checked_sub(1);
        let first = first.map_or(0, |before| load16(bytes, at, 2 * before));
        first..load16(bytes, at, 2 * group)
    }

    fn grouped_into(&self, index: usize, out: &mut Vec<u8>) -> Result<(), Flaw> {
        let group = self.group_of(index).ok_or(BAD_VALUE)?;
        let before = out.len();
        // The rest of the group is not decoded: half of it, on average.
        let (first, _) = self.group_into(group, index + 1, out)?;
        let start: usize = (first..index).map(|index| self.raw_len_of(index)).sum();
        out.drain(before..before + start);
        Ok(())
    }

    /// Appends the raw bytes of a group's entries before `until` and returns the range of all its
    /// entries.
    fn group_into(
        &self,
        group: usize,
        until: usize,
        out: &mut Vec<u8>,
    ) -> Result<(usize, usize), Flaw> {
        let (bytes, at) = (self.bytes, self.layout.groups_at);
        let (mut first, mut start) = (0, 0);
        if group > 0 {
            first = load16(bytes, at, 2 * group - 2);
            start = load16(bytes, at, 2 * group - 1);
        }
        let (last, end) = (
            load16(bytes, at, 2 * group),
            load16(bytes, at, 2 * group + 1),
        );
        let raw_until = |end: usize| -> usize {
            let entries = first..end;
            entries.map(|index| self.raw_len_of(index)).sum()
        };
        let raw = raw_until(last);
        let wanted = if until < last { raw_until(until) } else { raw };
        let columns = self.layout.values_at as usize..self.layout.values_end as usize;
        let values = bytes.get(columns).unwrap_or_default();
        let stored = values.get(start..end).ok_or(BAD_VALUE)?;
        if raw > GROUP_RAW_BYTES_MAX || stored.len() > raw {
            return Err(BAD_VALUE);
        }
        if stored.len() == raw {
            out.extend_from_slice(stored.get(..wanted).ok_or(BAD_VALUE)?);
        } else if wanted == raw {
            codec::decode(stored, raw, out).ok_or(BAD_VALUE)?;
        } else {
            codec::decode_until(stored, raw, wanted, out).ok_or(BAD_VALUE)?;
        }
        Ok((first, last))
    }
}

/// Returns the value itself, decoded into `decoded` if necessary.
pub(crate) fn raw_of<'a>(
    value: ValueIn<'a>,
    decoded: &'a mut Vec<u8>,
) -> cairndb_base::Result<&'a [u8]> {
    match value {
        ValueIn::Raw(bytes) => Ok(bytes),
        ValueIn::Stored { bytes, raw_len } if bytes.len() == raw_len as usize => Ok(bytes),
        ValueIn::Stored { bytes, raw_len } => {
            codec::decode(bytes, raw_len as usize, decoded)
                .ok_or_else(|| Error::corruption("stored value does not decode"))?;
            Ok(decoded)
        }
        ValueIn::Shared {
            bytes,
            raw_len,
            dictionary,
        } => {
            codec::decode_with(dictionary, bytes, 0..bytes.len(), raw_len as usize, decoded)
                .ok_or_else(|| Error::corruption("stored value does not decode"))?;
            Ok(decoded)
        }
    }
}
