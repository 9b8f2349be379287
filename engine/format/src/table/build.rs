//! Builder: writes a table from entries in order.
//!
//! Flow: flush and compaction call [`TableBuilder::add`] once per entry and
//! [`TableBuilder::finish`] once. The first entries are held back until their values have
//! determined how values are stored. Entries are collected in a page writer until the next one
//! would not fit into 4 KiB when encoded. Pages are collected in a buffer that is written to the
//! file 64 KiB at a time. Filter, fence index and meta block follow.
//!
//! 1. `choice.rs`, `pending.rs`, `sample.rs`, `dictionary.rs`: how values are stored, chosen from
//!    the first ones.
//! 2. `value.rs`, `shared.rs`, `packing.rs`, `groups.rs`: values alone, against a dictionary, in
//!    groups.
//! 3. `written.rs`, `output.rs`: the written pages, and the file.
//!
//! Invariant: keys ascend, and versions of a key descend in sequence number. An entry out of order
//! is refused before it can reach the file.

mod choice;
mod dictionary;
mod groups;
mod output;
mod packing;
mod pending;
mod sample;
mod shared;
mod value;
mod written;

use std::cmp::Ordering;
use std::sync::Arc;

use cairndb_base::limits::{PAGE_BYTES, STORED_KEY_BYTES_MAX};
use cairndb_base::{Error, Kind, Order, Result, SEQ_MAX, SeqNo, hash64};
use cairndb_env::WritableFile;
use cairndb_kernel::codec::Dictionary;

use self::shared::SharedDictionary;
use self::value::{ValueEncoder, refuse};
use self::written::WrittenPages;
use crate::manifest::HiddenVersions;
use crate::table::build::groups::GroupPacker;
use crate::table::build::pending::PendingEntries;
use crate::table::index::filter::{Hashes, fold};
use crate::table::meta::Meta;
use crate::table::page::bits::{compare_keys, low32};
use crate::table::page::writer::{NewEntry, PageWriter};
use crate::value_file::{Pointer, record_bytes};

use crate::table::{
    BoundLimits, Compression, RAW_LEN_MAX_IN_PAGE, TableOptions, TableSummary, ValueIn,
};

/// A table under construction.
///
/// The file is not synced: the caller syncs it through a handle obtained earlier, and must not let
/// the manifest name the file before that.
pub struct TableBuilder {
    written: WrittenPages,
    options: TableOptions,
    encoder: ValueEncoder,
    page: PageWriter,
    /// Set until the first values have determined how values are stored.
    pending: Option<PendingEntries>,
    /// Set when values are stored in groups.
    groups: Option<GroupPacker>,
    hashes: Hashes,
    summary: TableSummary,
    hidden: HiddenVersions,
    /// Whether the last key has a value or tombstone, which hides its older versions.
    ended: bool,
}

impl std::fmt::Debug for TableBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableBuilder")
            .field("file", &self.options.file)
            .field("entries", &self.summary.entries)
            .finish_non_exhaustive()
    }
}

impl TableBuilder {
    /// Returns a builder that writes to an empty file.
    pub fn new(file: Box<dyn WritableFile>, options: TableOptions) -> TableBuilder {
        let bytewise = options.order.is_bytewise();
        TableBuilder {
            written: WrittenPages::new(file, options.file, bytewise),
            encoder: ValueEncoder::new(&options),
            page: PageWriter::new(bytewise),
            pending: matches!(
                options.compression,
                Compression::Adaptive | Compression::Deferred
            )
            .then(PendingEntries::default),
            groups: None,
            hashes: Hashes::default(),
            summary: TableSummary {
                section: options.section,
                smallest: Vec::new(),
                largest: Vec::new(),
                seq_min: SeqNo::MAX,
                seq_max: 0,
                entries: 0,
                deletes: 0,
                bytes: 0,
                raw_bytes: 0,
                checksum: 0,
                value_refs: Vec::new(),
                loose_bounds: false,
            },
            hidden: HiddenVersions::default(),
            ended: false,
            options,
        }
    }

