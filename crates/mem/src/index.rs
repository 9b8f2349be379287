//! The entries of a sealed memtable as an array: a seek need not search the list for its place.
//!
//! Beside a writer there are half a dozen sealed memtables, and a seek has to find its place in each of them, since the
//! next key may be in any. A search of a list waits for a line at each of a dozen steps, which another
//! processor wrote last; heads side by side are searched in three or four rounds of loads that run beside each other
//! ([`lower_bound_u64_le`]), and searches of several memtables overlap.
//!
//! It takes [`ENTRY_BYTES`] for each entry, and a walk over all of them by the writer that sealed the memtable, in whose
//! cache they are; so whoever seals decides, and does where somebody seeks. (Every fourth entry, and steps over
//! the list from there, would take a quarter of the memory and wait for a node at each step.)
//!
//! Invariants:
//! 1. It holds all entries of the list, in its order, and the list never changes any more.
//! 2. `heads[i]` is the head of `nodes[i]`.

use std::ptr::NonNull;

use cairndb_kernel::search::lower_bound_u64_le;

use crate::node::{Node, NodeRef};

/// Bytes of memory that an entry takes.
const ENTRY_BYTES: usize = HEAD_BYTES + size_of::<NonNull<Node>>();
const HEAD_BYTES: usize = size_of::<u64>();

/// All entries of one list.
#[derive(Debug)]
pub(crate) struct Index {
    /// Little-endian.
    heads: Vec<[u8; HEAD_BYTES]>,
    nodes: Vec<NonNull<Node>>,
}

impl Index {
    /// Of the nodes from `first` to the sentinel, which are so many.
    pub(crate) fn of(first: NodeRef<'_>, sentinel: NodeRef<'_>, entries: usize) -> Index {
        let mut heads = Vec::with_capacity(entries);
        let mut nodes = Vec::with_capacity(entries);
        let mut node = first;
        while node != sentinel {
            let next = node.next();
            next.prefetch_whole();
            heads.push(node.head().to_le_bytes());
            nodes.push(node.as_ptr());
            node = next;
        }
        assert_eq!(nodes.len(), entries, "a sealed list has what was inserted");
        Index { heads, nodes }
    }

    /// Bytes of an index of so many entries.
    pub(crate) fn bytes_for(entries: usize) -> usize {
        entries * ENTRY_BYTES
    }

    /// How many entries come before a place: those of smaller heads, and of those with this one as many as
    /// `is_before` says.
    #[inline]
    pub(crate) fn rank(&self, head: u64, is_before: impl Fn(NonNull<Node>) -> bool) -> usize {
        let heads = self.heads.as_flattened();
        let count = self.heads.len();
        let begin = lower_bound_u64_le(heads, count, head);
        if self.heads.get(begin) != Some(&head.to_le_bytes()) {
            return begin;
        }
        // Versions of one key may be thousands.
        let end = head.checked_add(1);
        let end = end.map_or(count, |next| lower_bound_u64_le(heads, count, next));
        let tied = &self.nodes[begin..end];
        begin + tied.partition_point(|&node| is_before(node))
    }

    /// The entry of this rank, counted from 0.
    #[inline]
    pub(crate) fn node(&self, rank: usize) -> Option<NonNull<Node>> {
        self.nodes.get(rank).copied()
    }
}
