//! The written part of a table under construction: its pages so far, and the data that the index
//! needs.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{FileNumber, Order, Result, SeqNo};
use cairndb_env::WritableFile;

use crate::table::TableSummary;
use crate::table::build::groups::GroupPacker;
use crate::table::build::output::{APPEND_BYTES, Output};
use crate::table::index::fence_build::{FenceBuilder, FinishedFence};
use crate::table::index::filter::{FilterLines, Hashes, LINES_PER_PAGE};
use crate::table::meta::Meta;
use crate::table::page::bits::low32;
use crate::table::page::layout::{HEADER_BYTES, flag, page_kind};
use crate::table::page::writer::{NewEntry, PageWriter};
use crate::table::read::source::{file_seed, seal};

/// The written pages.
pub(super) struct WrittenPages {
    output: Output,
    fence: FenceBuilder,
    /// The last key and sequence number.
    last_key: Vec<u8>,
    last_seq: Option<SeqNo>,
}

impl WrittenPages {
    /// Returns an empty list of pages, in an empty file with this number.
    pub(super) fn new(
        file: Box<dyn WritableFile>,
        number: FileNumber,
        bytewise: bool,
    ) -> WrittenPages {
        WrittenPages {
            output: Output::new(file, file_seed(number)),
            fence: FenceBuilder::new(bytewise),
            last_key: Vec::new(),
            last_seq: None,
        }
    }

    /// Returns the number of pages.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.output.pages
    }

    /// Returns the number of data pages and extents.
    pub(super) fn units(&self) -> usize {
        self.fence.units()
    }

    /// Returns the first key; empty before the first data page.
    pub(super) fn smallest(&self) -> &[u8] {
        self.fence.smallest()
    }

    /// Returns the last key and sequence number.
    #[inline]
    pub(super) fn last(&self) -> Option<(&[u8], SeqNo)> {
        self.last_seq.map(|seq| (&self.last_key[..], seq))
    }

    /// Returns the last key; empty before the first data page.
    pub(super) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Returns the number of heap bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.output.buffer.capacity() + self.fence.memory_bytes() + self.last_key.capacity()
    }

    /// Returns whether `key` is the last key.
    fn continues(&self, key: &[u8], order: &Order) -> bool {
        self.last_seq.is_some() && order.compare(&self.last_key, key).is_eq()
    }

    fn note_last(&mut self, key: &[u8], seq: SeqNo) {
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.last_seq = Some(seq);
    }

    /// Writes the page under construction, if it has entries, and empties it.
    pub(super) fn write_page(
        &mut self,
        page: &mut PageWriter,
        groups: &mut Option<GroupPacker>,
        order: &Order,
    ) -> Result<()> {
        let Some((key, seq)) = page.last() else {
            return Ok(());
        };
        let continued = self.continues(page.key(0), order);
        self.fence.add(page.key(0), self.output.pages);
        self.note_last(key, seq);
        let start = self.output.buffer.len();
        let buffer = &mut self.output.buffer;
        match groups {
            Some(groups) if groups.has_groups() => groups.write(page, continued, buffer),
            _ => page.write(continued, buffer),
        }
        self.output.seal_pages(start);
        page.restart();
        self.output.append_when_full()
    }

    /// Writes an entry too large for a page; its value is the only one in `page.values`, which is
    /// emptied.
    pub(super) fn write_extent(
        &mut self,
        entry: &NewEntry<'_>,
        page: &mut PageWriter,
        order: &Order,
    ) -> Result<()> {
        self.fence.add(entry.key, self.output.pages);
        let mut header = [0u8; HEADER_BYTES];
        header[4] = page_kind::EXTENT;
        header[5] = u8::from(self.continues(entry.key, order)) * flag::CONTINUED;
        header[6] = 1;
        header[13] = entry.kind as u8;
        header[14] = page.alone_mode(entry.raw_len != entry.stored_len) as u8;
        header[16..20].copy_from_slice(&low32(entry.key.len()).to_le_bytes());
        header[24..32].copy_from_slice(&entry.seq.to_le_bytes());
        header[32..36].copy_from_slice(&low32(entry.raw_len).to_le_bytes());
        header[36..40].copy_from_slice(&low32(entry.stored_len).to_le_bytes());
        self.output.write_extent(header, entry.key, &page.values)?;
        page.values.clear();
        page.values.shrink_to(APPEND_BYTES);
        self.note_last(entry.key, entry.seq);
        self.output.append_when_full()
    }

    /// Writes the filter pages; returns the number of lines and probes.
    pub(super) fn write_filter(&mut self, hashes: Hashes, bits_per_key: u32) -> Result<(u32, u32)> {
        if hashes.len() == 0 {
            return Ok((0, 0));
        }
        let filter = FilterLines::build(&hashes, bits_per_key);
        drop(hashes);
        for (index, lines) in filter.lines.chunks(LINES_PER_PAGE).enumerate() {
            let start = self.output.buffer.len();
            let buffer = &mut self.output.buffer;
            buffer.resize(start + PAGE_BYTES, 0);
            let page = &mut buffer[start..];
            page[4] = page_kind::FILTER;
            page[8..12].copy_from_slice(&low32(index).to_le_bytes());
            page[12..16].copy_from_slice(&filter.count().to_le_bytes());
            let (slots, _) = page.as_chunks_mut::<64>();
            for (slot, line) in slots[1..].iter_mut().zip(lines) {
                *slot = *line;
            }
            self.output.seal_pages(start);
            self.output.append_when_full()?;
        }
        Ok((filter.count(), filter.probes))
    }

    /// Writes the pages of the fence over `data_pages` of a table with these bounds.
    pub(super) fn write_fence(
        &mut self,
        bounds: [&[u8]; 2],
        data_pages: u32,
    ) -> Result<FinishedFence> {
        let fence = self.fence.finish(bounds, data_pages);
        let start = self.output.buffer.len();
        self.output.buffer.extend_from_slice(&fence.pages);
        self.output.seal_pages(start);
        self.output.append_when_full()?;
        Ok(fence)
    }

    /// Writes the meta block, and with it the end of the file. Returns its summary with checksum
    /// and length.
    ///
    /// # Panics
    /// Panics if the file does not hold as many bytes as were appended.
    pub(super) fn write_meta(mut self, meta: Meta) -> Result<TableSummary> {
        let output = &mut self.output;
        let mut block = meta.encode();
        let mut summary = meta.summary;
        summary.checksum = seal(output.seed, output.pages, &mut block);
        output.buffer.extend_from_slice(&block);
        output.append()?;
        summary.bytes = u64::from(output.pages) * PAGE_BYTES as u64 + block.len() as u64;
        assert_eq!(
            summary.bytes,
            output.file.size(),
            "the file's length differs from the bytes appended"
        );
        Ok(summary)
    }
}
