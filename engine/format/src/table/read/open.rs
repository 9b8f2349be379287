//! An open table: opening it, and the contents of its meta block.

use std::num::NonZeroU64;
use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, FileNumber, Kind, Order, Result, SEQ_MAX, SeqNo};
use cairndb_env::ReadFile;

use crate::table::index::address::TableFilter;
use crate::table::meta::Meta;
use crate::table::read::source::{PageAccess, Pages, name_of};
use crate::table::{Dictionary, SECTION_MAX, TableSummary};

/// The newest visible version of a key in a table: its sequence number, its kind, and whether older
/// versions may follow. It is one word, returned in a register; separate fields were stored and
/// loaded again in each layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundVersion(NonZeroU64);

/// Flag below the sequence number. Next to it are the kind, in four bits, and a one.
const GOES_ON: u64 = 1 << 6;
const SEQ_SHIFT: u32 = 8;
const KIND_BITS: u64 = 0xf;

impl FoundVersion {
    /// Returns a version; `goes_on` states whether the table may hold older versions of the key.
    #[inline]
    pub(crate) fn new(seq: SeqNo, kind: Kind, goes_on: bool) -> FoundVersion {
        debug_assert!(seq <= SEQ_MAX);
        let goes_on = if goes_on { GOES_ON } else { 0 };
        FoundVersion(NonZeroU64::MIN | (seq << SEQ_SHIFT | goes_on | (kind as u64) << 1))
    }

    /// Returns the version's sequence number.
    #[inline]
    pub fn seq(self) -> SeqNo {
        self.0.get() >> SEQ_SHIFT
    }

    /// Returns the version's kind.
    #[inline]
    pub fn kind(self) -> Kind {
        let number = (self.0.get() >> 1 & KIND_BITS) as u8;
        Kind::from_u8(number).unwrap_or(Kind::Delete)
    }

    /// Returns whether the version is a merge operand and the table may hold older versions of its
    /// key.
    #[inline]
    pub fn goes_on(self) -> bool {
        self.0.get() & GOES_ON != 0
    }
}

/// Reads and checks the meta block, whose end is the end of the file.
///
/// # Errors
/// `Corruption` if the block is damaged, `FormatTooNew` if a later version wrote it; the errors of
/// the file.
pub(crate) fn read_meta(pages: &Pages) -> Result<Meta> {
    let last = pages.read_unchecked(pages.count() - 1, 1)?;
    let (first, count) =
        Meta::find(&last, pages.count()).map_err(|flaw| pages.flaw(pages.count() - 1, flaw))?;
    // In a small table, the block is the last page.
    let block = if count == 1 {
        last
    } else {
        // The block's first page also stores its length: a forged trailer alone could claim the
        // whole file.
        let head = pages.read_unchecked(first, 1)?;
        Meta::spans(&head, count).map_err(|flaw| pages.flaw(first, flaw))?;
        pages.read_unchecked(first, count)?
    };
    pages.check(first, &block, |_| Ok(()))?;
    let checksum = block
        .first_chunk()
        .map_or(0, |chunk| u32::from_le_bytes(*chunk));
    Meta::decode(&block, first, checksum).map_err(|flaw| pages.flaw(first, flaw))
}

/// A table open for reading.
#[derive(Debug)]
pub struct Table {
    pub(crate) pages: Pages,
    pub(crate) order: Order,
    pub(crate) filter: TableFilter,
    pub(crate) meta: Meta,
    /// Whether compactions get raw values to be encoded, not to be copied verbatim.
    pub(crate) deferred: bool,
}

