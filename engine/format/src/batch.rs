//! A batch: entries that are written together, and the payload of a log record.
//!
//! A payload is a varint count and that many entries, each a kind, a key and, for every kind except
//! a deletion, a value (`docs/format/batch.md`). The writer fills a [`BatchWriter`] or, for one
//! entry, gets the few bytes around key and value from [`frame`]. Recovery reads payloads with
//! [`validate`] and [`iter`]. Sequence numbers are not stored: entry `i` has the record's sequence
//! number plus `i`.
//!
//! 1. The bytes of an entry do not depend on its position, so batches are joined by concatenation.
//! 2. Every kind from 1 up has a value, whether or not this version knows the kind, so a reader can
//!    always skip an entry.

/// Added to the number of a kind for an entry in a keyspace, whose key begins with the keyspace's
/// number.
const IN_KEYSPACE: u8 = 8;

mod frame;
mod read;
mod writer;

pub use frame::{Frame, Short, frame};
pub(crate) use read::ends_in_keyspace;
pub use read::{BatchIter, Entry, OwnEntries, Validated, count, iter, validate};
pub use writer::{BatchMark, BatchWriter};

#[cfg(test)]
mod tests;
