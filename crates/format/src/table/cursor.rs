//! A cursor over one table: owned, both ways at one cost, values decoded when asked for.
//!
//! The cursor holds a page and an index into it. A step within a page touches the columns only: the
//! key is respelled in an own buffer behind the page's prefix, copied once per page. When a scan
//! enters a page from its neighbour, the first value asked for decodes all of that page in one
//! loop.

use std::sync::Arc;

use cairndb_base::{Kind, Result, SeqNo};

use super::bits::{head_bytes, low32};
use super::layout::{HEADER_BYTES, Layout, ValueMode, flag};
use super::page::Page;
use super::reader::{Place, Table, Unit};
use super::source::PageRef;
use super::values::Stored;
use super::{EntryIn, EntryMark, ValueIn};

/// Pages with more raw value bytes than this are decoded value by value.
const DECODE_ALL_BYTES_MAX: usize = 32 << 10;

/// Bytes of the page a cursor is in, without a borrow.
#[derive(Clone, Debug)]
enum Held {
    Mapped { start: usize, end: usize },
    Owned(Arc<[u8]>),
}

/// What the value buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoded {
    Nothing,
    One(usize),
    Page,
}

/// A position in a table, or none.
///
/// ```text
/// cursor.seek(b"k", SEQ_MAX)?;
/// while cursor.valid() { use(cursor.key(), cursor.value()?); cursor.next()?; }
/// ```
#[derive(Clone, Debug)]
pub struct TableCursor {
    table: Arc<Table>,
    held: Held,
    layout: Option<Layout>,
    unit: u32,
    page: u32,
    index: usize,
    key: Vec<u8>,
    key_len: usize,
    values: Vec<u8>,
    ends: Vec<u32>,
    decoded: Decoded,
    /// The page was entered from its neighbour.
    streaming: bool,
}

#[inline]
fn held_bytes<'a>(held: &'a Held, table: &'a Table) -> &'a [u8] {
    match held {
        Held::Owned(bytes) => bytes,
        Held::Mapped { start, end } => table
            .pages
            .mapping()
            .and_then(|bytes| bytes.get(*start..*end))
            .unwrap_or_default(),
    }
}

impl TableCursor {
    pub(super) fn new(table: Arc<Table>) -> TableCursor {
        TableCursor {
            table,
            held: Held::Mapped { start: 0, end: 0 },
            layout: None,
            unit: 0,
            page: 0,
            index: 0,
            key: Vec::new(),
            key_len: 0,
            values: Vec::new(),
            ends: Vec::new(),
            decoded: Decoded::Nothing,
            streaming: false,
        }
    }

    /// The table it reads.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Heap bytes of its buffers.
    pub fn memory_bytes(&self) -> usize {
        let page = match &self.held {
            Held::Owned(bytes) => bytes.len(),
            Held::Mapped { .. } => 0,
        };
        page + self.key.capacity() + self.values.capacity() + self.ends.capacity() * 4
    }

