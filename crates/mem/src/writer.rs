//! The one writer of a memtable.
//!
//! Whoever holds the [`MemWriter`] may insert; dropping it seals the memtable. The engine's commit
//! leader holds it while it applies a group, and publishes the last sequence number with release
//! afterwards: that store, not the insert, is what gives readers a claim to the entries.
#![expect(
    unsafe_code,
    reason = "pairs a list with the splice that was made with it"
)]

use std::sync::Arc;

use cairndb_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use cairndb_base::{Kind, Order, SEQ_MAX, SeqNo};

use crate::chunk::ChunkPool;
use crate::memtable::Memtable;
use crate::node::{NewEntry, tag};
use crate::skiplist::Splice;
use crate::sync::Ordering;

/// The right to insert into one memtable. Can be sent to another thread, but not cloned.
#[derive(Debug)]
pub struct MemWriter {
    table: Arc<Memtable>,
    /// Made with the table's list, and never exchanged.
    splice: Splice,
}

impl Memtable {
    /// An empty memtable and the right to insert into it.
    ///
    /// `prefix_hint` should be the prefix that the coming keys have in common, best taken from the
    /// previous memtable's [`Memtable::next_prefix`]; keys outside it still sort right, only
    /// slower. It is ignored for custom orders. `capacity_bytes` bounds
    /// [`Memtable::allocated_bytes`] as long as [`MemWriter::has_room`] is heeded; memory is
    /// allocated as it is needed.
    pub fn new(
        order: Order,
        prefix_hint: Vec<u8>,
        capacity_bytes: usize,
    ) -> (Arc<Memtable>, MemWriter) {
        let (table, splice) = Memtable::empty(order, prefix_hint, capacity_bytes, None);
        MemWriter::pair(table, splice)
    }

    /// As [`Memtable::new`], with memory from `pool`, which gets it back when the last reference to
    /// the memtable goes.
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
        };
        (table, writer)
    }

    /// The memtable this writer inserts into.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }

    /// Adds one version. `hash` is `cairndb_base::hash64(key)`; it is not looked at for orders that
    /// cannot hash. Sequence numbers need not ascend, but no (key, sequence number) may come twice.
    ///
    /// Always succeeds: beyond the capacity, or for an entry larger than it, the memtable exceeds
    /// its capacity by what the entry takes. A key that follows the last inserted one in order,
    /// with nothing between them, links without a search.
    ///
    /// # Panics
    /// When key, value or sequence number exceed the limits of `cairndb_base`.
    pub fn insert(&mut self, seq: SeqNo, kind: Kind, key: &[u8], value: &[u8], hash: u64) {
        assert!(seq <= SEQ_MAX, "sequence number {seq} is out of range");
        assert!(key.len() <= KEY_BYTES_MAX, "key of {} bytes", key.len());
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
        };
        if let Some(filter) = self.table.filter() {
            filter.insert(hash);
        }
        // SAFETY: `splice` is the one made with this table's list.
        let node_bytes = unsafe { self.table.list().insert(&mut self.splice, &entry) };
        self.count(seq, (key.len() + value.len()) as u64, node_bytes);
    }

    /// Whether an entry of this size fits the capacity. The first entry always does.
    #[inline]
    pub fn has_room(&self, key_len: usize, value_len: usize) -> bool {
        self.table.list().has_room(&self.splice, key_len, value_len) || self.table.is_empty()
    }

    /// Loads and stores instead of read-modify-writes: there is one writer. Relaxed: statistics,
    /// and exact for whoever acquired the publication of the last insert.
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
