//! Pending entries: those held back until their values have determined how the table stores values.

use cairndb_base::{Kind, SeqNo};

use crate::table::build::sample::Sample;

/// A pending entry: where its key and values end in the buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingEntry {
    pub(crate) key_end: usize,
    pub(crate) raw_end: usize,
    pub(crate) stored_end: usize,
    pub(crate) seq: SeqNo,
    pub(crate) kind: Kind,
}

/// The pending entries, and the sample that decides.
#[derive(Debug, Default)]
pub(crate) struct PendingEntries {
    pub(crate) sample: Sample,
    pub(crate) entries: Vec<PendingEntry>,
    pub(crate) keys: Vec<u8>,
    pub(crate) raw: Vec<u8>,
    pub(crate) stored: Vec<u8>,
}

impl PendingEntries {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.sample.memory_bytes()
            + self.keys.capacity()
            + self.raw.capacity()
            + self.stored.capacity()
            + self.entries.capacity() * size_of::<PendingEntry>()
    }

    /// Returns whether any entry is pending.
    pub(crate) fn are_some(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Returns the last pending entry.
    pub(crate) fn last(&self) -> Option<(&[u8], SeqNo)> {
        let (last, before) = self.entries.split_last()?;
        let start = before.last().map_or(0, |entry| entry.key_end);
        Some((&self.keys[start..last.key_end], last.seq))
    }
}