    /// Adds an entry after all others.
    ///
    /// # Errors
    /// `InvalidArgument` if the entry does not sort after the last one, or a limit is exceeded;
    /// `Corruption` for a malformed pointer; the errors of the file. After an error of the file the
    /// table must be discarded.
    #[inline]
    pub fn add(&mut self, key: &[u8], seq: SeqNo, kind: Kind, value: ValueIn<'_>) -> Result<()> {
        // Pending entries are not in the page.
        let some_wait = self.pending.as_ref().is_some_and(PendingEntries::are_some);
        let waiting = some_wait || self.groups.is_some();
        let head = if waiting || seq > SEQ_MAX {
            None
        } else {
            self.page.head_behind(key)
        };
        // A head above the last one implies a larger key.
        let same_key = head.is_none() && self.check_order(key, seq)?;
        let pointed = match kind {
            Kind::Pointer => self.note_pointer(value.bytes())?,
            _ => 0,
        };
        if !same_key {
            self.note_key(key);
        }
        // An entry without a value decides nothing, and waits only if others already wait:
        // otherwise tombstones alone would be copied and counted without end.
        let decides = self.pending.is_some() && !value.bytes().is_empty();
        let raw_len = if some_wait || decides {
            self.hold(key, seq, kind, value)?
        } else {
            self.add_chosen(key, head, seq, kind, value)?
        };
        let summary = &mut self.summary;
        summary.entries += 1;
        summary.deletes += u64::from(kind == Kind::Delete);
        summary.raw_bytes += (key.len() + raw_len) as u64;
        summary.seq_min = summary.seq_min.min(seq);
        summary.seq_max = summary.seq_max.max(seq);
        if same_key && self.ended {
            self.hidden.entries += 1;
            self.hidden.bytes += (key.len() + raw_len) as u64;
            self.hidden.value_bytes += pointed;
        }
        self.ended = (same_key && self.ended) || kind != Kind::Merge;
        Ok(())
    }

    /// Returns the entries added so far that a newer value or tombstone of the table hides.
    pub fn hidden(&self) -> HiddenVersions {
        self.hidden
    }

    /// Stores an entry in the way chosen for the table. `head` is the key's head if it is above all
    /// heads of the page. Returns the length of the value.
    #[inline]
    fn add_chosen(
        &mut self,
        key: &[u8],
        head: Option<u64>,
        seq: SeqNo,
        kind: Kind,
        value: ValueIn<'_>,
    ) -> Result<usize> {
        if self.groups.is_some() {
            self.add_grouped(key, seq, kind, value)
        } else {
            self.add_alone(key, head, seq, kind, value)
        }
    }

    /// Like `add_chosen`, but stores the value alone.
    #[inline]
    fn add_alone(
        &mut self,
        key: &[u8],
        head: Option<u64>,
        seq: SeqNo,
        kind: Kind,
        value: ValueIn<'_>,
    ) -> Result<usize> {
        let start = self.page.values_bytes();
        let values = &mut self.page.values;
        let raw_len = self.encoder.store(kind, value, values)?;
        let entry = NewEntry {
            key,
            head,
            seq,
            kind,
            raw_len,
            stored_len: self.page.values.len() - start,
        };
        self.place(&entry)?;
        Ok(raw_len)
    }

    /// Returns the number of entries added.
    pub fn entries(&self) -> u64 {
        self.summary.entries
    }

