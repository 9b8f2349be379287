//! Pages of one file: fetched from a mapping or through a cache, and checked before first use.
//!
//! Flow: everything a [`Table`](crate::table::Table) reads comes through [`Pages`].
//!
//! Invariant: no byte of a page reaches a reader before the page's checksum (bound to file and page
//! number) and structure have been checked. For a mapped table a bitmap remembers what has been
//! checked since the open; a page read with `pread` is checked at every read and then cached.
//!
//! Threads: the bitmap consists of relaxed atomics. Two threads may check one page twice, which is
//! harmless: a set bit only means that the bytes of an immutable file were once verified.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, ErrorKind, FileNumber, PageCache, Result};
use cairndb_env::{Access, Mapping, ReadFile};
use cairndb_kernel::{crc32c_append, prefetch_span};

use crate::name;
use crate::table::index::filter::LINE_BYTES;
use crate::table::page::layout::Flaw;
use crate::table::page::plain::PageBytes;

/// Number of lines of a page that hold its header and, on most pages, its heads.
const LINES_OF_COLUMNS: usize = 4;
/// Number of lines prefetched around the likely position of a value. Random keys lie a few entries
/// away from where interpolating their heads predicts. With 4 lines, gets and seeks outside the
/// caches were slower than with 8; 12 and 16 gained nothing more.
const LINES_OF_VALUE: usize = 8;

/// Access to the pages of a table.
#[derive(Clone, Debug)]
pub enum PageAccess {
    /// In place, from a mapping of the file. If the environment does not map files, or cannot map
    /// one more, pages are read as with `Cached`, but are not kept if there is no cache.
    Mapped(Option<Arc<dyn PageCache>>),
    /// With `pread`, kept in this cache.
    Cached(Arc<dyn PageCache>),
    /// With `pread`, kept nowhere: for a table that is read once.
    Uncached,
}

/// Bytes of one page or extent.
#[derive(Clone, Debug)]
pub(crate) enum PageRef<'a> {
    /// In the mapping.
    Mapped(&'a [u8]),
    /// Read, and perhaps shared with the cache.
    Owned(Arc<[u8]>),
}

impl Deref for PageRef<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            PageRef::Mapped(bytes) => bytes,
            PageRef::Owned(bytes) => bytes,
        }
    }
}

#[derive(Debug)]
enum Backing {
    Mapped(Mapping),
    Read(Option<Arc<dyn PageCache>>),
}

/// The pages of one open file.
#[derive(Debug)]
pub(crate) struct Pages {
    backing: Backing,
    source: Arc<dyn ReadFile>,
    file: FileNumber,
    seed: u32,
    count: u32,
    checked: Box<[AtomicU64]>,
    /// Number of data pages, the first ones of the file, once it is known.
    data: u32,
    /// Number of data pages of a mapping that have not been checked.
    unchecked: AtomicU32,
    /// Start of the values in the page checked last: a guess for other pages, used for prefetching.
    values_hint: AtomicU32,
    check_always: bool,
}

/// Returns the initial state of every page checksum of a file.
pub(crate) fn file_seed(file: FileNumber) -> u32 {
    crc32c_append(0, &file.0.to_le_bytes())
}

/// Returns the checksum of page (or first page of an extent or block) `number`.
#[inline]
pub(crate) fn page_checksum(seed: u32, number: u32, bytes: &[u8]) -> u32 {
    let place = crc32c_append(seed, &number.to_le_bytes());
    crc32c_append(place, bytes.get(4..).unwrap_or_default())
}

