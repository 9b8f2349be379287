//! Cursor over one table: owned, equally fast in both directions, values decoded on demand.
//!
//! The cursor holds a page and an index into it. When a scan enters a page from its neighbour, all
//! keys are decoded at once, and the first value read decodes all values of that page in one loop;
//! a step is then an index. In a page reached by a seek, the second step decodes the next few
//! entries in this way, and twice as many when those run out. Scans that begin with a seek are
//! usually short, but decoding entries one by one was much slower even for scans of twenty.
//! Otherwise the key is assembled in a buffer of its own, after the page's prefix.
//!
//! 1. `walk.rs`: the page, and the way to others. `read_ahead.rs`: reading from the disk before a
//!    scan needs it.
//! 2. `decoded.rs`: keys and values of the page that are decoded.
//! 3. `window.rs`: the rest of a page, borrowed by a scan. `page.rs`: what compactions and merging
//!    iterators ask about it.
//!
//! Rejected: rewriting only the head at each step, because reading the key then loads across the
//! eight bytes just stored and those before them, and waits until the store has reached the cache.

mod decoded;
mod page;
mod read_ahead;
mod walk;
mod window;

use std::sync::Arc;

use cairndb_base::{Kind, Result, SeqNo};

use self::decoded::Decoded;
pub use self::page::CursorPage;
use self::walk::{LINES_AHEAD, PageWalk};
pub use self::window::PageWindow;
use crate::table::page::bits::low32;
use crate::table::page::layout::{ValueMode, flag};
use crate::table::page::values::Stored;
use crate::table::read::lookup::CandidateUnits;
use crate::table::read::open::Table;
use crate::table::{EntryIn, ValueIn};

/// A position in a table, or none.
///
/// ```text
/// cursor.seek(b"k", SEQ_MAX)?;
/// while cursor.valid() { use(cursor.key(), cursor.value()?); cursor.next()?; }
/// ```
#[derive(Clone, Debug)]
pub struct TableCursor {
    table: Arc<Table>,
    walk: PageWalk,
    /// The entry of the page.
    index: usize,
    decoded: Decoded,
    /// Candidate units of a seek that has begun.
    begun: Option<CandidateUnits>,
}

impl Table {
    /// Returns a cursor over the table, without a position.
    pub fn cursor(self: &Arc<Self>) -> TableCursor {
        TableCursor {
            table: Arc::clone(self),
            walk: PageWalk::new(),
            index: 0,
            decoded: Decoded::default(),
            begun: None,
        }
    }
}

impl TableCursor {
    /// Makes the cursor check every page when it is entered, even if it was checked before. For
    /// compactions: their copy gets a new checksum and would hide damage for good.
    #[must_use]
    pub fn rechecking(mut self) -> TableCursor {
        self.walk.recheck();
        self.decoded.spare_memory();
        self
    }

    /// Switches to another table and clears the position. Keeps the buffers.
    pub fn change_table(&mut self, table: &Arc<Table>) {
        self.leave();
        self.walk.restart();
        self.table = Arc::clone(table);
    }

    /// Clears the position and releases the page; keeps the buffers.
    pub fn release(&mut self) {
        self.leave();
        self.walk.release();
    }

    /// Returns the table that the cursor reads.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the number of heap bytes of the cursor's buffers.
    pub fn memory_bytes(&self) -> usize {
        self.walk.memory_bytes() + self.decoded.memory_bytes()
    }

