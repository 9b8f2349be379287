//! A cursor over one table: owned, both ways at one cost, values decoded when asked for.
//!
//! The cursor holds a page and an index into it. When a scan enters a page from its neighbour, the keys are
//! spelled one behind the other, once, and the first value asked for decodes all of that page in one loop; a
//! step then is an index. In a page that a seek has led to, the second step has a few done so, and where these end twice
//! as many: scans that begin with a seek are short as a rule, but to do each entry by itself took one of twenty
//! 2.5 us instead of 1.9, and one of a hundred small grouped values 34 us instead of 6. Elsewhere the key is respelled in an own buffer behind the
//! page's prefix.
//!
//! Respelling the head alone with each step lost: whoever reads the key loads across the eight bytes just
//! stored and those before them, and waits until the store has left for the cache.

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

/// Bytes a key's buffer begins with.
const KEY_BYTES_EXPECTED: usize = 32;

/// How the cursor came to where it is in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A seek has led to the page.
    Sought,
    /// And a step was made in it.
    Stepped,
    /// The page was entered from its neighbour.
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
    /// Entries of the page; 0 when the cursor is nowhere.
    count: usize,
    index: usize,
    number: u32,
    page: u32,
    /// The key, and up to eight bytes of room behind it.
    key: Vec<u8>,
    key_len: usize,
    prefix_len: usize,
    /// Keys of the page: all, or a stretch.
    keys: KeyWindow,
    values: ValueWindow,
    way: Way,
    /// From the one behind it.
    backward: bool,
    /// Every page is checked when it is entered.
    rechecking: bool,
    read_ahead: ReadAhead,
    /// Where a seek that has not ended leads to.
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

    /// The same cursor, but every page is checked when it is entered, whatever has been checked
    /// before: for a merge, whose copy gets a new checksum and would hide damage for good.
    #[must_use]
    pub fn rechecking(mut self) -> TableCursor {
        self.rechecking = true;
        self
    }

    /// Goes to another table, nowhere in it. The buffers stay.
    pub fn change_table(&mut self, table: &Arc<Table>) {
        self.release();
        self.read_ahead = ReadAhead::default();
        self.table = Arc::clone(table);
    }

    /// Goes nowhere and gives the page back; the buffers stay.
    pub fn release(&mut self) {
        self.leave();
        self.current = CurrentPage::Mapped { start: 0, end: 0 };
    }

    /// The table it reads.
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

    /// Goes to the first entry not before (key, seq), versions of a key standing newest first.
    ///
    /// # Errors
    /// `Corruption` when a page on the way is damaged; the errors of the file. The cursor is then
    /// nowhere.
    pub fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.leave();
        let span = self.lookup().approach(key)?;
        self.arrive(span, key, seq)
    }

    /// Begins a seek: looks up which page it leads to and asks for its lines, which are rarely in a cache. Who seeks in
    /// several tables begins all, and waits for all at once. Until it is moved again the cursor is nowhere.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    pub fn begin_seek(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        self.begun = Some(self.lookup().approach(key)?);
        Ok(())
    }

    /// Ends the seek for the same `key` that [`TableCursor::begin_seek`] began.
    ///
    /// # Errors
    /// As [`TableCursor::seek`].
    ///
    /// # Panics
    /// When none was begun, or the cursor was moved since.
    pub fn end_seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let begun = self.begun.take();
        self.arrive(begun.expect("a seek ends that was begun"), key, seq)
    }

    fn arrive(&mut self, span: CandidateUnits, key: &[u8], seq: SeqNo) -> Result<()> {
        let found = self.lookup().find(span, key, seq)?;
        if let Some((unit, index)) =
            found.map(|EntryPosition { unit, index }| (EnteredPage::from(unit), index))
        {
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
        let unit = self.lookup().unit(0)?.into();
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
        let unit: EnteredPage = self.lookup().unit(self.table.meta.units - 1)?.into();
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
        if self.index + 1 < self.count {
            self.index += 1;
            if !self.keys.holds(self.index) {
                self.decode_keys_after_step(true);
            }
            return Ok(());
        }
        self.next_page()
    }

    /// Goes one entry back; before the first it is nowhere. Nothing happens when it is nowhere.
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
            self.lookup().pages_of_unit(self.page)?
        } else {
            1
        };
        let next = self.page + pages;
        if self.way == Way::Streaming {
            self.read_ahead.enter(&self.table.pages, next, false);
        }
        let lookup = self.lookup();
        lookup.prefetch_lines(next + 1, &LINES_AHEAD[0]);
        let unit = lookup.unit_at(self.number + 1, next)?.into();
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
        let lookup = self.lookup();
        if let Some(before) = self.page.checked_sub(2) {
            lookup.prefetch_lines(before, &LINES_AHEAD[0]);
        }
        let unit: EnteredPage = lookup.unit(self.number - 1)?.into();
        let index = unit.layout.count() - 1;
        self.enter(unit, index, true);
        Ok(())
    }

    /// Makes the cursor be nowhere; says whether it was at an entry.
    fn leave(&mut self) -> bool {
        self.begun = None;
        self.index = 0;
        self.keys.forget();
        self.values.forget();
        std::mem::take(&mut self.count) > 0
    }

    fn lookup(&self) -> Lookup<'_> {
        Lookup::new(&self.table).rechecking(self.rechecking)
    }

    fn enter(&mut self, unit: EnteredPage, index: usize, streaming: bool) {
        debug_assert!(
            self.count == 0 && self.keys.entries().is_empty(),
            "it was left"
        );
        self.layout = unit.layout;
        self.current = unit.current;
        let page = Page {
            bytes: self.current.bytes(&self.table),
            layout: &self.layout,
        };
        let prefix = page.prefix();
        self.key.clear();
        // At once, with room for the prefixes of other pages: a seek's cursor often sees one page only.
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

    /// The page; rubbish, but no panic, when the cursor is nowhere.
    #[inline]
    fn view(&self) -> Page<'_, '_> {
        Page {
            bytes: self.current.bytes(&self.table),
            layout: &self.layout,
        }
    }

    /// The key it is at; empty when it is nowhere.
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

    /// Sequence number and kind of the entry.
    #[inline]
    pub fn mark(&self) -> EntryMark {
        self.view().mark(self.index)
    }

    /// The sequence number of the entry.
    #[inline]
    pub fn seq(&self) -> SeqNo {
        if self.layout.seq_width == 0 {
            return self.layout.base_seq;
        }
        self.view().seq(self.index)
    }

    /// What the entry does to its key.
    #[inline]
    pub fn kind(&self) -> Kind {
        if self.layout.has(flag::KINDS) {
            return self.view().kind(self.index);
        }
        self.layout.kind
    }

    /// The value, in place or decoded into the cursor's buffer; empty when it is nowhere.
    ///
    /// # Errors
    /// `Corruption` when it does not decode.
    #[inline]
    pub fn value(&mut self) -> Result<&[u8]> {
        self.load_value()?;
        Ok(self.loaded())
    }

    /// Makes [`TableCursor::loaded`] answer for the current entry.
    ///
    /// # Errors
    /// `Corruption` when the value does not decode.
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
        match self.view().stored(self.index) {
            Stored::Raw(bytes) if self.count > 0 => bytes,
            _ => &[],
        }
    }
}

impl Table {
    /// A cursor over the table, not yet anywhere.
    pub fn cursor(self: &Arc<Self>) -> TableCursor {
        TableCursor::new(Arc::clone(self))
    }
}
