//! Salvage: the entries of a damaged table, page by page, without its index.
//!
//! Every data page and extent can be read alone, and its checksum binds it to the file's number and
//! its own place. So a table whose index, meta block or length is damaged still yields every entry
//! of every intact page. What the index would add (how many pages hold data, how many entries there
//! were) comes from [`TableFacts`], if the meta block is intact.
//!
//! Work is linear in the file: bytes read for extents that turn out to be damaged are limited to a
//! multiple of its length.

use std::sync::Arc;

use cairndb_base::coding::get_u32;
use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, ErrorKind, FileNumber, Order, Result};
use cairndb_env::ReadFile;

use crate::table::mark::begins_as_table;
use crate::table::page::Page;
use crate::table::page::extent::pages_of;
use crate::table::page::layout::{Flaw, Layout, ValueMode, page_kind};
use crate::table::read::open::read_meta;
use crate::table::read::source::{PageAccess, Pages, file_seed, name_of, page_checksum};
use crate::table::{Dictionary, EntryMark, TableSummary};

/// Bytes that may be read for damaged extents, as a multiple of the file's length.
const WASTE_FACTOR: u64 = 4;

/// Contents of an intact meta block.
#[derive(Clone, Debug)]
pub struct TableFacts {
    /// Name of the key order.
    pub order: String,
    /// Number of pages that hold data; index pages follow.
    pub data_pages: u32,
    /// Bounds and counts of the entries.
    pub summary: TableSummary,
    /// The dictionary that values are encoded against; empty if there is none.
    pub dictionary: Arc<Dictionary>,
}

impl TableFacts {
    /// Reads the meta block of table `number` and nothing else.
    ///
    /// # Errors
    /// `Corruption` if the block is damaged or belongs to another file; `FormatTooNew`; the errors
    /// of the file.
    pub fn read(file: &Arc<dyn ReadFile>, number: FileNumber) -> Result<TableFacts> {
        let pages = Pages::open(Arc::clone(file), number, PageAccess::Mapped(None))?;
        let meta = read_meta(&pages)?;
        Ok(TableFacts {
            order: meta.order,
            data_pages: meta.data_pages,
            summary: meta.summary,
            dictionary: meta.dictionary,
        })
    }
}

/// Returns whether `file` is table `number`: its meta block or its first page is intact and bound
/// to that number. Reads the meta block, the first page or extent.
///
/// # Errors
/// The errors of reading the file.
pub fn is_table_number(file: &Arc<dyn ReadFile>, number: FileNumber) -> Result<bool> {
    if begins_as_table(&**file, number)? {
        return Ok(true);
    }
    match TableFacts::read(file, number) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(false),
    }
}

/// What [`TableSalvage::advance`] found at a page.
#[derive(Debug)]
pub enum Salvaged {
    /// A data page or extent with its entries.
    Entries(SalvagedPage),
    /// An intact page of the index.
    Index {
        /// Number of data pages, if this page states it.
        data_pages: Option<u32>,
    },
    /// Pages that are not what was written.
    Damaged {
        /// Reason, with file and offset.
        error: Error,
    },
}

/// A scan over all pages of a table that may be damaged.
#[derive(Debug)]
pub struct TableSalvage {
    file: Arc<dyn ReadFile>,
    number: FileNumber,
    order: Order,
    dictionary: Option<Arc<Dictionary>>,
    seed: u32,
    at: u32,
    pages: u32,
    /// Bytes that may still be read for extents that turn out to be damaged.
    waste: u64,
}

impl TableSalvage {
    /// Returns a scan from the first page. `dictionary` is the table's; `None` if it is not known,
    /// in which case values encoded against it are lost.
    pub fn new(
        file: Arc<dyn ReadFile>,
        number: FileNumber,
        order: &Order,
        dictionary: Option<Arc<Dictionary>>,
    ) -> TableSalvage {
        let size = file.size();
        TableSalvage {
            number,
            order: order.clone(),
            dictionary,
            seed: file_seed(number),
            at: 0,
            pages: u32::try_from(size / PAGE_BYTES as u64).unwrap_or(u32::MAX),
            waste: size.saturating_mul(WASTE_FACTOR),
            file,
        }
    }

    /// Returns the number of whole pages in the file.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the next page's number and what it holds, or `None` at the end of the file.
    ///
    /// # Errors
    /// `FormatTooNew` if a later version wrote the page. Everything else, read errors included, is
    /// a [`Salvaged::Damaged`].
    pub fn advance(&mut self) -> Result<Option<(u32, Salvaged)>> {
        if self.at >= self.pages {
            return Ok(None);
        }
        let page = self.at;
        let found = self.examine(page);
        match found {
            Ok((pages, salvaged)) => {
                self.at = page.saturating_add(pages);
                Ok(Some((page, salvaged)))
            }
            Err(error) if error.kind() == ErrorKind::FormatTooNew => Err(error),
            Err(error) => {
                self.at = page.saturating_add(1);
                Ok(Some((page, Salvaged::Damaged { error })))
            }
        }
    }

