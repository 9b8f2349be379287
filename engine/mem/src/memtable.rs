//! The memtable: recent writes in key order, not yet in a table.
//!
//! Every write goes to the log and then to the memtable, and reads search the memtable first.
//! Dropping its `MemWriter` makes a memtable immutable; a flush then iterates over it with a
//! `MemCursor`. Versions are never overwritten: a put of the same key adds an entry that sorts
//! before the older ones.
//!
//! Invariants:
//! 1. A memtable has one `MemWriter`, which alone inserts.
//! 2. Entries are ordered by (key, sequence number descending) and never change or disappear while
//!    the memtable lives.
//! 3. Readers take no lock. `list` states and justifies the guarantees they have.
//! 4. A longer value that is in the log is not copied: its entry refers to it, and the memtable
//!    keeps the log region. The same memory then holds twice as many entries of 16 + 100 bytes,
//!    flushes write tables twice as large, and compactions have less to do. The page cache holds
//!    recently logged bytes in any case. But a failing disk can change them, so such values are
//!    checked before they are returned or written to a table.

use std::sync::Arc;

use cairndb_base::head::HEAD_BYTES;
use cairndb_base::{HeadRule, Kind, Order, Result, SEQ_MAX, SeqNo};

use crate::arena::Arena;
use crate::chunk::ChunkPool;
use crate::hash_index::{HashIndex, Looked};
use crate::list::{List, ListTarget, Splice};
use crate::node::NodeRef;
use crate::recent::Recent;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// An ordered, append-only set of versions in memory, shared by one writer and any readers.
///
/// ```
/// use cairndb_base::{Kind, Order, hash64};
/// use cairndb_mem::Memtable;
///
/// let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 512 << 10);
/// writer.insert(1, Kind::Put, b"stone", b"grey");
/// writer.insert(2, Kind::Put, b"stone", b"red");
/// let old = table.get(b"stone", hash64(b"stone"), 1)?.expect("inserted above");
/// assert_eq!((old.seq, old.value), (1, &b"grey"[..]));
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Debug)]
pub struct Memtable {
    list: List,
    rule: HeadRule,
    counters: Counters,
}

/// The writer's counters, in cache lines that readers of the list never touch.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Counters {
    pub(crate) entries: AtomicUsize,
    pub(crate) used: AtomicUsize,
    pub(crate) user_bytes: AtomicU64,
    pub(crate) seq_min: AtomicU64,
    pub(crate) seq_max: AtomicU64,
}

/// Size of a memtable without its arena.
const OWN_BYTES: usize = size_of::<Memtable>() + size_of::<Recent>();

/// Maximum number of entries newer than a snapshot that are stepped over on the way back to a
/// visible one.
const NEWER_PASSED: usize = 64;

/// Number of versions that are stepped over on the way to an older one before the list is searched:
/// a step costs a small part of a search.
const VERSIONS_WALKED: usize = 8;

/// One version of a key, read in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemEntry<'a> {
    /// The write's sequence number.
    pub seq: SeqNo,
    /// The entry's kind.
    pub kind: Kind,
    /// The value, merge operand or pointer; empty for a tombstone.
    pub value: &'a [u8],
}

/// Position of an entry: gives its key directly, and the entry after a check of its value.
///
/// ```
/// use cairndb_base::{Kind, Order, SEQ_MAX};
/// use cairndb_mem::Memtable;
///
/// let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 512 << 10);
/// writer.insert(1, Kind::Put, b"stone", b"grey");
/// let place = table.seek(b"st", SEQ_MAX).expect("inserted above");
/// assert_eq!((place.key(), place.entry()?.value), (&b"stone"[..], &b"grey"[..]));
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MemPlace<'a> {
    table: &'a Memtable,
    /// Returns the position of an entry of `table`.
    node: NodeRef<'a>,
}

impl<'a> MemPlace<'a> {
    /// Returns the entry's key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        self.node.key()
    }

    /// Returns the entry after a check of its value.
    ///
    /// # Errors
    /// Same as [`Memtable::get`].
    #[inline]
    pub fn entry(&self) -> Result<MemEntry<'a>> {
        self.table.entry(self.node)
    }
}

