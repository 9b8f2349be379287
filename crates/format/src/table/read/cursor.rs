//! Cursor over one table: owned, equally fast in both directions, values decoded on demand.
//!
//! The cursor holds a page and an index into it. When a scan enters a page from its neighbour, all
//! keys are decoded at once, and the first value read decodes all values of that page in one loop;
//! a step is then an index. In a page reached by a seek, the second step decodes the next few
//! entries in this way, and twice as many when those run out. Scans that begin with a seek are
//! usually short, but decoding entries one by one was much slower even for scans of twenty.
//! Otherwise the key is assembled in a buffer of its own, after the page's prefix.
//!
//! 1. `keys.rs`, `values.rs`: decoding the page's keys and values. `current_page.rs`: its bytes.
//! 2. `window.rs`: the rest of a page, borrowed by a scan.
//! 3. `read_ahead.rs`: reading from the disk before a scan needs it.
//! 4. `bulk.rs`: what compactions and merging iterators need.
//!
//! Rewriting only the head with each step lost: reading the key then loads across the eight bytes
//! just stored and those before them, and waits until the store has reached the cache.

mod bulk;
mod current_page;
mod keys;
mod read_ahead;
mod values;
mod window;

use std::sync::Arc;

use cairndb_base::{Kind, Result, SeqNo};

use self::current_page::{CurrentPage, EnteredPage};
use self::read_ahead::ReadAhead;
pub use self::window::PageWindow;
use crate::table::EntryMark;
use crate::table::page::Page;
use crate::table::page::key_window::KeyWindow;
use crate::table::page::layout::{Layout, flag};
use crate::table::page::value_window::ValueWindow;
use crate::table::page::values::Stored;
use crate::table::read::lookup::{CandidateUnits, EntryPosition, LINES_AHEAD, Lookup};
use crate::table::read::open::Table;
use crate::table::read::reader::PageReader;

/// Initial capacity of the key buffer.
const KEY_BYTES_EXPECTED: usize = 32;

/// How the cursor reached its position in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By a seek.
    Sought,
    /// By a seek and one step.
    Stepped,
    /// By entering the page from its neighbour.
    Streaming,
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
    current: CurrentPage,
    layout: Layout,
    /// Entries of the page; 0 if the cursor has no position.
    count: usize,
    index: usize,
    number: u32,
    page: u32,
    /// The key, and up to eight bytes of room after it.
    key: Vec<u8>,
    key_len: usize,
    prefix_len: usize,
    /// Decoded keys of the page: all, or a range.
    keys: KeyWindow,
    values: ValueWindow,
    way: Way,
    /// The scan goes backwards.
    backward: bool,
    /// Every page is checked when it is entered.
    rechecking: bool,
    read_ahead: ReadAhead,
    /// Where a seek that has begun leads to.
    begun: Option<CandidateUnits>,
}

impl TableCursor {
    pub(crate) fn new(table: Arc<Table>) -> TableCursor {
        TableCursor {
            table,
            current: CurrentPage::Mapped { start: 0, end: 0 },
            layout: Layout::EMPTY,
            count: 0,
            index: 0,
            number: 0,
            page: 0,
            key: Vec::new(),
            key_len: 0,
            prefix_len: 0,
            keys: KeyWindow::default(),
            values: ValueWindow::default(),
            way: Way::Sought,
            backward: false,
            rechecking: false,
            read_ahead: ReadAhead::default(),
            begun: None,
        }
    }

    /// Makes the cursor check every page when it is entered, even if it was checked before. For
    /// compactions: their copy gets a new checksum and would hide damage for good.
    #[must_use]
    pub fn rechecking(mut self) -> TableCursor {
        self.rechecking = true;
        self
    }

    /// Switches to another table, without a position in it. The buffers stay.
    pub fn change_table(&mut self, table: &Arc<Table>) {
        self.release();
        self.read_ahead = ReadAhead::default();
        self.table = Arc::clone(table);
    }

    /// Gives up the position and the page; the buffers stay.
    pub fn release(&mut self) {
        self.leave();
        self.current = CurrentPage::Mapped { start: 0, end: 0 };
    }

