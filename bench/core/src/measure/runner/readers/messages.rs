//! What the process that writes and those that read send each other.

use serde::{Deserialize, Serialize};

use crate::measure::wrong_answers::WrongAnswers;

/// A message to a reader: to open the store, to start, or, with a key's index, its generation and
/// the time when it was written, to read that key.
pub(super) type Message = [u64; 3];

/// A reader has the model.
pub(super) const READY: u8 = b'1';
/// It has opened the store and read one key.
pub(super) const OPENED: u8 = b'2';
/// It has seen the entry that was written.
pub(super) const SEEN: u8 = b'3';

/// What a reader reports at its end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Answers {
    /// Time from before the opening to the first answer.
    pub(super) opened_ns: u64,
    /// Reads after that one.
    pub(super) reads: u64,
    pub(super) found: u64,
    /// Their time.
    pub(super) reading_ns: u64,
    /// From each write to the end of the read that saw it.
    pub(super) seen_ns: Vec<u64>,
    /// The part of that until the message arrived.
    pub(super) message_ns: Vec<u64>,
    /// Reads that did not see the write.
    pub(super) stale: u64,
    pub(super) wrong: WrongAnswers,
}