/// Puts the checksum into the first four bytes of `bytes`.
pub(crate) fn seal(seed: u32, number: u32, bytes: &mut [u8]) -> u32 {
    let checksum = page_checksum(seed, number, bytes);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

impl Pages {
    pub(crate) fn open(
        source: Arc<dyn ReadFile>,
        file: FileNumber,
        access: PageAccess,
    ) -> Result<Pages> {
        let size = source.size();
        let page = PAGE_BYTES as u64;
        let count = u32::try_from(size / page).unwrap_or(u32::MAX);
        if !size.is_multiple_of(page) || u64::from(count) * page != size || count == 0 {
            return Err(
                Error::corruption("table length is not a multiple of the page size")
                    .file(name_of(file))
                    .offset(0)
                    .expected("a positive multiple of 4096")
                    .found(size),
            );
        }
        let backing = match access {
            PageAccess::Cached(cache) => Backing::Read(Some(cache)),
            PageAccess::Uncached => Backing::Read(None),
            // A process can have some ten thousand mappings, and with 32 bits a few gigabytes of
            // address space, for everything it opens.
            PageAccess::Mapped(cache) => match source.map(size, Access::Random) {
                Ok(Some(mapping)) if mapping.len() as u64 >= size => Backing::Mapped(mapping),
                _ => Backing::Read(cache),
            },
        };
        let words = match &backing {
            Backing::Mapped(_) => (count as usize).div_ceil(64),
            Backing::Read(_) => 0,
        };
        Ok(Pages {
            backing,
            source,
            file,
            seed: file_seed(file),
            count,
            checked: (0..words).map(|_| AtomicU64::new(0)).collect(),
            data: 0,
            unchecked: AtomicU32::new(0),
            values_hint: AtomicU32::new(0),
            check_always: false,
        })
    }

    pub(crate) fn set_check_always(&mut self, always: bool) {
        self.check_always = always;
    }

    pub(crate) fn file(&self) -> FileNumber {
        self.file
    }

    /// Returns the number of pages in the file.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the whole mapping, if there is one.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<&[u8]> {
        match &self.backing {
            Backing::Mapped(mapping) => Some(mapping),
            Backing::Read(_) => None,
        }
    }

    /// Asks the system to read the pages from `first` up to `end` that are not in memory. Does not
    /// wait.
    pub(crate) fn read_ahead(&self, first: u32, end: u32) {
        let pages = u64::from(end.min(self.count).saturating_sub(first));
        match self.mapped(first, end) {
            Some((mapping, start, len)) => mapping.read_ahead(start, len),
            None if pages == 0 => {}
            None => {
                let page = PAGE_BYTES as u64;
                self.source
                    .advise(u64::from(first) * page, pages * page, true);
            }
        }
    }

    /// Returns whether reading a data page may wait for the disk. Of a mapping, one that was
    /// checked counts as in memory: tables are mapped if memory holds all of them.
    #[inline]
    pub(crate) fn may_wait(&self) -> bool {
        match &self.backing {
            Backing::Mapped(_) => self.unchecked.load(Ordering::Relaxed) > 0,
            Backing::Read(_) => true,
        }
    }

    /// Returns whether pages are read into a cache.
    pub(crate) fn is_cached(&self) -> bool {
        matches!(self.backing, Backing::Read(Some(_)))
    }

    /// Returns whether page `number` is likely in memory.
    pub(crate) fn is_near(&self, number: u32) -> bool {
        match &self.backing {
            Backing::Mapped(_) => self.is_checked(number),
            Backing::Read(Some(cache)) => cache.get(self.file, number).is_some(),
            Backing::Read(None) => false,
        }
    }

    /// Asks the system to read the pages from `first` up to `end`, unless the first is likely in
    /// memory. Returns whether it asked. Does not wait, so that several pages are read at a time.
    pub(crate) fn request(&self, first: u32, end: u32) -> bool {
        let asks = first < self.count && !self.is_near(first);
        if asks {
            self.read_ahead(first, end);
        }
        asks
    }

    /// Asks the system to map these pages now, so that reading them takes no page fault.
    pub(crate) fn map_now(&self, first: u32, end: u32) {
        if let Some((mapping, start, len)) = self.mapped(first, end) {
            mapping.map_now(start, len);
        }
    }

    fn mapped(&self, first: u32, end: u32) -> Option<(&Mapping, usize, usize)> {
        let Backing::Mapped(mapping) = &self.backing else {
            return None;
        };
        let pages = end.min(self.count).checked_sub(first)?;
        if pages == 0 {
            return None;
        }
        let start = first as usize * PAGE_BYTES;
        Some((mapping, start, pages as usize * PAGE_BYTES))
    }

    /// Returns the number of heap bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.checked.len() * 8
    }

    /// Returns whether page `number` of the mapping has been checked since the open.
    #[inline]
    pub(crate) fn is_checked(&self, number: u32) -> bool {
        let word = self.checked.get(number as usize / 64);
        // Relaxed: the bit guards no other memory; the file's bytes never change.
        !self.check_always
            && word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 == 1)
    }

    /// Returns the approximate start of the values in a page, below [`PAGE_BYTES`].
    #[inline]
    pub(crate) fn values_hint(&self) -> usize {
        // Relaxed: any value will do.
        self.values_hint.load(Ordering::Relaxed) as usize % PAGE_BYTES
    }

    pub(crate) fn set_values_hint(&self, values_at: u32) {
        self.values_hint.store(values_at, Ordering::Relaxed);
    }

    /// Prefetches the columns of a page and, at once, the lines where a value is likely to be,
    /// `share` 4096ths into the values: the page is rarely in a cache, and one wait is shorter than
    /// two.
    #[inline]
    pub(crate) fn prefetch_likely(&self, page: &PageBytes, share: u32) {
        let values = self.values_hint();
        let value = values + (PAGE_BYTES - values) * share as usize / PAGE_BYTES;
        prefetch_span(page.as_ptr(), LINES_OF_COLUMNS * LINE_BYTES);
        // Lines on both sides: half of the guesses are too high.
        let before = (LINES_OF_VALUE / 2 - 1) * LINE_BYTES;
        let value = page.as_ptr().wrapping_add(value).wrapping_sub(before);
        prefetch_span(value, LINES_OF_VALUE * LINE_BYTES);
    }

    /// Sets the number of data pages, before any of them is read.
    pub(crate) fn set_data_pages(&mut self, pages: u32) {
        self.data = pages;
        self.unchecked = AtomicU32::new(pages);
    }

    fn mark_checked(&self, number: u32, pages: u32) {
        if let Some(word) = self.checked.get(number as usize / 64) {
            let bit = 1 << (number % 64);
            if word.fetch_or(bit, Ordering::Relaxed) & bit == 0 && number < self.data {
                self.unchecked.fetch_sub(pages, Ordering::Relaxed);
            }
        }
    }

    /// Returns page `number`, or the `pages` pages that start there. `mapping` is the result of
    /// [`Pages::mapping`]. `validate` is called once for the bytes, after their checksum has been
    /// verified.
    #[inline]
    pub(crate) fn get<'t>(
        &'t self,
        mapping: Option<&'t [u8]>,
        number: u32,
        pages: u32,
        validate: impl Fn(&[u8]) -> std::result::Result<(), Flaw>,
    ) -> Result<PageRef<'t>> {
        if let Some(mapping) = mapping {
            let start = number as usize * PAGE_BYTES;
            let end = start + pages as usize * PAGE_BYTES;
            if let Some(bytes) = mapping.get(start..end) {
                if !self.is_checked(number) {
                    self.check(number, bytes, validate)?;
                    self.mark_checked(number, pages);
                }
                return Ok(PageRef::Mapped(bytes));
            }
        }
        self.read(number, pages, validate)
    }

    fn read(
        &self,
        number: u32,
        pages: u32,
        validate: impl Fn(&[u8]) -> std::result::Result<(), Flaw>,
    ) -> Result<PageRef<'_>> {
        let len = pages as usize * PAGE_BYTES;
        let cache = match &self.backing {
            Backing::Read(Some(cache)) => Some(cache),
            _ => None,
        };
        if let Some(bytes) = cache.and_then(|cache| cache.get(self.file, number))
            && bytes.len() == len
        {
            return Ok(PageRef::Owned(bytes));
        }
        let bytes: Arc<[u8]> = self.read_unchecked(number, pages)?.into();
        self.check(number, &bytes, validate)?;
        if let Some(cache) = cache {
            cache.insert(self.file, number, Arc::clone(&bytes));
        }
        Ok(PageRef::Owned(bytes))
    }

    /// Reads pages from the file, bypassing mapping and cache, unchecked.
    pub(crate) fn read_unchecked(&self, number: u32, pages: u32) -> Result<Vec<u8>> {
        let offset = u64::from(number) * PAGE_BYTES as u64;
        if number.checked_add(pages).is_none_or(|end| end > self.count) {
            return Err(self.damage(number, "table refers to a page past its end"));
        }
        let mut bytes = vec![0u8; pages as usize * PAGE_BYTES];
        self.source
            .read_at(offset, &mut bytes)
            .map_err(|error| error.file(name_of(self.file)).offset(offset))?;
        Ok(bytes)
    }

    /// Returns the first page of an extent, before the extent can be checked. Only its length may
    /// be used.
    pub(crate) fn peek<'t>(
        &'t self,
        mapping: Option<&'t [u8]>,
        number: u32,
    ) -> Result<PageRef<'t>> {
        if let Some(mapping) = mapping {
            let start = number as usize * PAGE_BYTES;
            if let Some(bytes) = mapping.get(start..start + PAGE_BYTES) {
                return Ok(PageRef::Mapped(bytes));
            }
        }
        if let Backing::Read(Some(cache)) = &self.backing
            && let Some(bytes) = cache.get(self.file, number)
        {
            return Ok(PageRef::Owned(bytes));
        }
        Ok(PageRef::Owned(self.read_unchecked(number, 1)?.into()))
    }

    /// Checks bytes against their checksum and `validate`.
    #[cold]
    #[inline(never)]
    pub(crate) fn check(
        &self,
        number: u32,
        bytes: &[u8],
        validate: impl Fn(&[u8]) -> std::result::Result<(), Flaw>,
    ) -> Result<()> {
        let found = page_checksum(self.seed, number, bytes);
        let stored = bytes
            .first_chunk()
            .map_or(0, |chunk| u32::from_le_bytes(*chunk));
        if stored != found {
            return Err(self
                .damage(number, "page checksum does not match")
                .expected(format_args!("{stored:#010x}"))
                .found(format_args!("{found:#010x}")));
        }
        validate(bytes).map_err(|flaw| self.flaw(number, flaw))
    }

    /// Returns the error for damage in a page.
    #[cold]
    pub(crate) fn damage(&self, number: u32, message: &'static str) -> Error {
        Error::corruption(message)
            .file(name_of(self.file))
            .offset(u64::from(number) * PAGE_BYTES as u64)
    }

    /// Returns the error for a flaw of a page.
    #[cold]
    pub(crate) fn flaw(&self, number: u32, flaw: Flaw) -> Error {
        match flaw {
            Flaw::Damaged(message) => self.damage(number, message),
            Flaw::TooNew(what) => Error::new(ErrorKind::FormatTooNew, what)
                .file(name_of(self.file))
                .offset(u64::from(number) * PAGE_BYTES as u64),
        }
    }
}

/// Returns the name of a table file, for messages.
pub(crate) fn name_of(file: FileNumber) -> String {
    name::table(file)
}