    /// The table that it reads.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Heap bytes of its buffers.
    pub fn memory_bytes(&self) -> usize {
        let page = match &self.current {
            CurrentPage::Owned(bytes) => bytes.len(),
            CurrentPage::Mapped { .. } => 0,
        };
        page + self.key.capacity() + self.values.memory_bytes() + self.keys.memory_bytes()
    }

    /// Whether it is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.count > 0
    }

    /// Goes to the first entry at or after (key, seq). Versions of a key are ordered newest first.
    ///
    /// # Errors
    /// `Corruption` if a page on the way is damaged; the errors of the file. The cursor then has no
    /// position.
    pub fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.leave();
        let span = Lookup::with(self.reader()).approach(key)?;
        self.arrive(span, key, seq)
    }

    /// Begins a seek: finds the page that it leads to and prefetches its lines, which are rarely in
    /// a cache. A caller that seeks in several tables begins all seeks and so waits for all at
    /// once. The cursor has no position until it is moved again.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn begin_seek(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        self.begun = Some(Lookup::with(self.reader()).approach(key)?);
        Ok(())
    }

    /// Ends the seek for the same `key` that [`TableCursor::begin_seek`] began.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    ///
    /// # Panics
    /// If none was begun, or the cursor was moved since.
    pub fn end_seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let begun = self.begun.take();
        self.arrive(begun.expect("a seek was begun"), key, seq)
    }

    fn arrive(&mut self, span: CandidateUnits, key: &[u8], seq: SeqNo) -> Result<()> {
        let found = Lookup::with(self.reader()).find(span, key, seq)?;
        if let Some((unit, index)) =
            found.map(|EntryPosition { unit, index }| (EnteredPage::from(unit), index))
        {
            self.enter(unit, index, false);
        }
        Ok(())
    }

    /// Goes to the last entry at or before (key, seq).
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.seek(key, seq)?;
        if !self.valid() {
            return self.last();
        }
        if self.seq() == seq && self.table.order.compare(self.key(), key).is_eq() {
            return Ok(());
        }
        self.prev()
    }

    /// Goes to the first entry.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn first(&mut self) -> Result<()> {
        self.leave();
        self.backward = false;
        let unit = self.reader().unit(0)?.into();
        self.enter(unit, 0, true);
        Ok(())
    }

    /// Goes to the last entry.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn last(&mut self) -> Result<()> {
        self.leave();
        self.backward = true;
        let unit: EnteredPage = self.reader().unit(self.table.meta.units - 1)?.into();
        let index = unit.layout.count() - 1;
        self.enter(unit, index, true);
        Ok(())
    }

    /// Goes to the next entry; after the last it has no position. Does nothing without a position.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor borrows; it is not an iterator"
    )]
    pub fn next(&mut self) -> Result<()> {
        if self.index + 1 < self.count {
            self.index += 1;
            if !self.keys.holds(self.index) {
                self.decode_keys_after_step(true);
            }
            return Ok(());
        }
        self.next_page()
    }

    /// Goes to the previous entry; before the first it has no position. Does nothing without a
    /// position.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        if self.index > 0 {
            self.index -= 1;
            if !self.keys.holds(self.index) {
                self.decode_keys_after_step(false);
            }
            return Ok(());
        }
        self.prev_page()
    }

    #[inline(never)]
    fn next_page(&mut self) -> Result<()> {
        self.backward = false;
        let was_at_extent = self.layout.extent;
        if !self.leave() || self.number + 1 >= self.table.meta.units {
            return Ok(());
        }
        let pages = if was_at_extent {
            self.reader().pages_of_unit(self.page)?
        } else {
            1
        };
        let next = self.page + pages;
        if self.way == Way::Streaming {
            self.read_ahead.enter(&self.table.pages, next, false);
        }
        let reader = self.reader();
        reader.prefetch_lines(next + 1, &LINES_AHEAD[0]);
        let unit = reader.unit_at(self.number + 1, next)?.into();
        self.enter(unit, 0, true);
        Ok(())
    }

    #[inline(never)]
    fn prev_page(&mut self) -> Result<()> {
        self.backward = true;
        if !self.leave() || self.number == 0 {
            return Ok(());
        }
        if let (true, Some(before)) = (self.way == Way::Streaming, self.page.checked_sub(1)) {
            self.read_ahead.enter(&self.table.pages, before, true);
        }
        let reader = self.reader();
        if let Some(before) = self.page.checked_sub(2) {
            reader.prefetch_lines(before, &LINES_AHEAD[0]);
        }
        let unit: EnteredPage = reader.unit(self.number - 1)?.into();
        let index = unit.layout.count() - 1;
        self.enter(unit, index, true);
        Ok(())
    }

    /// Gives up the position. Returns whether there was one.
    fn leave(&mut self) -> bool {
        self.begun = None;
        self.index = 0;
        self.keys.forget();
        self.values.forget();
        std::mem::take(&mut self.count) > 0
    }

    fn reader(&self) -> PageReader<'_> {
        PageReader::new(&self.table).rechecking(self.rechecking)
    }

    fn enter(&mut self, unit: EnteredPage, index: usize, streaming: bool) {
        debug_assert!(
            self.count == 0 && self.keys.entries().is_empty(),
            "the cursor has no position"
        );
        self.layout = unit.layout;
        self.current = unit.current;
        let page = Page {
            bytes: self.current.bytes(&self.table),
            layout: &self.layout,
        };
        let prefix = page.prefix();
        self.key.clear();
        // Reserved once, with room for the prefixes of other pages: a seek's cursor often sees one
        // page only.
        self.key.reserve((prefix.len() + 8).max(KEY_BYTES_EXPECTED));
        self.key.extend_from_slice(prefix);
        self.key.extend_from_slice(&[0; 8]);
        self.prefix_len = prefix.len();
        self.key_len = prefix.len() + usize::from(self.layout.head_bytes);
        self.count = self.layout.count();
        self.number = unit.number;
        self.page = unit.page;
        self.index = index;
        self.way = if streaming {
            Way::Streaming
        } else {
            Way::Sought
        };
        if streaming {
            self.decode_keys(index == 0);
        } else {
            self.decode_key();
        }
    }

    /// The page; arbitrary, but safe, if there is no position.
    #[inline]
    fn view(&self) -> Page<'_, '_> {
        Page {
            bytes: self.current.bytes(&self.table),
            layout: &self.layout,
        }
    }

    /// The current key; empty without a position.
    #[inline]
    pub fn key(&self) -> &[u8] {
        if self.count == 0 {
            return &[];
        }
        if self.keys.holds(self.index) {
            return self.keys.key(self.index);
        }
        self.key.get(..self.key_len).unwrap_or_default()
    }

    /// Sequence number and kind of the current entry.
    #[inline]
    pub fn mark(&self) -> EntryMark {
        self.view().mark(self.index)
    }

    /// The sequence number of the current entry.
    #[inline]
    pub fn seq(&self) -> SeqNo {
        if self.layout.seq_width == 0 {
            return self.layout.base_seq;
        }
        self.view().seq(self.index)
    }

    /// The kind of the current entry.
    #[inline]
    pub fn kind(&self) -> Kind {
        if self.layout.has(flag::KINDS) {
            return self.view().kind(self.index);
        }
        self.layout.kind
    }

    /// The current value, in place or decoded into the cursor's buffer; empty without a position.
    ///
    /// # Errors
    /// `Corruption` if it does not decode.
    #[inline]
    pub fn value(&mut self) -> Result<&[u8]> {
        self.load_value()?;
        Ok(self.loaded())
    }

    /// Makes [`TableCursor::loaded`] valid for the current entry.
    ///
    /// # Errors
    /// `Corruption` if the value does not decode.
    #[inline]
    pub fn load_value(&mut self) -> Result<()> {
        if !self.values.holds(self.index) {
            self.decode()?;
        }
        Ok(())
    }

    /// The value that [`TableCursor::load_value`] loaded; a caller may read it while it reads the
    /// key.
    #[inline]
    pub fn loaded(&self) -> &[u8] {
        if self.values.holds(self.index) {
            return self.values.get(self.index);
        }
        match self.view().values().stored(self.index) {
            Stored::Raw(bytes) if self.count > 0 => bytes,
            _ => &[],
        }
    }
}

impl Table {
    /// A cursor over the table, without a position.
    pub fn cursor(self: &Arc<Self>) -> TableCursor {
        TableCursor::new(Arc::clone(self))
    }
}