    /// Returns whether the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.walk.count() > 0
    }

    /// Goes to the first entry at or after (key, seq). Versions of a key are ordered newest first.
    ///
    /// # Errors
    /// `Corruption` if a page on the way is damaged; the errors of the file. The cursor then has no
    /// position.
    pub fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.begin_seek(key, false)?;
        self.end_seek(key, seq)
    }

    /// Begins a seek: finds the page that it leads to and prefetches its lines, which are rarely in
    /// a cache. A caller that seeks in several tables begins all seeks and so waits for all at
    /// once: with `asks`, also for the disk. The cursor has no position until it is moved again.
    ///
    /// # Errors
    /// Same as [`TableCursor::seek`].
    pub fn begin_seek(&mut self, key: &[u8], asks: bool) -> Result<()> {
        self.leave();
        self.begun = Some(self.walk.approach(&self.table, key, asks)?);
        Ok(())
    }

    /// Ends the seek for the same `key` that [`TableCursor::begin_seek`] began.
    ///
    /// # Errors
    /// Same as [`TableCursor::seek`].
    ///
    /// # Panics
    /// Panics if no seek was begun, or if the cursor has been moved since.
    pub fn end_seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let span = self.begun.take().expect("a seek was begun");
        let found = self.walk.enter_at(&self.table, span, key, seq)?;
        if let Some(index) = found {
            self.index = index;
            let page = self.walk.view(&self.table);
            self.decoded.begin_sought(&page, index);
        }
        Ok(())
    }

    /// Goes to the last entry at or before (key, seq).
    ///
    /// # Errors
    /// Same as [`TableCursor::seek`].
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
    /// Same as [`TableCursor::seek`].
    pub fn first(&mut self) -> Result<()> {
        self.leave();
        let index = self.walk.enter_first(&self.table)?;
        self.stream_from(index);
        Ok(())
    }

    /// Goes to the last entry.
    ///
    /// # Errors
    /// Same as [`TableCursor::seek`].
    pub fn last(&mut self) -> Result<()> {
        self.leave();
        let index = self.walk.enter_last(&self.table)?;
        self.stream_from(index);
        Ok(())
    }

    /// Goes to the next entry; after the last entry, the cursor has no position. Does nothing
    /// without a position.
    ///
    /// # Errors
    /// Same as [`TableCursor::seek`].
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor borrows; it is not an iterator"
    )]
    pub fn next(&mut self) -> Result<()> {
        if self.index + 1 < self.walk.count() {
            self.index += 1;
            if !self.decoded.holds_key(self.index) {
                self.decode_key(true);
            }
            return Ok(());
        }
        self.turn_page(true)
    }

    /// Goes to the previous entry; before the first entry, the cursor has no position. Does nothing
    /// without a position.
    ///
    /// # Errors
    /// Same as [`TableCursor::seek`].
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        if self.index > 0 {
            self.index -= 1;
            if !self.decoded.holds_key(self.index) {
                self.decode_key(false);
            }
            return Ok(());
        }
        self.turn_page(false)
    }

    /// Decodes the key reached by a step.
    #[inline(never)]
    fn decode_key(&mut self, forward: bool) {
        let page = self.walk.view(&self.table);
        self.decoded.step(&page, self.index, forward);
    }

    /// Goes to the neighbouring page, if there is one.
    #[inline(never)]
    fn turn_page(&mut self, forward: bool) -> Result<()> {
        if !self.leave() {
            return Ok(());
        }
        let table = &self.table;
        let entered = if forward {
            self.walk.enter_next(table)?
        } else {
            self.walk.enter_prev(table)?
        };
        if let Some(index) = entered {
            self.stream_from(index);
        }
        Ok(())
    }

    /// Clears the position. Returns whether there was one.
    fn leave(&mut self) -> bool {
        self.begun = None;
        self.index = 0;
        self.decoded.forget();
        self.walk.leave()
    }

    /// Goes to an entry of the page that a scan has entered.
    fn stream_from(&mut self, index: usize) {
        self.index = index;
        let page = self.walk.view(&self.table);
        self.decoded.begin_streaming(&page, index);
    }

    /// Returns the page around the current entry.
    #[inline]
    pub fn page(&self) -> CursorPage<'_> {
        CursorPage {
            table: &self.table,
            walk: &self.walk,
            decoded: &self.decoded,
            index: self.index,
        }
    }

    /// Returns the current key; empty without a position.
    #[inline]
    pub fn key(&self) -> &[u8] {
        if self.walk.count() == 0 {
            return &[];
        }
        self.decoded.key(self.index)
    }

    /// Returns the sequence number of the current entry.
    #[inline]
    pub fn seq(&self) -> SeqNo {
        let layout = self.walk.layout();
        if layout.seq_width == 0 {
            return layout.base_seq;
        }
        self.walk.view(&self.table).seq(self.index)
    }

    /// Returns the kind of the current entry.
    #[inline]
    pub fn kind(&self) -> Kind {
        let layout = self.walk.layout();
        if layout.has(flag::KINDS) {
            return self.walk.view(&self.table).kind(self.index);
        }
        layout.kind
    }

    /// Returns the current value, in place or decoded into the cursor's buffer; empty without a
    /// position.
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
        if !self.decoded.holds_value(self.index) {
            self.decode_value()?;
        }
        Ok(())
    }

    /// Returns the value that [`TableCursor::load_value`] loaded; a caller may read it while it
    /// reads the key.
    #[inline]
    pub fn loaded(&self) -> &[u8] {
        if self.decoded.holds_value(self.index) {
            return self.decoded.value(self.index);
        }
        let page = self.walk.view(&self.table);
        match page.values().stored(self.index) {
            Stored::Raw(bytes) if self.walk.count() > 0 => bytes,
            _ => &[],
        }
    }

    /// Decodes the current value, unless it can be read in place.
    #[inline(never)]
    fn decode_value(&mut self) -> Result<()> {
        let (table, walk) = (&self.table, &self.walk);
        if walk.count() == 0 {
            return Ok(());
        }
        let page = walk.view(table);
        let Some(entries) = self.decoded.values_wanted(&page, self.index) else {
            return Ok(());
        };
        let scans = entries.len() == walk.count() && self.decoded.streams();
        if scans {
            walk.prefetch_next(table, &LINES_AHEAD[1]);
        }
        let dictionary = &table.meta.dictionary;
        let outcome = self.decoded.decode_values(&page, &entries, dictionary);
        if scans {
            walk.prefetch_next(table, &LINES_AHEAD[2]);
        }
        outcome.map_err(|flaw| walk.flaw(table, flaw))
    }

    /// Returns key, mark and value as a compaction takes them: the value verbatim if it is stored
    /// alone, else decoded. Returns an empty tombstone without a position.
    ///
    /// # Errors
    /// `Corruption` if the value has to be decoded and does not decode.
    #[inline]
    pub fn entry(&mut self) -> Result<EntryIn<'_>> {
        if self.walk.count() == 0 {
            return Ok(EntryIn::default());
        }
        if self.walk.layout().mode == ValueMode::Groups {
            self.load_value()?;
        }
        let page = self.walk.view(&self.table);
        let value = match page.values().stored(self.index) {
            Stored::Raw(bytes) if self.table.deferred => ValueIn::Raw(bytes),
            Stored::Raw(bytes) => ValueIn::Stored {
                bytes,
                raw_len: low32(bytes.len()),
            },
            Stored::Encoded { bytes, raw_len } => ValueIn::Stored {
                bytes,
                raw_len: low32(raw_len),
            },
            Stored::Shared {
                start,
                end,
                raw_len,
            } => ValueIn::Shared {
                bytes: page.bytes.get(start..end).unwrap_or_default(),
                raw_len: low32(raw_len),
                dictionary: &self.table.meta.dictionary,
            },
            Stored::Grouped => ValueIn::Raw(self.loaded()),
        };
        let mark = page.mark(self.index);
        Ok(EntryIn {
            key: self.key(),
            seq: mark.seq,
            kind: mark.kind,
            value,
        })
    }
}
