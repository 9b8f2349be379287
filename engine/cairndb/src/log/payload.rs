//! `Payload`: the contents of one write, before it is logged and applied.

use cairndb_base::Kind;
use cairndb_format::batch::{self, BatchWriter};
use cairndb_format::log;

/// A write to commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload<'a> {
    /// A single entry.
    One {
        kind: Kind,
        key: &'a [u8],
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

    /// Returns whether the write consists only of deletions.
    pub(crate) fn only_deletes(&self) -> bool {
        match self {
            Payload::One { kind, .. } => *kind == Kind::Delete,
            Payload::Many(batch) => batch.own_entries().all(|entry| entry.kind == Kind::Delete),
        }
    }

    /// Returns the length of the log record, including header and padding.
    pub(crate) fn record_bytes(&self) -> u64 {
        match self {
            Payload::One { kind, key, value } => {
                let frame = batch::frame(*kind, false, key.len(), value.len());
                log::record_bytes(frame.payload_len(key.len(), value.len()))
            }
            Payload::Many(batch) => log::record_bytes(batch.payload_len()),
        }
    }
}