    /// Returns what `page` holds, and in how many pages.
    fn examine(&mut self, page: u32) -> Result<(u32, Salvaged)> {
        let first = self.read(page, 1)?;
        let pages = self.bounded_pages(page, &first)?;
        let bytes = if pages == 1 {
            first
        } else {
            self.read(page, pages)?
        };
        let stored = get_u32(&bytes, 0).unwrap_or_default();
        let found = page_checksum(self.seed, page, &bytes);
        if stored != found {
            if pages > 1 {
                let read = u64::from(pages).saturating_mul(PAGE_BYTES as u64);
                self.waste = self.waste.saturating_sub(read);
            }
            return Err(self.damage(page, "page checksum does not match"));
        }
        let kind = bytes.get(4).copied().unwrap_or_default();
        match kind {
            page_kind::DATA | page_kind::EXTENT => {}
            page_kind::FILTER => {
                let index = get_u32(&bytes, 8).unwrap_or_default();
                let data_pages = page.checked_sub(index);
                return Ok((1, Salvaged::Index { data_pages }));
            }
            page_kind::FENCE | page_kind::META | page_kind::TIES | page_kind::KEYS => {
                return Ok((1, Salvaged::Index { data_pages: None }));
            }
            _ => return Err(self.flaw(page, Flaw::TooNew("page kind"))),
        }
        let layout = Layout::parse(&bytes)
            .and_then(|layout| layout.validate(&bytes, &self.order).map(|()| layout))
            .map_err(|flaw| self.flaw(page, flaw))?;
        let entries = SalvagedPage {
            bytes,
            layout,
            dictionary: self.dictionary.clone(),
            number: self.number,
            page,
        };
        Ok((pages, Salvaged::Entries(entries)))
    }

    /// Returns the number of pages of the unit that starts with `first`, if reading them is
    /// worthwhile.
    fn bounded_pages(&self, page: u32, first: &[u8]) -> Result<u32> {
        let claimed = pages_of(first);
        let left = u64::from(self.pages.saturating_sub(page));
        if claimed == 1 {
            return Ok(1);
        }
        let bytes = claimed.saturating_mul(PAGE_BYTES as u64);
        match u32::try_from(claimed) {
            Ok(pages) if claimed <= left && bytes <= self.waste => Ok(pages),
            _ => Err(self.damage(page, "extent reaches past the end of the file")),
        }
    }

    fn read(&self, page: u32, pages: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; pages as usize * PAGE_BYTES];
        let offset = u64::from(page) * PAGE_BYTES as u64;
        self.file
            .read_at(offset, &mut bytes)
            .map_err(|error| error.file(name_of(self.number)).offset(offset))?;
        Ok(bytes)
    }

    fn damage(&self, page: u32, message: &'static str) -> Error {
        Error::corruption(message)
            .file(name_of(self.number))
            .offset(u64::from(page) * PAGE_BYTES as u64)
    }

    fn flaw(&self, page: u32, flaw: Flaw) -> Error {
        match flaw {
            Flaw::Damaged(message) => self.damage(page, message),
            Flaw::TooNew(what) => self.damage(page, what).with_kind(ErrorKind::FormatTooNew),
        }
    }
}

/// An intact data page or extent.
#[derive(Debug)]
pub struct SalvagedPage {
    bytes: Vec<u8>,
    layout: Layout,
    dictionary: Option<Arc<Dictionary>>,
    number: FileNumber,
    page: u32,
}

impl SalvagedPage {
    fn view(&self) -> Page<'_, '_> {
        Page {
            bytes: &self.bytes,
            layout: &self.layout,
        }
    }

    /// Returns the number of entries, at least 1.
    pub fn count(&self) -> usize {
        self.layout.count()
    }

    /// Returns the number of pages that the unit takes.
    pub fn pages(&self) -> u32 {
        u32::try_from(self.bytes.len() / PAGE_BYTES).unwrap_or(u32::MAX)
    }

    /// Replaces the contents of `out` with the key of entry `index`.
    pub fn key_into(&self, index: usize, out: &mut Vec<u8>) {
        out.clear();
        self.view().key_into(index, out);
    }

    /// Returns sequence number and kind of entry `index`.
    pub fn mark(&self, index: usize) -> EntryMark {
        self.view().mark(index)
    }

    /// Replaces the contents of `out` with the value of entry `index`.
    ///
    /// # Errors
    /// `Corruption` if it does not decode, or if it is encoded against a dictionary that is lost.
    pub fn value_into(&self, index: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let wrong = |message| {
            Error::corruption(message)
                .file(name_of(self.number))
                .offset(u64::from(self.page) * PAGE_BYTES as u64)
        };
        let values = self.view().values();
        let nothing = Dictionary::new(&[]);
        let dictionary = match &self.dictionary {
            Some(dictionary) => dictionary,
            None if self.layout.mode == ValueMode::Dictionary && values.is_shared(index) => {
                return Err(wrong(
                    "value is encoded against a dictionary that is lost with the meta block",
                ));
            }
            None => &nothing,
        };
        values
            .value_into(index, dictionary, out)
            .map_err(|_| wrong("value does not decode"))
    }
}