    /// Returns the number of pages written so far.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.written.count()
    }

    /// Returns the approximate length of the file if it were finished now.
    pub fn bytes_estimate(&self) -> u64 {
        let page = PAGE_BYTES as u64;
        let filter = self.hashes.len() as u64 * u64::from(self.options.filter_bits_per_key) / 8;
        let fence = self.written.units() as u64 * 8;
        let open = !self.page.is_empty() || self.groups.is_some() || self.pending.is_some();
        let shared = self.encoder.shared();
        let dictionary = shared.map_or(0, |shared| shared.dictionary().bytes().len() as u64);
        let pages = u64::from(self.written.count()) + 1 + u64::from(open);
        pages * page + (filter + fence + dictionary).next_multiple_of(page)
    }

    /// Returns the number of heap bytes held: buffers, filter hashes and fence.
    pub fn memory_bytes(&self) -> usize {
        self.written.memory_bytes()
            + self.page.memory_bytes()
            + self.encoder.memory_bytes()
            + self.hashes.memory_bytes()
            + self.groups.as_ref().map_or(0, GroupPacker::memory_bytes)
            + self
                .pending
                .as_ref()
                .map_or(0, PendingEntries::memory_bytes)
    }

    /// Returns the dictionary made from the table's first values, if one was made.
    pub fn trained(&self) -> Option<&Arc<Dictionary>> {
        let shared = self.encoder.shared().filter(|shared| shared.trained);
        shared.map(SharedDictionary::dictionary)
    }

    /// Returns the last key added, or `None` if there is none.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.last().map(|(key, _)| key)
    }

    /// Writes the remaining entries, filter, fence index and meta block, and returns the table's
    /// contents. The bounds of a table in bytewise order are within `limits`; in any other order
    /// they are the first and the last key.
    ///
    /// # Errors
    /// `InvalidArgument` for a table without entries; the errors of the file.
    ///
    /// # Panics
    /// Panics if the file does not hold as many bytes as were appended.
    pub fn finish(mut self, limits: &BoundLimits) -> Result<TableSummary> {
        if self.summary.entries == 0 {
            return Err(Error::invalid("a table needs at least one entry"));
        }
        self.release()?;
        self.pack(true)?;
        self.end_page()?;
        let (smallest, largest) = self.bounds(limits);
        let data_pages = self.written.count();
        let bits = self.options.filter_bits_per_key;
        let (filter_lines, filter_probes) = self.written.write_filter(self.hashes, bits)?;
        let fence = self
            .written
            .write_fence([&smallest, &largest], data_pages)?;
        self.summary.loose_bounds =
            smallest != self.written.smallest() || largest != self.written.last_key();
        (self.summary.smallest, self.summary.largest) = (smallest, largest);
        let shared = self.encoder.shared();
        let meta = Meta {
            order: self.options.order.name().to_owned(),
            data_pages,
            units: low32(self.written.units()),
            filter_lines,
            filter_probes,
            numbered: fence.numbered,
            tie_levels: fence.tie_levels,
            key_pages: fence.key_pages,
            prefix: low32(fence.prefix),
            summary: self.summary,
            top: fence.top,
            dictionary: shared
                .map(|shared| Arc::clone(shared.dictionary()))
                .unwrap_or_default(),
        };
        self.written.write_meta(meta)
    }

    /// Returns the bounds of the table, all of whose pages are written.
    fn bounds(&self, limits: &BoundLimits) -> (Vec<u8>, Vec<u8>) {
        let (first, last) = (self.written.smallest(), self.written.last_key());
        if self.options.order.is_bytewise() {
            (limits.lower(first), limits.upper(last))
        } else {
            (first.to_vec(), last.to_vec())
        }
    }

    /// Returns the last key and sequence number.
    #[inline]
    fn last(&self) -> Option<(&[u8], SeqNo)> {
        let held = self.pending.as_ref().and_then(PendingEntries::last);
        let waiting = held.or_else(|| self.groups.as_ref().and_then(GroupPacker::last));
        let unwritten = waiting.or_else(|| self.page.last());
        unwritten.or_else(|| self.written.last())
    }

    /// Refuses an entry that does not sort after the last one. Returns whether the keys are equal.
    #[inline]
    fn check_order(&self, key: &[u8], seq: SeqNo) -> Result<bool> {
        let Some(last) = self.last() else {
            return self.check_limits(key, seq).map(|()| false);
        };
        let order = match &self.options.order {
            Order::Bytewise => compare_keys(last.0, key),
            order @ Order::Custom(_) => order.compare(last.0, key),
        };
        match order {
            Ordering::Less => self.check_limits(key, seq).map(|()| false),
            Ordering::Equal if seq < last.1 => Ok(true),
            Ordering::Equal | Ordering::Greater => {
                Err(refuse(self.options.file, "entry is out of order"))
            }
        }
    }

    #[inline]
    fn check_limits(&self, key: &[u8], seq: SeqNo) -> Result<()> {
        if key.len() > STORED_KEY_BYTES_MAX {
            return Err(refuse(self.options.file, "key is too long"));
        }
        if seq > SEQ_MAX {
            return Err(refuse(self.options.file, "sequence number is too large"));
        }
        Ok(())
    }

    /// Counts the bytes of a value file that a pointer refers to.
    /// Counts a value in a value file, and returns the length of its record.
    fn note_pointer(&mut self, stored: &[u8]) -> Result<u64> {
        let pointer = Pointer::decode(stored)?;
        let (file, bytes) = (pointer.file.0, record_bytes(pointer.len));
        let refs = &mut self.summary.value_refs;
        match refs.binary_search_by_key(&file, |entry| entry.0) {
            Ok(index) => refs[index].1 += bytes,
            Err(index) => refs.insert(index, (file, bytes)),
        }
        Ok(bytes)
    }

    #[expect(
        clippy::inline_always,
        reason = "called for each entry; an actual call would save all registers"
    )]
    #[inline(always)]
    fn note_key(&mut self, key: &[u8]) {
        if self.options.filter_bits_per_key > 0 && self.options.order.can_hash() {
            self.hashes.push(fold(hash64(key)));
        }
    }

    /// Adds an entry, whose value is already in stored form, to this page, the next, or an extent.
    #[inline]
    fn place(&mut self, entry: &NewEntry<'_>) -> Result<()> {
        if entry.raw_len <= RAW_LEN_MAX_IN_PAGE && self.page.push_alike(entry) {
            return Ok(());
        }
        let shape = self.page.shape_with(entry);
        let fits = shape.bytes() <= PAGE_BYTES && entry.raw_len <= RAW_LEN_MAX_IN_PAGE;
        if fits && shape.count > 1 {
            self.page.push(entry, shape);
            return Ok(());
        }
        self.place_first(entry)
    }

    /// Ends the page if necessary and starts another page or an extent with this entry.
    fn place_first(&mut self, entry: &NewEntry<'_>) -> Result<()> {
        self.end_page()?;
        let shape = self.page.shape_with(entry);
        if shape.bytes() > PAGE_BYTES || entry.raw_len > RAW_LEN_MAX_IN_PAGE {
            let (page, order) = (&mut self.page, &self.options.order);
            return self.written.write_extent(entry, page, order);
        }
        self.page.push(entry, shape);
        Ok(())
    }

    /// Writes the page under construction, if it has entries.
    fn end_page(&mut self) -> Result<()> {
        let (page, groups) = (&mut self.page, &mut self.groups);
        self.written.write_page(page, groups, &self.options.order)
    }
}
