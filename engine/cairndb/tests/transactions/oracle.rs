//! What a transaction must see, and whether it may or must conflict.
//!
//! The oracle keeps a copy of the contents at the start and applies the transaction's writes to it.
//! It knows which keys the transaction has read for certain (the commit must fail if one is
//! written) and which it may have read (otherwise the commit must succeed).

use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};

use crate::Contents;

/// Both ends of a range.
type Span = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// One write.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put(Vec<u8>),
    Delete,
    Merge(Vec<u8>),
    /// Deletes all keys up to this one, which is kept.
    DeleteRange(Vec<u8>),
}

impl Change {
    pub(crate) fn apply(&self, contents: &mut Contents, key: &[u8]) {
        match self {
            Change::Put(value) => drop(contents.insert(key.to_vec(), value.clone())),
            Change::Delete => drop(contents.remove(key)),
            Change::DeleteRange(end) => contents.retain(|it, _| **it < *key || *it >= *end),
            Change::Merge(operand) => contents.entry(key.to_vec()).or_default().extend(operand),
        }
    }
}

/// One open transaction.
#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    /// What the transaction sees.
    pub(crate) seen: Contents,
    writes: Vec<(Vec<u8>, Change)>,
    /// For each savepoint, what was seen, and the number of writes.
    savepoints: Vec<(Contents, usize)>,
    /// Keys that were read, from the database or the own writes.
    read: BTreeSet<Vec<u8>>,
    /// Those of them that were read for update.
    guarded: BTreeSet<Vec<u8>>,
    /// Ranges that were scanned.
    scanned: Vec<Span>,
    /// Whether a cursor went an unknown way.
    strayed: bool,
}

impl Oracle {
    pub(crate) fn new(start: &Contents) -> Oracle {
        Oracle {
            seen: start.clone(),
            writes: Vec::new(),
            savepoints: Vec::new(),
            read: BTreeSet::new(),
            guarded: BTreeSet::new(),
            scanned: Vec::new(),
            strayed: false,
        }
    }

    pub(crate) fn write(&mut self, key: &[u8], change: Change) {
        change.apply(&mut self.seen, key);
        self.writes.push((key.to_vec(), change));
    }

    /// Returns the writes in order.
    pub(crate) fn writes(&self) -> &[(Vec<u8>, Change)] {
        &self.writes
    }

    pub(crate) fn savepoint(&mut self) {
        self.savepoints.push((self.seen.clone(), self.writes.len()));
    }

    /// Returns to savepoint `index`, and returns for each later one whether that has ended it.
    pub(crate) fn rollback_to(&mut self, index: usize) -> Vec<bool> {
        let later = self.savepoints.split_off(index + 1);
        let (seen, writes) = self.savepoints[index].clone();
        self.seen = seen;
        self.writes.truncate(writes);
        later.iter().map(|(_, more)| *more > writes).collect()
    }

    /// Returns whether an own put or deletion hides the database's value of `key`.
    fn hides(&self, key: &[u8]) -> bool {
        let mut writes = self.writes.iter();
        writes.any(|(other, change)| match change {
            Change::Put(_) | Change::Delete => other == key,
            Change::Merge(_) => false,
            Change::DeleteRange(end) => (&**other..&**end).contains(&key),
        })
    }

    pub(crate) fn get(&mut self, key: &[u8]) -> Option<&Vec<u8>> {
        self.read.insert(key.to_vec());
        self.seen.get(key)
    }

    pub(crate) fn get_for_update(&mut self, key: &[u8]) -> Option<&Vec<u8>> {
        self.guarded.insert(key.to_vec());
        self.get(key)
    }

    /// Records a scan of all keys from `from` to `to`.
    pub(crate) fn scan(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) {
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        self.scanned.push((owned(from), owned(to)));
    }

    /// Records that a cursor may have passed any key.
    pub(crate) fn stray(&mut self) {
        self.strayed = true;
    }

    /// Returns whether a serialisable commit must fail (`true`) or succeed, or may do either, if
    /// `keys` were written since the start.
    pub(crate) fn conflicts(&self, keys: &BTreeSet<Vec<u8>>) -> Option<bool> {
        if self.writes.is_empty() || keys.is_empty() {
            return Some(false);
        }
        let mut sure = keys.iter().filter(|key| !self.hides(key));
        let scanned = |key: &Vec<u8>| self.scanned.iter().any(|span| span.contains(key));
        if keys.iter().any(|key| self.read.contains(key)) || sure.any(scanned) {
            return Some(true);
        }
        // A scan may or may not count as having read a key that an own write hides.
        let perhaps = self.strayed || keys.iter().any(scanned);
        (!perhaps).then_some(false)
    }

    /// Returns whether a commit with snapshot isolation must fail.
    pub(crate) fn overlaps(&self, keys: &BTreeSet<Vec<u8>>) -> bool {
        let depends = |key: &Vec<u8>| self.hides(key) || self.guarded.contains(key);
        !self.writes.is_empty() && keys.iter().any(depends)
    }
}
