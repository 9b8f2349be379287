//! The entries that the writer has put between others last, for readers that know what was there before.
//!
//! A reader that knows of a stretch of keys that nothing was to be seen there at some number need not look through it
//! again: it asks what has been put there since. Entries behind all others and tombstones are none of these: the former
//! stand behind whatever the reader knows, the latter show nothing.
//!
//! Invariants:
//! 1. Slot `n % SLOTS` holds the address of the `n`th such entry or of a later one of the same list, and of its sentinel
//!    before there is one.
//! 2. `count` of them are stored, or one more.
//! 3. Of those with larger numbers than `floor`, the numbers descend from the last one back.
//!
//! The largest number of such an entry, which was kept before, says whether anything at all was put between others: where
//! there is a second queue, or a counter is written for each turn, that is always so, and each look into a queue walked
//! thousands of tombstones.
//!
//! Threads: one writer, any number of readers. A slot is stored with release before the count is; a reader loads slots, and
//! then the count once more, which tells whether one of them was another entry's by then.
#![expect(unsafe_code, reason = "nodes are reached by their addresses")]

use std::ptr::NonNull;

use cairndb_base::SeqNo;

use crate::node::{Node, NodeRef};
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// As many are kept, but for one: what is put in a few dozen queues between two looks into one of them.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 32 };

/// The last entries that were put between others, in one list.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Recent {
    slots: [AtomicPtr<Node>; SLOTS],
    count: AtomicUsize,
    floor: AtomicU64,
}

impl Recent {
    /// None, in a list that has this sentinel.
    pub(crate) fn new(sentinel: NonNull<Node>) -> Recent {
        Recent {
            slots: std::array::from_fn(|_| AtomicPtr::new(sentinel.as_ptr())),
            count: AtomicUsize::new(0),
            floor: AtomicU64::new(0),
        }
    }

    /// Adds an entry of the same list. For the writer alone, before it publishes the entry's number, which is no less than
    /// that of the last one.
    #[inline]
    pub(crate) fn push(&self, node: NodeRef<'_>) {
        let count = self.count.load(Ordering::Relaxed);
        self.slots[count % SLOTS].store(node.as_ptr().as_ptr(), Ordering::Release);
        self.count.store(count + 1, Ordering::Release);
    }

    /// Says that entries come whose numbers may be as small as the ones before, up to `seq`. For the writer alone.
    #[cold]
    pub(crate) fn forget(&self, seq: SeqNo) {
        self.floor.store(seq, Ordering::Release);
    }

    /// Calls `each` with every entry that has a larger number than `seq` and a number that the caller knows to be published,
    /// and with others perhaps. Whether it did: not where they were too many.
    ///
    /// # Safety
    /// The list must live for `'a`.
    pub(crate) unsafe fn since<'a>(&self, seq: SeqNo, mut each: impl FnMut(NodeRef<'a>)) -> bool {
        let count = self.count.load(Ordering::Acquire);
        // One slot may be the next entry's already.
        for at in (count.saturating_sub(SLOTS - 1)..count).rev() {
            let node = self.slots[at % SLOTS].load(Ordering::Acquire);
            let Some(node) = NonNull::new(node) else {
                return false;
            };
            // SAFETY: the slot holds the address of a node of the list (invariant 1), which lives for `'a` as the caller
            // promises; it was loaded with acquire.
            let node: NodeRef<'a> = unsafe { NodeRef::from_ptr(node) };
            if node.seq() <= seq {
                return self.were_there(at, seq);
            }
            each(node);
        }
        count < SLOTS && self.were_there(0, seq)
    }

    /// Whether the slots that were loaded, from the last one back to `first`, held what they were thought to.
    fn were_there(&self, first: usize, seq: SeqNo) -> bool {
        // A later entry in one of them would have been loaded after the count that lets it be there was stored.
        self.count.load(Ordering::Acquire) < first + SLOTS
            && self.floor.load(Ordering::Acquire) <= seq
    }
}
