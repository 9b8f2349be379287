//! A batch: the entries that are written together, and the payload of a log record.
//!
//! A payload is a varint count and then that many entries, each a kind, a key and, for every kind
//! but a deletion, a value (`docs/format/batch.md`). The writer fills [`BatchWriter`] or, for one
//! entry, asks [`frame`] for the few bytes around key and value; recovery reads payloads with
//! [`validate`] and [`iter`]. Sequence numbers are not stored: entry `i` has the record's plus `i`.
//!
//! 1. The bytes of an entry do not depend on its place, so batches are joined by concatenation.
//! 2. Every kind from 1 up has a value, known to this version or not, so a reader can always step
//!    over an entry.

mod frame;
mod read;
mod writer;

pub use frame::{Frame, Short, frame};
pub use read::{BatchIter, Entry, OwnEntries, Validated, count, iter, validate};
pub use writer::BatchWriter;

#[cfg(test)]
mod tests;
