//! Memtable writer: the right to insert into one memtable.
//!
//! Only the holder of the [`MemWriter`] may insert; dropping it makes the memtable immutable. The
//! engine holds the commit lock while it applies a write, and then publishes the last sequence
//! number with release. That store, not the insert, makes the entries visible to readers.
#![expect(
    unsafe_code,
    reason = "pairs a list with the splice that was created with it"
)]

use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_base::limits::{STORED_KEY_BYTES_MAX, VALUE_BYTES_MAX};
use cairndb_base::{Kind, Order, SEQ_MAX, SeqNo};
use cairndb_env::LogRegion;

use crate::chunk::ChunkPool;
use crate::list::Splice;
use crate::memtable::Memtable;
use crate::node::{NewEntry, logged_room, stays_apart, tag};
use crate::sync::Ordering;

/// The right to insert into one memtable. It can be sent to another thread, but not cloned.
#[derive(Debug)]
pub struct MemWriter {
    table: Arc<Memtable>,
    /// Created with the table's list, and never replaced.
    splice: Splice,
    /// The region that the table most recently kept.
    region: Option<Arc<dyn LogRegion>>,
}

/// Bytes borrowed from a log segment, with its region, which keeps the bytes valid. Only
/// [`Borrowed::by`] creates this type.
#[derive(Clone, Copy, Debug)]
pub struct Borrowed<'a> {
    bytes: &'a [u8],
    region: &'a Arc<dyn LogRegion>,
}

impl<'a> Borrowed<'a> {
    /// Returns the `len` bytes at `offset` of `region`, or `None` if the region cannot be read in
    /// place.
    ///
    /// # Panics
    /// Same as [`LogRegion::bytes`].
    #[inline]
    pub fn by(region: &'a Arc<dyn LogRegion>, offset: u64, len: usize) -> Option<Borrowed<'a>> {
        let bytes = region.bytes(offset, len)?;
        Some(Borrowed { bytes, region })
    }

    /// Returns the `len` bytes from `at` on, or `None` if there are fewer.
    #[inline]
    pub fn piece(self, at: usize, len: usize) -> Option<Borrowed<'a>> {
        let bytes = self.bytes.get(at..at.checked_add(len)?)?;
        Some(Borrowed { bytes, ..self })
    }
}

impl Memtable {
    /// Returns an empty memtable and the right to insert into it.
    ///
    /// `prefix_hint` should be the common prefix of the keys to be inserted, ideally from the
    /// previous memtable's [`Memtable::next_prefix`]; other keys still sort correctly, but more
    /// slowly. It is ignored for custom orders. `capacity_bytes` bounds
    /// [`Memtable::allocated_bytes`] as long as callers respect [`MemWriter::has_room`]; memory is
    /// allocated on demand.
    pub fn new(
        order: Order,
        prefix_hint: Vec<u8>,
        capacity_bytes: usize,
    ) -> (Arc<Memtable>, MemWriter) {
        let (table, splice) = Memtable::empty(order, prefix_hint, capacity_bytes, None);
        MemWriter::pair(table, splice)
    }

    /// Like [`Memtable::new`], but with memory from `pool`. The memory returns to the pool when the
    /// last reference to the memtable is dropped.
    pub fn pooled(
        pool: &Arc<ChunkPool>,
        order: Order,
        prefix_hint: Vec<u8>,
        capacity_bytes: usize,
    ) -> (Arc<Memtable>, MemWriter) {
        let pool = Some(Arc::clone(pool));
        let (table, splice) = Memtable::empty(order, prefix_hint, capacity_bytes, pool);
        MemWriter::pair(table, splice)
    }
}

impl MemWriter {
    fn pair(table: Arc<Memtable>, splice: Splice) -> (Arc<Memtable>, MemWriter) {
        let writer = MemWriter {
            table: Arc::clone(&table),
            splice,
            region: None,
        };
        (table, writer)
    }

    /// Returns the memtable that this writer inserts into.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }

    /// Adds one version. Sequence numbers need not ascend, but no (key, sequence number) may occur
    /// twice.
    ///
    /// Always succeeds: if the memtable is full, it exceeds the capacity first by the entry's size,
    /// and later by chunks of up to 256 KiB. A key that directly follows the last inserted one in
    /// order is linked without a search.
    ///
    /// # Panics
    /// If the key, value or sequence number exceeds the limits of `cairndb_base`.
    #[inline]
    pub fn insert(&mut self, seq: SeqNo, kind: Kind, key: &[u8], value: &[u8]) {
        self.insert_entry(seq, kind, key, value, None);
    }

