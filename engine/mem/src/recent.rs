//! Recent inserts: the last entries that the writer inserted between others, for readers that
//! remember earlier results.
//!
//! A reader that knows that a range of keys had no visible entries at some sequence number need not
//! search the range again: it only asks which entries have been inserted there since. Entries
//! appended after all others and tombstones are not recorded, because the former come after any
//! range that the reader knows, and the latter make nothing visible.
//!
//! Invariants:
//! 1. Slot `n % SLOTS` holds the address of the `n`th such entry or of a later one of the same
//!    list, or of the list's sentinel if there is none yet.
//! 2. `count` such entries are stored, or one more.
//! 3. The sequence numbers greater than `floor` descend from the last entry backwards.
//!
//! An earlier version kept only the largest sequence number of such an entry. With a second queue,
//! or a counter that is written in each round, entries are inserted all the time, so each read of a
//! queue's head walked thousands of tombstones.
//!
//! Threads: one writer, any number of readers. A slot is stored with release before the count. A
//! reader loads slots and then reloads the count, which shows whether one of the slots already
//! belonged to another entry.
#![expect(unsafe_code, reason = "nodes are reached by their addresses")]

use std::ptr::NonNull;

use cairndb_base::SeqNo;

use crate::node::{Node, NodeRef};
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Number of slots. One fewer entries are kept, enough for the inserts into a few dozen queues
/// between two reads of one of them.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 32 };

/// The last entries inserted between others, in one list.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Recent {
    slots: [AtomicPtr<Node>; SLOTS],
    count: AtomicUsize,
    floor: AtomicU64,
}

impl Recent {
    /// Returns an empty record for a list with this sentinel.
    pub(crate) fn new(sentinel: NonNull<Node>) -> Recent {
        Recent {
            slots: std::array::from_fn(|_| AtomicPtr::new(sentinel.as_ptr())),
            count: AtomicUsize::new(0),
            floor: AtomicU64::new(0),
        }
    }

    /// Adds an entry of the same list. Only the writer calls this, before it publishes the entry's
    /// sequence number, which is at least that of the last one.
    #[inline]
    pub(crate) fn push(&self, node: NodeRef<'_>) {
        let count = self.count.load(Ordering::Relaxed);
        self.slots[count % SLOTS].store(node.as_ptr().as_ptr(), Ordering::Release);
        self.count.store(count + 1, Ordering::Release);
    }

    /// Announces that the next entries may be out of order: their sequence numbers may be as small
    /// as earlier ones, up to `seq`. Only the writer calls this.
    #[cold]
    pub(crate) fn forget(&self, seq: SeqNo) {
        self.floor.store(seq, Ordering::Release);
    }

    /// Calls `each` with every entry whose sequence number is greater than `seq` and known by the
    /// caller to be published, and perhaps with others. Returns `false` if there were too many to
    /// report all.
    ///
    /// # Safety
    /// The list must live for `'a`.
    pub(crate) unsafe fn since<'a>(&self, seq: SeqNo, mut each: impl FnMut(NodeRef<'a>)) -> bool {
        let count = self.count.load(Ordering::Acquire);
        // One slot may already belong to the next entry.
        for at in (count.saturating_sub(SLOTS - 1)..count).rev() {
            let node = self.slots[at % SLOTS].load(Ordering::Acquire);
            let Some(node) = NonNull::new(node) else {
                return false;
            };
            // SAFETY: the slot holds the address of a node of the list (invariant 1), which the
            // caller promises to live for `'a`; it was loaded with acquire.
            let node: NodeRef<'a> = unsafe { NodeRef::from_ptr(node) };
            if node.seq() <= seq {
                return self.were_there(at, seq);
            }
            each(node);
        }
        count < SLOTS && self.were_there(0, seq)
    }

    /// Returns whether the loaded slots, from the last one back to `first`, belonged to the
    /// expected entries.
    fn were_there(&self, first: usize, seq: SeqNo) -> bool {
        // If a slot held a later entry, the count that allows this entry was stored before the slot
        // was loaded.
        self.count.load(Ordering::Acquire) < first + SLOTS
            && self.floor.load(Ordering::Acquire) <= seq
    }
}
