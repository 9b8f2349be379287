//! Output of a table under construction: the file, and the pages not yet appended to it.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, Result};
use cairndb_env::WritableFile;
use cairndb_kernel::crc32c_append;

use crate::table::page::layout::HEADER_BYTES;
use crate::table::read::source::seal;

/// Pages are appended in units of this size. Linux makes page-cache folios as large as the appends,
/// so larger appends cost less per page; beyond this size little is gained. Four tables may be
/// under construction within a budget of 4 MiB, which twice this size would exceed.
pub(crate) const APPEND_BYTES: usize = 64 << 10;

/// The file and what has not been appended to it yet.
pub(crate) struct Output {
    pub(crate) file: Box<dyn WritableFile>,
    pub(crate) buffer: Vec<u8>,
    pub(crate) seed: u32,
    /// Number of pages appended or in the buffer.
    pub(crate) pages: u32,
}

impl Output {
    pub(crate) fn new(file: Box<dyn WritableFile>, seed: u32) -> Output {
        Output {
            file,
            buffer: Vec::with_capacity(APPEND_BYTES + PAGE_BYTES),
            seed,
            pages: 0,
        }
    }

    /// Seals the pages from `start` of the buffer on, each separately.
    pub(crate) fn seal_pages(&mut self, start: usize) {
        for page in self.buffer[start..].chunks_exact_mut(PAGE_BYTES) {
            seal(self.seed, self.pages, page);
            self.pages += 1;
        }
    }

    /// Writes an extent. An extent that would overfill the buffer goes directly to the file.
    pub(crate) fn write_extent(
        &mut self,
        mut header: [u8; HEADER_BYTES],
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        const PADDING: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
        let used = HEADER_BYTES + key.len() + value.len();
        let len = used.next_multiple_of(PAGE_BYTES);
        let padding = &PADDING[..len - used];
        let place = crc32c_append(self.seed, &self.pages.to_le_bytes());
        let checksum = [&header[4..], key, value, padding]
            .into_iter()
            .fold(place, crc32c_append);
        header[..4].copy_from_slice(&checksum.to_le_bytes());
        self.pages = u32::try_from(len / PAGE_BYTES)
            .ok()
            .and_then(|pages| self.pages.checked_add(pages))
            .ok_or_else(|| Error::invalid("table is too long"))?;
        let parts = [&header[..], key, value, padding];
        if len > APPEND_BYTES {
            self.append()?;
            return self.file.append_parts(&parts);
        }
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
        Ok(())
    }

    pub(crate) fn append_when_full(&mut self) -> Result<()> {
        if self.buffer.len() >= APPEND_BYTES {
            self.append()?;
        }
        Ok(())
    }

    pub(crate) fn append(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.append(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}
