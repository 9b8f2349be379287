//! `Payload`: the contents of one write, before it is logged and applied.

use cairndb_base::Kind;
use cairndb_format::batch::{self, BatchWriter};
use cairndb_format::log;

use crate::state::sections::{Section, Sections, StoredKey};

/// A write to commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload<'a> {
    /// A single entry.
    One {
        kind: Kind,
        key: StoredKey<'a>,
        value: &'a [u8],
    },
    /// Encoded entries.
    Many(&'a BatchWriter),
}

impl Payload<'_> {
    pub(crate) fn count(&self) -> u64 {
        match self {
            Payload::One { .. } => 1,
            Payload::Many(batch) => batch.count(),
        }
    }

    /// Returns the sections that are written to.
    pub(crate) fn sections(&self) -> Sections<bool> {
        let mut found = Sections::default();
        match self {
            Payload::One { key, .. } => *found.get_mut(key.section) = true,
            Payload::Many(batch) if !batch.has_keyspaces() => {
                *found.get_mut(Section::Default) = true;
            }
            Payload::Many(batch) => {
                for entry in batch.own_entries() {
                    *found.get_mut(Section::of_entry(&entry)) = true;
                }
            }
        }
        found
    }

    /// Returns whether the write consists only of deletions.
    pub(crate) fn only_deletes(&self) -> bool {
        let deletes = |kind| matches!(kind, Kind::Delete | Kind::RangeDelete);
        match self {
            Payload::One { kind, .. } => deletes(*kind),
            Payload::Many(batch) => batch.own_entries().all(|entry| deletes(entry.kind)),
        }
    }

    /// Returns the length of the log record, including header and padding.
    pub(crate) fn record_bytes(&self) -> u64 {
        match self {
            Payload::One { kind, key, value } => {
                let in_keyspace = key.section != Section::Default;
                let key_len = key.bytes.len();
                let frame = batch::frame(*kind, in_keyspace, key_len, value.len());
                log::record_bytes(frame.payload_len(key_len, value.len()))
            }
            Payload::Many(batch) => log::record_bytes(batch.payload_len()),
        }
    }
}