    /// Like [`MemWriter::insert`], but for a value that was already written to the log. A long
    /// value is not copied; it is read in place in the log, from where it was `borrowed`, and takes
    /// 12 bytes of memory.
    ///
    /// # Panics
    /// If the borrowed bytes have another length, or in the same cases as [`MemWriter::insert`].
    #[inline]
    pub fn insert_logged(
        &mut self,
        seq: SeqNo,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        borrowed: Borrowed<'_>,
    ) {
        let Borrowed {
            bytes: borrowed,
            region,
        } = borrowed;
        let mut apart = None;
        if stays_apart(value.len()) {
            // With another length, reads would exceed its end; the check detects different
            // contents.
            assert_eq!(
                borrowed.len(),
                value.len(),
                "a region must return as many bytes as requested"
            );
            debug_assert_eq!(
                borrowed, value,
                "the logged value must equal the inserted one"
            );
            let kept = self.region.as_ref();
            if !kept.is_some_and(|kept| Arc::ptr_eq(kept, region)) {
                self.table.list().keep(region);
                self.region = Some(Arc::clone(region));
            }
            apart = Some(NonNull::from(borrowed).cast());
        }
        self.insert_entry(seq, kind, key, value, apart);
    }

    /// Inserts an entry. `apart` is the address of the same value, borrowed from a region that the
    /// table keeps alive.
    ///
    /// A single function for both callers, so that the list's insert is inlined into it.
    fn insert_entry(
        &mut self,
        seq: SeqNo,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        apart: Option<NonNull<u8>>,
    ) {
        assert!(seq <= SEQ_MAX, "sequence number {seq} is out of range");
        assert!(
            key.len() <= STORED_KEY_BYTES_MAX,
            "key of {} bytes",
            key.len()
        );
        assert!(
            value.len() <= VALUE_BYTES_MAX,
            "value of {} bytes",
            value.len()
        );
        let entry = NewEntry {
            head: self.table.rule().head(key),
            tag: tag(seq, kind),
            key,
            value,
            apart,
        };
        // SAFETY: `splice` was created with this table's list; a value that is stored separately
        // was borrowed from a region that the list keeps alive.
        let bytes = unsafe { self.table.list().insert(&mut self.splice, &entry) };
        self.count(seq, (key.len() + value.len()) as u64, bytes);
    }

    /// Checks the assumed position of the next insert.
    #[cfg(test)]
    pub(crate) fn check_path(&self) {
        self.table.list().check_path(&self.splice);
    }

    /// Returns whether an entry of this size fits in the capacity. For a value that stays in the
    /// log, pass [`MemWriter::logged_room`]. The first entry always fits.
    #[inline]
    pub fn has_room(&self, key_len: usize, value_len: usize) -> bool {
        self.has_room_beside(0, key_len, value_len)
    }

    /// Like [`MemWriter::has_room`], if other memtables use `others` bytes of the same capacity.
    #[inline]
    pub fn has_room_beside(&self, others: usize, key_len: usize, value_len: usize) -> bool {
        let list = self.table.list();
        list.has_room(&self.splice, key_len.saturating_add(others), value_len)
            || others == 0 && self.table.is_empty()
    }

    /// Returns whether a value of this length stays in the log, if it can be read there.
    #[inline]
    pub const fn stays_apart(len: usize) -> bool {
        stays_apart(len)
    }

    /// Returns the number of bytes that a value of `len` takes in the memtable if it can be read in
    /// the log.
    #[inline]
    pub const fn logged_room(len: usize) -> usize {
        logged_room(len)
    }

    /// Uses loads and stores instead of read-modify-write operations, because there is one writer.
    /// Relaxed: these are statistics, and exact for readers that acquired the publication of the
    /// last insert.
    #[inline]
    fn count(&self, seq: SeqNo, user_bytes: u64, node_bytes: usize) {
        let counters = self.table.counters();
        let entries = counters.entries.load(Ordering::Relaxed) + 1;
        counters.entries.store(entries, Ordering::Relaxed);
        let used = counters.used.load(Ordering::Relaxed) + node_bytes;
        counters.used.store(used, Ordering::Relaxed);
        let user_bytes = counters.user_bytes.load(Ordering::Relaxed) + user_bytes;
        counters.user_bytes.store(user_bytes, Ordering::Relaxed);
        if seq < counters.seq_min.load(Ordering::Relaxed) {
            counters.seq_min.store(seq, Ordering::Relaxed);
        }
        if seq > counters.seq_max.load(Ordering::Relaxed) {
            counters.seq_max.store(seq, Ordering::Relaxed);
        }
    }
}
