//! Memtable cursor: an owned cursor, used by flushes and as a source of scans.
//!
//! The cursor sees every version, including versions inserted after it was created; a reader at a
//! snapshot skips newer versions. A cursor that has moved past either end stays invalid until a
//! seek.
#![expect(
    unsafe_code,
    reason = "keeps a node's address next to the reference that keeps the node alive"
)]

use std::cmp::Ordering;
use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_base::{Kind, Result, SeqNo};

use crate::memtable::{Memtable, bound_at};
use crate::node::{Node, NodeRef};

/// A position in a memtable. Moving allocates nothing; `prev` costs as much as `next`.
#[derive(Debug)]
pub struct MemCursor {
    table: Arc<Memtable>,
    /// A node of `table`'s list; the sentinel if invalid.
    node: NonNull<Node>,
}

// SAFETY: `table` keeps the node's memory alive, and both may be shared between threads.
unsafe impl Send for MemCursor {}
// SAFETY: as for `Send`; `&self` methods only read.
unsafe impl Sync for MemCursor {}

impl Clone for MemCursor {
    fn clone(&self) -> MemCursor {
        MemCursor {
            table: Arc::clone(&self.table),
            node: self.node,
        }
    }
}

impl Memtable {
    /// Returns a cursor that keeps the memtable alive. It is invalid until it is moved.
    pub fn cursor(self: &Arc<Self>) -> MemCursor {
        MemCursor {
            table: Arc::clone(self),
            node: self.list().sentinel().as_ptr(),
        }
    }
}

impl MemCursor {
    /// Returns the memtable that this cursor iterates over.
    pub fn table(&self) -> &Arc<Memtable> {
        &self.table
    }

    /// Returns whether the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.table.is_entry(self.node())
    }

    /// Moves to the first entry at or after (`key`, `seq`): the newest version of `key` that a
    /// snapshot at `seq` sees, or else the first entry of the next key.
    #[inline]
    pub fn seek(&mut self, key: &[u8], seq: SeqNo) {
        let target = self.table.target(key, bound_at(seq));
        let at = self.table.list().find(&target).at;
        at.prefetch_whole();
        self.node = at.as_ptr();
    }

    /// Moves to the last entry at or before (`key`, `seq`): the oldest version of `key` with at
    /// least this sequence number, or else the last entry of the previous key.
    #[inline]
    pub fn seek_for_prev(&mut self, key: &[u8], seq: SeqNo) {
        let bound = seq.saturating_mul(1 << 8);
        let target = self.table.target(key, bound);
        let before = self.table.list().find(&target).before;
        before.prefetch_whole();
        self.node = before.as_ptr();
    }

    /// Moves to the first entry.
    #[inline]
    pub fn seek_to_first(&mut self) {
        self.node = self.table.list().sentinel().next().as_ptr();
    }

    /// Moves to the last entry.
    #[inline]
    pub fn seek_to_last(&mut self) {
        self.node = self.table.list().sentinel().prev().as_ptr();
    }

    /// Makes the cursor invalid.
    #[inline]
    pub fn leave(&mut self) {
        self.node = self.table.list().sentinel().as_ptr();
    }

    /// Moves to the next entry; an invalid cursor stays invalid.
    #[inline]
    pub fn next(&mut self) {
        if self.valid() {
            let next = self.node().next();
            // Prefetches the next two entries while this one is used: first the node, and one step
            // later its value in the log. A flush visits nodes in an order unrelated to their
            // addresses and reads them from the cache of the processor that wrote them.
            let after = next.next();
            after.prefetch_value();
            after.next().prefetch_whole();
            self.node = next.as_ptr();
        }
    }

    /// Moves to the previous entry; an invalid cursor stays invalid.
    #[inline]
    pub fn prev(&mut self) {
        if self.valid() {
            self.node = self.node().prev().as_ptr();
        }
    }

    /// Returns the entry's key. The results of this method and the four below are meaningful only
    /// if the cursor is valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        debug_assert!(self.valid());
        self.node().key()
    }

    /// Returns the entry's sequence number.
    #[inline]
    pub fn seq(&self) -> SeqNo {
        debug_assert!(self.valid());
        self.node().seq()
    }

    /// Returns the entry's kind.
    #[inline]
    pub fn kind(&self) -> Kind {
        debug_assert!(self.valid());
        self.node().kind()
    }

    /// Checks that [`MemCursor::value`] returns the written bytes; see [`Memtable::get`].
    ///
    /// # Errors
    /// `Corruption`, with file and offset, if a value in the log differs from the one written.
    #[inline]
    pub fn check_value(&self) -> Result<()> {
        self.table.list().check(self.node())
    }

    /// Returns the entry's value, which the caller must check before use; empty for a tombstone.
    #[inline]
    pub fn value(&self) -> &[u8] {
        debug_assert!(self.valid());
        self.node().value()
    }

    /// Returns the entry's key head: 8 bytes after the memtable's `prefix_hint`, as a number that
    /// sorts like the key among cursors over memtables with the same hint. Equal heads do not
    /// determine the order.
    #[inline]
    pub fn head(&self) -> u64 {
        debug_assert!(self.valid());
        self.node().head()
    }

    /// Returns the head of the next entry, if there is one.
    #[inline]
    pub fn next_head(&self) -> Option<u64> {
        debug_assert!(self.valid());
        let next = self.node().next();
        self.table.is_entry(next).then(|| next.head())
    }

    /// Compares the key of the next entry, which must exist, with `key`.
    pub fn compare_next(&self, key: &[u8]) -> Ordering {
        debug_assert!(self.next_head().is_some());
        self.table.order().compare(self.node().next().key(), key)
    }

    #[inline]
    fn node(&self) -> NodeRef<'_> {
        // SAFETY: taken from a `NodeRef` of `table`'s list, which the cursor keeps alive.
        unsafe { NodeRef::from_ptr(self.node) }
    }
}