impl Table {
    /// Opens a table whose meta block has the checksum `expected`, which the manifest stores.
    ///
    /// Reads the meta block and nothing else.
    ///
    /// # Errors
    /// `Corruption` if the file is not that table, `InvalidArgument` if it has another order,
    /// `FormatTooNew` if a later version wrote it; the errors of the file.
    pub fn open(
        file: Arc<dyn ReadFile>,
        number: FileNumber,
        order: &Order,
        access: PageAccess,
        expected: u32,
    ) -> Result<Table> {
        let mut pages = Pages::open(file, number, access)?;
        let mut meta = read_meta(&pages)?;
        pages.set_data_pages(meta.data_pages);
        let checksum = meta.summary.checksum;
        if checksum != expected {
            return Err(pages
                .damage(meta.block_at(), "table is not the one the manifest names")
                .expected(format_args!("{expected:#010x}"))
                .found(format_args!("{checksum:#010x}")));
        }
        if meta.order != order.name() {
            return Err(Error::invalid("table has a different key order")
                .file(name_of(number))
                .expected(order.name())
                .found(&meta.order));
        }
        if !meta.fits(order) {
            let message = "index is not the kind that the table's order has";
            return Err(pages.damage(meta.block_at(), message));
        }
        meta.summary.bytes = u64::from(pages.count()) * PAGE_BYTES as u64;
        if pages.is_cached() {
            // One part in sixty, in order: page by page, they would cost the first gets another
            // wait each.
            pages.read_ahead(meta.data_pages, pages.count());
        }
        Ok(Table {
            pages,
            order: order.clone(),
            filter: TableFilter::new(&meta, order),
            meta,
            deferred: false,
        })
    }

    /// Returns whether keys may be of a keyspace that was dropped, whose order is unknown. They
    /// compare equal.
    pub(crate) fn may_have_unknown(&self) -> bool {
        self.meta.summary.section == SECTION_MAX
    }

    /// Checks that the table's keys are in the section that the manifest states.
    ///
    /// # Errors
    /// `Corruption` if they are in another.
    pub fn check_section(&self, expected: u8) -> Result<()> {
        let section = self.meta.summary.section;
        if section == expected {
            return Ok(());
        }
        let message = "table is in another section than the manifest states";
        let error = self.pages.damage(self.meta.block_at(), message);
        Err(error.expected(expected).found(section))
    }

    /// Returns whether pages are reached through a mapping of the file.
    pub fn is_mapped(&self) -> bool {
        self.pages.mapping().is_some()
    }

    /// Sets whether every page is checked at every use instead of once per open.
    #[must_use]
    pub fn verify_always(mut self, always: bool) -> Table {
        self.pages.set_check_always(always);
        self
    }

    /// Sets whether the table's values are stored raw for now, as the builder reported and the
    /// manifest stores. A compaction then encodes them.
    #[must_use]
    pub fn with_deferred(mut self, deferred: bool) -> Table {
        self.deferred = deferred;
        self
    }

    /// Returns the number of the file.
    pub fn file(&self) -> FileNumber {
        self.pages.file()
    }

    /// Returns the first key, or a shorter one before it.
    pub fn smallest(&self) -> &[u8] {
        &self.meta.summary.smallest
    }

    /// Returns the last key, or a shorter one after it.
    pub fn largest(&self) -> &[u8] {
        &self.meta.summary.largest
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> u64 {
        self.meta.summary.entries
    }

    /// Returns the contents of the table.
    pub fn summary(&self) -> &TableSummary {
        &self.meta.summary
    }

    /// Returns the number of bytes of the index pages (filter, fence, tie heads, first keys), which
    /// are mapped or pass through the cache.
    pub fn index_bytes(&self) -> u64 {
        self.meta.index_pages() * PAGE_BYTES as u64
    }

    /// Asks the system to map the whole table now, if it is mapped, so that no reader takes page
    /// faults. For tables that have just been written, whose pages are in memory. Advice only.
    pub fn map_now(&self) {
        self.pages.map_now(0, self.pages.count());
    }

    /// Returns the dictionary that values are encoded against; empty if there is none.
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.meta.dictionary
    }

    /// Replaces the dictionary with an equal one that other tables also hold. Compactions then see
    /// at once that values can be copied verbatim.
    ///
    /// # Panics
    /// Panics if the bytes differ.
    pub fn share_dictionary(&mut self, same: Arc<Dictionary>) {
        assert!(same == self.meta.dictionary, "another dictionary");
        self.meta.dictionary = same;
    }

    /// Returns the number of heap bytes held while the table is open; a shared dictionary is
    /// divided equally among its holders.
    pub fn memory_bytes(&self) -> usize {
        let summary = &self.meta.summary;
        size_of::<Table>()
            + self.pages.memory_bytes()
            + self.meta.top.len()
            + self.meta.dictionary.memory_bytes() / Arc::strong_count(&self.meta.dictionary)
            + summary.smallest.len()
            + summary.largest.len()
            + summary.value_refs.len() * 16
    }
}