    /// Whether it is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.layout.is_some()
    }

    /// Goes to the first entry not before (key, seq), versions of a key standing newest first.
    ///
    /// # Errors
    /// `Corruption` when a page on the way is damaged; the errors of the file. The cursor is then
    /// nowhere.
    pub fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let table = Arc::clone(&self.table);
        self.layout = None;
        if let Some(Place { unit, index, .. }) = table.find(key, seq)? {
            self.enter(unit, index, false);
        }
        Ok(())
    }

    /// Goes to the last entry not behind (key, seq).
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.seek(key, seq)?;
        if !self.valid() {
            return self.last();
        }
        let table = Arc::clone(&self.table);
        let at_key = |cursor: &TableCursor| {
            cursor.seq() == seq && table.order.compare(cursor.key(), key).is_eq()
        };
        if at_key(self) {
            return Ok(());
        }
        self.prev()
    }

    /// Goes to the first entry.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn first(&mut self) -> Result<()> {
        let table = Arc::clone(&self.table);
        self.layout = None;
        let unit = table.unit(0)?;
        self.enter(unit, 0, true);
        Ok(())
    }

    /// Goes to the last entry.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn last(&mut self) -> Result<()> {
        let table = Arc::clone(&self.table);
        self.layout = None;
        let unit = table.unit(table.meta.units - 1)?;
        let index = unit.layout.count() - 1;
        self.enter(unit, index, true);
        Ok(())
    }

    /// Goes one entry on; behind the last it is nowhere. Nothing happens when it is nowhere.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor borrows; it is no iterator"
    )]
    pub fn next(&mut self) -> Result<()> {
        let Some(layout) = self.layout else {
            return Ok(());
        };
        if self.index + 1 < layout.count() {
            self.index += 1;
            self.spell_key(&layout);
            return Ok(());
        }
        self.next_page(&layout)
    }

    /// Goes one entry back; before the first it is nowhere. Nothing happens when it is nowhere.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        let Some(layout) = self.layout else {
            return Ok(());
        };
        if self.index > 0 {
            self.index -= 1;
            self.spell_key(&layout);
            return Ok(());
        }
        self.prev_page()
    }

    fn next_page(&mut self, layout: &Layout) -> Result<()> {
        let table = Arc::clone(&self.table);
        self.layout = None;
        if self.unit + 1 >= table.meta.units {
            return Ok(());
        }
        let pages = if layout.extent {
            table.pages_of_unit(self.page)?
        } else {
            1
        };
        let unit = table.unit_at(self.unit + 1, self.page + pages)?;
        self.enter(unit, 0, true);
        Ok(())
    }

    fn prev_page(&mut self) -> Result<()> {
        let table = Arc::clone(&self.table);
        self.layout = None;
        if self.unit == 0 {
            return Ok(());
        }
        let unit = table.unit(self.unit - 1)?;
        let index = unit.layout.count() - 1;
        self.enter(unit, index, true);
        Ok(())
    }

    fn enter(&mut self, unit: Unit<'_>, index: usize, streaming: bool) {
        let layout = unit.layout;
        let prefix = unit.view().prefix();
        self.key.clear();
        self.key.extend_from_slice(prefix);
        self.key.extend_from_slice(&[0; 8]);
        self.held = match unit.bytes {
            PageRef::Owned(bytes) => Held::Owned(bytes),
            PageRef::Mapped(bytes) => {
                let start = unit.page as usize * cairndb_base::limits::PAGE_BYTES;
                Held::Mapped {
                    start,
                    end: start + bytes.len(),
                }
            }
        };
        self.layout = Some(layout);
        self.unit = unit.number;
        self.page = unit.page;
        self.index = index;
        self.decoded = Decoded::Nothing;
        self.streaming = streaming;
        self.spell_key(&layout);
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        held_bytes(&self.held, &self.table)
    }

    #[inline]
    fn view(&self) -> Option<Page<'_>> {
        let layout = self.layout?;
        Some(Page {
            bytes: self.bytes(),
            layout,
        })
    }

    /// Respells the key behind the prefix.
    #[inline]
    fn spell_key(&mut self, layout: &Layout) {
        let mut key = std::mem::take(&mut self.key);
        let page = Page {
            bytes: self.bytes(),
            layout: *layout,
        };
        let prefix = layout.prefix_len as usize;
        let head = head_bytes(page.head(self.index), layout.head_bytes.into());
        if let Some(slot) = key
            .get_mut(prefix..)
            .and_then(|rest| rest.first_chunk_mut())
        {
            *slot = head;
        }
        let mut len = prefix + page.head_len(self.index);
        if layout.has(flag::TAILS) {
            key.truncate(len);
            key.extend_from_slice(page.tail(self.index));
            len = key.len();
            key.extend_from_slice(&[0; 8]);
        }
        self.key = key;
        self.key_len = len;
    }

    /// The key it is at; empty when it is nowhere.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.layout {
            Some(_) => self.key.get(..self.key_len).unwrap_or_default(),
            None => &[],
        }
    }

    /// Sequence number and kind of the entry.
    #[inline]
    pub fn mark(&self) -> EntryMark {
        self.view().map_or(
            EntryMark {
                seq: 0,
                kind: Kind::Delete,
            },
            |page| page.mark(self.index),
        )
    }

    /// The sequence number of the entry.
    #[inline]
    pub fn seq(&self) -> SeqNo {
        self.view().map_or(0, |page| page.seq(self.index))
    }

    /// What the entry does to its key.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.view()
            .map_or(Kind::Delete, |page| page.kind(self.index))
    }

    /// The value, in place or decoded into the cursor's buffer; empty when it is nowhere.
    ///
    /// # Errors
    /// `Corruption` when it does not decode.
    #[inline]
    pub fn value(&mut self) -> Result<&[u8]> {
        if self.decoded != Decoded::Page && self.decoded != Decoded::One(self.index) {
            self.decode()?;
        }
        Ok(self.decoded_value())
    }

    #[inline]
    fn decoded_value(&self) -> &[u8] {
        match self.decoded {
            Decoded::Page => {
                let start = match self.index {
                    0 => 0,
                    index => self.ends.get(index - 1).map_or(0, |end| *end as usize),
                };
                let end = self.ends.get(self.index).map_or(0, |end| *end as usize);
                self.values.get(start..end).unwrap_or_default()
            }
            Decoded::One(_) => &self.values,
            Decoded::Nothing => match self.view().map(|page| page.stored(self.index)) {
                Some(Stored::Raw(bytes)) => bytes,
                _ => &[],
            },
        }
    }

    /// Makes [`TableCursor::loaded`] answer for the current entry.
    ///
    /// # Errors
    /// `Corruption` when the value does not decode.
    #[inline]
    pub fn load_value(&mut self) -> Result<()> {
        if self.decoded != Decoded::Page && self.decoded != Decoded::One(self.index) {
            self.decode()?;
        }
        Ok(())
    }

    /// The value that [`TableCursor::load_value`] loaded; a caller may read it while it reads the
    /// key.
    #[inline]
    pub fn loaded(&self) -> &[u8] {
        match self.decoded {
            Decoded::Page => {
                let start = match self.index {
                    0 => 0,
                    index => self.ends.get(index - 1).map_or(0, |end| *end as usize),
                };
                let end = self.ends.get(self.index).map_or(0, |end| *end as usize);
                self.values.get(start..end).unwrap_or_default()
            }
            Decoded::One(_) => &self.values,
            Decoded::Nothing => match self.view().map(|page| page.stored(self.index)) {
                Some(Stored::Raw(bytes)) => bytes,
                _ => &[],
            },
        }
    }

    /// Whether every entry of the current page is the only version of its key in this table: the
    /// writer gave each the sequence number 0, which it does only then.
    #[inline]
    pub fn page_unique(&self) -> bool {
        self.layout
            .as_ref()
            .is_some_and(|layout| layout.seq_width == 0 && layout.base_seq == 0)
    }

    /// Decodes what `value` will give, unless it can be given in place.
    fn decode(&mut self) -> Result<()> {
        let (mut values, mut ends) = (
            std::mem::take(&mut self.values),
            std::mem::take(&mut self.ends),
        );
        let Some(page) = self.view() else {
            return Ok(());
        };
        if let Stored::Raw(_) = page.stored(self.index) {
            (self.values, self.ends) = (values, ends);
            self.decoded = Decoded::Nothing;
            return Ok(());
        }
        values.clear();
        ends.clear();
        let all = self.streaming && page.raw_total() <= DECODE_ALL_BYTES_MAX;
        let outcome = if all {
            page.all_into(&mut values, &mut ends)
        } else {
            page.value_into(self.index, &mut values)
        };
        (self.values, self.ends) = (values, ends);
        self.decoded = match (outcome, all) {
            (Ok(()), true) => Decoded::Page,
            (Ok(()), false) => Decoded::One(self.index),
            (Err(flaw), _) => {
                self.decoded = Decoded::Nothing;
                return Err(self.table.pages.flaw(self.page, flaw));
            }
        };
        Ok(())
    }

    /// Key, mark and value as a merge takes them: the value verbatim where it is stored alone,
    /// else decoded. An empty tombstone when the cursor is nowhere.
    ///
    /// # Errors
    /// `Corruption` when the value has to be decoded and does not decode.
    #[inline]
    pub fn entry(&mut self) -> Result<EntryIn<'_>> {
        let Some(layout) = self.layout else {
            return Ok(EntryIn::default());
        };
        if layout.mode == ValueMode::Groups {
            self.value()?;
            return Ok(self.grouped_entry());
        }
        let bytes = held_bytes(&self.held, &self.table);
        let page = Page { bytes, layout };
        let value = match page.stored(self.index) {
            Stored::Raw(bytes) => ValueIn::Stored {
                bytes,
                raw_len: low32(bytes.len()),
            },
            Stored::Encoded { bytes, raw_len } => ValueIn::Stored {
                bytes,
                raw_len: low32(raw_len),
            },
            Stored::Grouped => ValueIn::Raw(&[]),
        };
        let mark = page.mark(self.index);
        Ok(EntryIn {
            key: self.key.get(..self.key_len).unwrap_or_default(),
            seq: mark.seq,
            kind: mark.kind,
            value,
        })
    }

    /// The entry, its value decoded in the buffer.
    fn grouped_entry(&self) -> EntryIn<'_> {
        let mark = self.mark();
        EntryIn {
            key: self.key(),
            seq: mark.seq,
            kind: mark.kind,
            value: ValueIn::Raw(self.decoded_value()),
        }
    }

    /// The value as a merge takes it, as in [`TableCursor::entry`].
    ///
    /// # Errors
    /// As [`TableCursor::entry`].
    #[inline]
    pub fn stored(&mut self) -> Result<ValueIn<'_>> {
        self.entry().map(|entry| entry.value)
    }

    /// Entries of the page from the current one on, it included.
    #[inline]
    pub fn entries_left_in_page(&self) -> usize {
        self.layout
            .map_or(0, |layout| layout.count() - self.index.min(layout.count()))
    }

    /// Entries of the page before the current one.
    #[inline]
    pub fn entries_before_in_page(&self) -> usize {
        self.layout.map_or(0, |_| self.index)
    }

    /// Whether every key of the page is less than `bound`, so that a merge can take the rest of it
    /// without comparisons.
    #[inline]
    pub fn page_last_key_lt(&self, bound: &[u8]) -> bool {
        self.view().is_some_and(|page| {
            page.compare_key(page.count() - 1, bound, &self.table.order)
                .is_lt()
        })
    }

    /// Whether every key of the page is greater than `bound`, for a merge from back to front.
    #[inline]
    pub fn page_first_key_gt(&self, bound: &[u8]) -> bool {
        self.view()
            .is_some_and(|page| page.compare_key(0, bound, &self.table.order).is_gt())
    }
}

const _: () = assert!(HEADER_BYTES < DECODE_ALL_BYTES_MAX);
