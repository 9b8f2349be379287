//! `ReadSet`: the keys and ranges that a transaction depends on.

use std::sync::Arc;

use crate::read::conflicts::Span;
use crate::state::keyspaces::KeyspaceState;
use crate::state::sections::{Section, StoredKey};

/// Number of keys at which duplicates are removed for the first time.
const KEYS_BEFORE_SORT: usize = 1024;

/// Keys and ranges that must not have changed when the transaction is committed.
#[derive(Debug)]
pub(crate) struct ReadSet {
    /// All keys, one after another, each after the number of its section.
    bytes: Vec<u8>,
    /// End of each key.
    ends: Vec<usize>,
    /// Number of keys at which duplicates are removed next.
    sort_at: usize,
    spans: Vec<Span>,
    /// Keyspaces that were read.
    keyspaces: Vec<Arc<KeyspaceState>>,
}

impl Default for ReadSet {
    fn default() -> ReadSet {
        ReadSet {
            bytes: Vec::new(),
            ends: Vec::new(),
            sort_at: KEYS_BEFORE_SORT,
            spans: Vec::new(),
            keyspaces: Vec::new(),
        }
    }
}

impl ReadSet {
    /// Adds a key. Memory stays proportional to the number of different keys.
    #[inline]
    pub(crate) fn add_key(&mut self, key: StoredKey<'_>) {
        self.bytes.push(key.section as u8);
        self.bytes.extend_from_slice(key.bytes);
        self.ends.push(self.bytes.len());
        if self.ends.len() >= self.sort_at {
            self.remove_duplicates();
        }
    }

    /// Adds a keyspace, which must not be dropped either.
    pub(crate) fn add_keyspace(&mut self, keyspace: &Arc<KeyspaceState>) {
        if !self.keyspaces.iter().any(|it| Arc::ptr_eq(it, keyspace)) {
            self.keyspaces.push(Arc::clone(keyspace));
        }
    }

    pub(crate) fn keyspaces(&self) -> &[Arc<KeyspaceState>] {
        &self.keyspaces
    }

    /// Adds a range, and returns its index for [`ReadSet::narrow`].
    pub(crate) fn add_span(&mut self, span: Span) -> usize {
        self.spans.push(span);
        self.spans.len() - 1
    }

    /// Replaces the range at `index` with a part of it.
    pub(crate) fn narrow(&mut self, index: usize, span: Span) {
        self.spans[index] = span;
    }

    /// Returns the index of the range that was added last.
    pub(crate) fn last_span(&self) -> Option<usize> {
        self.spans.len().checked_sub(1)
    }

    /// Extends the range at `index` to the start or the end of the range that was added last, which
    /// touches it, and removes that one.
    pub(crate) fn join_last(&mut self, index: usize, forward: bool) {
        if index + 1 >= self.spans.len() {
            return;
        }
        let Some(last) = self.spans.pop() else {
            return;
        };
        if forward {
            self.spans[index].to = last.to;
        } else {
            self.spans[index].from = last.from;
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = StoredKey<'_>> {
        self.records().filter_map(|record| {
            let (section, bytes) = record.split_first()?;
            let section = Section::of_table(*section);
            Some(StoredKey { section, bytes })
        })
    }

    fn records(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let keys = starts.zip(&self.ends);
        keys.map(|(start, end)| &self.bytes[start..*end])
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(crate) fn key_count(&self) -> usize {
        self.ends.len()
    }

    #[cold]
    fn remove_duplicates(&mut self) {
        let mut keys: Vec<&[u8]> = self.records().collect();
        keys.sort_unstable();
        keys.dedup();
        let bytes = keys.concat();
        let mut end = 0;
        let ends = keys.iter().map(|key| {
            end += key.len();
            end
        });
        self.ends = ends.collect();
        self.bytes = bytes;
        self.sort_at = (2 * self.ends.len()).max(KEYS_BEFORE_SORT);
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS_BEFORE_SORT, ReadSet, StoredKey};

    #[test]
    fn a_key_that_is_read_often_is_kept_a_few_times() {
        let mut reads = ReadSet::default();
        for turn in 0..10 * KEYS_BEFORE_SORT {
            reads.add_key(StoredKey::plain(&[u8::try_from(turn % 3).unwrap(); 5]));
        }
        assert!(reads.key_count() < KEYS_BEFORE_SORT);
        let mut keys: Vec<&[u8]> = reads.keys().map(|key| key.bytes).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys, [[0; 5], [1; 5], [2; 5]]);
    }
}
