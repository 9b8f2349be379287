//! Entries that wait until their values have decided how a table stores values.

use cairndb_base::{Kind, SeqNo};

use super::sample::Sample;

/// An entry that waits; where its parts end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) key_end: usize,
    pub(super) raw_end: usize,
    pub(super) stored_end: usize,
    pub(super) seq: SeqNo,
    pub(super) kind: Kind,
}

/// The entries that wait, and the sample that decides.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) sample: Sample,
    pub(super) held: Vec<Held>,
    pub(super) keys: Vec<u8>,
    pub(super) raw: Vec<u8>,
    pub(super) stored: Vec<u8>,
}

impl Choice {
    pub(super) fn memory_bytes(&self) -> usize {
        self.sample.memory_bytes()
            + self.keys.capacity()
            + self.raw.capacity()
            + self.stored.capacity()
            + self.held.capacity() * size_of::<Held>()
    }

    /// Whether an entry waits.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// The last entry that waits.
    pub(super) fn last(&self) -> Option<(&[u8], SeqNo)> {
        let (last, before) = self.held.split_last()?;
        let start = before.last().map_or(0, |held| held.key_end);
        Some((&self.keys[start..last.key_end], last.seq))
    }
}
