//! `SortedOps`: operations of a batch in the order of their keys.
//!
//! A list of leaves of sorted operation numbers. The keys are in the batch, so an operation takes
//! four bytes. Rejected: `BTreeMap`, which cannot compare through the batch and would copy each
//! key.

use std::cmp::Ordering;

/// Number of operations of a leaf at which it is split. Moving half of a leaf takes about as long
/// as comparing two keys.
const LEAF_LEN_MAX: usize = 512;

/// Position of an operation, or where it would be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpPlace {
    leaf: usize,
    at: usize,
}

/// Operation numbers, sorted by the keys of the operations. No leaf is empty.
#[derive(Debug, Default)]
pub(crate) struct SortedOps {
    leaves: Vec<Vec<u32>>,
}

impl SortedOps {
    /// Returns the first place whose operation does not come before the searched key. `compare`
    /// compares the key of an operation with it.
    pub(crate) fn lower_bound(&self, mut compare: impl FnMut(u32) -> Ordering) -> OpPlace {
        let leaf = self.leaves.partition_point(|leaf| {
            let last = leaf.last().expect("no leaf is empty");
            compare(*last).is_lt()
        });
        let at = self
            .leaves
            .get(leaf)
            .map_or(0, |leaf| leaf.partition_point(|op| compare(*op).is_lt()));
        OpPlace { leaf, at }
    }

    /// Returns the operation at `place`.
    pub(crate) fn get(&self, place: OpPlace) -> Option<u32> {
        self.leaves.get(place.leaf)?.get(place.at).copied()
    }

    /// Returns the operation after the one at `place`.
    pub(crate) fn get_after(&self, place: OpPlace) -> Option<u32> {
        let leaf = self.leaves.get(place.leaf)?;
        match leaf.get(place.at + 1) {
            Some(op) => Some(*op),
            None => self.leaves.get(place.leaf + 1)?.first().copied(),
        }
    }

    /// Returns the operation before `place`.
    pub(crate) fn get_before(&self, place: OpPlace) -> Option<u32> {
        match place.at.checked_sub(1) {
            Some(at) => self.leaves.get(place.leaf)?.get(at).copied(),
            None => self.leaves.get(place.leaf.checked_sub(1)?)?.last().copied(),
        }
    }

    /// Inserts `op` at `place`, which [`SortedOps::lower_bound`] returned for its key.
    pub(crate) fn insert(&mut self, place: OpPlace, op: u32) {
        // A key after all others continues the last leaf.
        let (leaf, at) = if place.leaf < self.leaves.len() {
            (place.leaf, place.at)
        } else if let Some(last) = self.leaves.len().checked_sub(1) {
            (last, self.leaves[last].len())
        } else {
            self.leaves.push(Vec::new());
            (0, 0)
        };
        self.leaves[leaf].insert(at, op);
        if self.leaves[leaf].len() < LEAF_LEN_MAX {
            return;
        }
        // Ascending keys leave full leaves.
        let appended = leaf + 1 == self.leaves.len() && at + 1 == LEAF_LEN_MAX;
        let kept = if appended {
            LEAF_LEN_MAX - 1
        } else {
            LEAF_LEN_MAX / 2
        };
        let upper = self.leaves[leaf].split_off(kept);
        self.leaves.insert(leaf + 1, upper);
    }

    /// Replaces the operation at `place`, and returns the old one.
    pub(crate) fn replace(&mut self, place: OpPlace, op: u32) -> u32 {
        std::mem::replace(&mut self.leaves[place.leaf][place.at], op)
    }

    /// Removes the operation at `place`.
    pub(crate) fn remove(&mut self, place: OpPlace) {
        self.leaves[place.leaf].remove(place.at);
        if self.leaves[place.leaf].is_empty() {
            self.leaves.remove(place.leaf);
        }
    }
}