impl Memtable {
    /// Returns a memtable without its writer, and the splice for the writer.
    pub(crate) fn empty(
        order: Order,
        prefix_hint: Vec<u8>,
        capacity_bytes: usize,
        pool: Option<Arc<ChunkPool>>,
    ) -> (Arc<Memtable>, Splice) {
        let rule = HeadRule::new(&order, prefix_hint);
        let hash_index = order.can_hash();
        let hash_index = hash_index.then(|| HashIndex::bytes_for(capacity_bytes));
        let arena = Arena::new(capacity_bytes.saturating_sub(OWN_BYTES), pool);
        let (list, splice) = List::new(order, arena, hash_index);
        let counters = Counters::default();
        counters.seq_min.store(SEQ_MAX, Ordering::Relaxed);
        let table = Arc::new(Memtable {
            list,
            rule,
            counters,
        });
        (table, splice)
    }

    /// Returns the newest version of `key` that `snapshot` sees, including tombstones. `hash` is
    /// `cairndb_base::hash64(key)`; it is ignored for orders that cannot hash.
    ///
    /// Allocates nothing. An absent key costs one line of the hash index. The newest version of a
    /// present key costs that line, its node and its value. An older version costs a step for each
    /// newer one and, after eight steps, a search of the list.
    ///
    /// # Errors
    /// `Corruption`, with file and offset, for a value in the log that differs from what was
    /// written: the system failed to write the page, dropped it, and read back something else.
    #[inline]
    pub fn get(&self, key: &[u8], hash: u64, snapshot: SeqNo) -> Result<Option<MemEntry<'_>>> {
        match self.list.look(key, hash) {
            Looked::Absent => Ok(None),
            Looked::Here(newest) => self.version(newest, key, snapshot),
            Looked::Unknown => self.search(key, snapshot),
        }
    }

    /// Returns the sequence number of the newest version of `key`, or `None` if there is none.
    /// `hash` is the same as for [`Memtable::get`], and so is the cost, but the value is not read.
    pub fn newest_seq(&self, key: &[u8], hash: u64) -> Option<SeqNo> {
        match self.list.look(key, hash) {
            Looked::Absent => None,
            Looked::Here(newest) => Some(newest.seq()),
            Looked::Unknown => {
                let node = self.list.find(&self.target(key, bound_at(SEQ_MAX))).at;
                let is_there = self.is_entry(node) && self.list.compare(node.key(), key).is_eq();
                is_there.then(|| node.seq())
            }
        }
    }

    /// Returns the newest version that `snapshot` sees, given the newest of all.
    #[inline]
    fn version<'a>(
        &'a self,
        newest: NodeRef<'a>,
        key: &[u8],
        snapshot: SeqNo,
    ) -> Result<Option<MemEntry<'a>>> {
        let mut node = newest;
        // Versions are consecutive, newest first.
        for _ in 0..VERSIONS_WALKED {
            if node.seq() <= snapshot {
                return self.entry(node).map(Some);
            }
            node = node.next();
            if node == self.list.sentinel() || self.list.compare(node.key(), key).is_ne() {
                return Ok(None);
            }
        }
        self.search(key, snapshot)
    }

    /// Prefetches the line that a get of a key with this hash reads first: while a writer is active
    /// there are dozens of memtables, and the cache misses of their lines overlap.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.list.prefetch(hash);
    }

    /// Returns the first entry at or after (`key`, `snapshot`) that `snapshot` sees, including
    /// tombstones: the result of a cursor's seek, without the cursor. `None` after the last entry.
    ///
    /// Allocates nothing. Costs a search of the list, and a step for each entry newer than
    /// `snapshot` in between.
    pub fn seek(&self, key: &[u8], snapshot: SeqNo) -> Option<MemPlace<'_>> {
        let mut node = self.list.find(&self.target(key, bound_at(snapshot))).at;
        while node != self.list.sentinel() && node.seq() > snapshot {
            node = node.next();
        }
        self.is_entry(node)
            .then_some(MemPlace { table: self, node })
    }

    /// Like [`Memtable::get`], but searches the list.
    #[inline(never)]
    fn search(&self, key: &[u8], snapshot: SeqNo) -> Result<Option<MemEntry<'_>>> {
        let node = self.list.find(&self.target(key, bound_at(snapshot))).at;
        if node == self.list.sentinel() || self.list.compare(node.key(), key).is_ne() {
            return Ok(None);
        }
        self.entry(node).map(Some)
    }

    #[inline]
    fn entry<'a>(&self, node: NodeRef<'a>) -> Result<MemEntry<'a>> {
        self.list.check(node)?;
        Ok(MemEntry {
            seq: node.seq(),
            kind: node.kind(),
            value: node.value(),
        })
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &Order {
        self.list.order()
    }

    /// Returns the number of entries inserted.
    pub fn len(&self) -> usize {
        self.counters.entries.load(Ordering::Relaxed)
    }

    /// Returns whether the caller may see any entry. Like [`Memtable::is_empty`], but does not read
    /// the counters, whose line the writer stores to at each insert.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.list.has_begun()
    }

    /// Returns whether nothing has been inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of arena bytes that entries take, including their links and the tree's
    /// blocks except the first.
    pub fn bytes_used(&self) -> usize {
        self.counters.used.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes allocated for this memtable: the arena, which contains hash
    /// index and tree, and the structure itself.
    pub fn allocated_bytes(&self) -> usize {
        OWN_BYTES + self.list.allocated()
    }

    /// Returns the number of bytes of all keys and values inserted.
    pub fn user_bytes(&self) -> u64 {
        self.counters.user_bytes.load(Ordering::Relaxed)
    }

    /// Returns the smallest sequence number inserted; [`SEQ_MAX`] while empty.
    pub fn seq_min(&self) -> SeqNo {
        self.counters.seq_min.load(Ordering::Relaxed)
    }

    /// Returns the largest sequence number inserted; 0 while empty.
    pub fn seq_max(&self) -> SeqNo {
        self.counters.seq_max.load(Ordering::Relaxed)
    }

    /// Calls `each` with the keys inserted since `seq`, except tombstones and entries that were
    /// appended after all others. Covers all entries whose numbers the caller knows to be
    /// published, and perhaps others. Returns `false` if there are more than a few dozen and not
    /// all were reported. Sequence numbers must ascend from insert to insert.
    pub fn inserted_between<'a>(&'a self, seq: SeqNo, each: impl FnMut(&'a [u8])) -> bool {
        self.list.inserted_between(seq, each)
    }

    /// Returns whether only tombstones were appended after all other entries since `seq`; `false`
    /// if finding out would take long. Sequence numbers must ascend from insert to insert.
    pub fn ends_as_at(&self, seq: SeqNo) -> bool {
        let mut node = self.list.sentinel().prev();
        for _ in 0..NEWER_PASSED {
            if !self.is_entry(node) || node.seq() <= seq {
                return true;
            }
            if node.kind() != Kind::Delete {
                return false;
            }
            node = node.prev();
        }
        false
    }

    /// Returns the key of the last entry that `snapshot` sees, unless many invisible ones follow.
    /// If sequence numbers ascend, later appends after all other entries come after this key.
    pub fn key_near_end(&self, snapshot: SeqNo) -> Option<&[u8]> {
        let mut node = self.list.sentinel().prev();
        for _ in 0..NEWER_PASSED {
            if !self.is_entry(node) {
                return None;
            }
            if node.seq() <= snapshot {
                return Some(node.key());
            }
            node = node.prev();
        }
        None
    }

    /// Returns the prefix after which heads are taken.
    pub fn prefix_hint(&self) -> &[u8] {
        self.rule.prefix()
    }

    /// Returns the longest prefix that all keys share; empty for custom orders and while empty.
    pub fn common_prefix(&self) -> &[u8] {
        if !self.order().is_bytewise() {
            return &[];
        }
        // In bytewise order all keys between the first and the last share what these two share.
        let first = self.list.sentinel().next().key();
        let last = self.list.sentinel().prev().key();
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        &first[..shared]
    }

    /// Returns the prefix hint for the next memtable: the common prefix of the keys, as far as
    /// heads after it still reach the end of the last key. A longer one would not distinguish keys
    /// better, and ascending keys would leave it sooner.
    pub fn next_prefix(&self) -> &[u8] {
        let common = self.common_prefix();
        let last = self.list.sentinel().prev().key().len();
        &common[..common.len().min(last.saturating_sub(HEAD_BYTES))]
    }

    pub(crate) fn list(&self) -> &List {
        &self.list
    }

    pub(crate) fn rule(&self) -> &HeadRule {
        &self.rule
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the position before the first version of `key` with a tag below `bound`.
    #[inline]
    pub(crate) fn target<'k>(&self, key: &'k [u8], bound: u64) -> ListTarget<'k> {
        ListTarget {
            head: self.rule.head(key),
            bound,
            key,
        }
    }

    /// Returns whether `node` is an entry, not the sentinel.
    #[inline]
    pub(crate) fn is_entry(&self, node: NodeRef<'_>) -> bool {
        node != self.list.sentinel()
    }
}

/// Returns the exclusive upper bound of the tags of versions visible at `snapshot`.
#[inline]
pub(crate) fn bound_at(snapshot: SeqNo) -> u64 {
    if snapshot >= SEQ_MAX {
        u64::MAX
    } else {
        (snapshot + 1) << 8
    }
}

#[cfg(test)]
#[cfg(not(loom))]
pub(crate) mod tests;
