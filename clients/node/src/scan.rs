//! Iterators: entries of a range, read in chunks.
//!
//! Each read fetches a chunk, whose size JavaScript chooses. While the gate is warm (`gate.rs`), it
//! is fetched on the environment's thread, and ends early if it takes long; otherwise on the thread
//! pool. Either way the entries become JavaScript values on the environment's thread afterwards.
//!
//! A closed iterator is kept by JavaScript and becomes the next one: a new external, which the
//! garbage collector has to finalize, takes as long as reading some entries.
//!
//! `abstract-level` makes no two calls of one iterator at a time, so its lock is never contended;
//! it is there because the pool's threads use the iterator too.

pub(crate) mod bounds;
pub(crate) mod changes;
pub(crate) mod chunk;
pub(crate) mod diff;
mod feed;
pub(crate) mod object;

use cairndb::{Cursor, Result};

use bounds::Bounds;
use chunk::Chunk;

use crate::results::Form;

/// Entries that are read between two looks at the clock and at the abort signal.
const ENTRIES_AT_ONCE: usize = 32;

/// The position of an iterator.
#[derive(Debug)]
pub(crate) struct Scan {
    /// `None` once the iterator was closed.
    cursor: Option<Cursor>,
    bounds: Bounds,
    state: ScanState,
    chunk: Chunk,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScanState {
    /// The next read begins at the first entry.
    Unplaced,
    /// The next read begins at this key, or at the next entry in the direction.
    Sought(Vec<u8>),
    /// The cursor is on the last entry that was read.
    On,
    Ended,
}

/// How much a read fetches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    pub(crate) entries: usize,
    /// The read ends with the entry that exceeds this number of bytes.
    pub(crate) bytes: usize,
}

impl Scan {
    pub(crate) fn new(cursor: Option<Cursor>, bounds: Bounds, forms: [Form; 2]) -> Scan {
        let [key, value] = forms;
        Scan {
            cursor,
            bounds,
            state: ScanState::Unplaced,
            chunk: Chunk::new(key, value),
        }
    }

    /// Makes a closed iterator a new one, which keeps the memory of the chunk.
    pub(crate) fn restart(&mut self, cursor: Option<Cursor>, bounds: Bounds, forms: [Form; 2]) {
        let [key, value] = forms;
        self.chunk.reset(key, value);
        self.cursor = cursor;
        self.bounds = bounds;
        self.state = ScanState::Unplaced;
    }

    /// Moves to the next entry. Returns whether there is one.
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        let Some(cursor) = &mut self.cursor else {
            self.state = ScanState::Ended;
            return Ok(false);
        };
        let inside = match &self.state {
            ScanState::On => {
                self.bounds.step(cursor)?;
                cursor.valid() && self.bounds.goes_on_at(cursor.key())
            }
            ScanState::Ended => return Ok(false),
            ScanState::Unplaced => {
                self.bounds.place(cursor)?;
                cursor.valid() && self.bounds.contains(cursor.key())
            }
            ScanState::Sought(key) => {
                self.bounds.place_at(cursor, key)?;
                cursor.valid() && self.bounds.contains(cursor.key())
            }
        };
        self.state = if inside {
            ScanState::On
        } else {
            ScanState::Ended
        };
        Ok(inside)
    }

    /// Fetches entries into the chunk until there is `amount`, the range ends, or `goes_on` returns
    /// false, which is asked now and then.
    pub(crate) fn fetch(&mut self, amount: Amount, goes_on: impl Fn() -> bool) -> Result<()> {
        self.chunk.clear();
        let mut unasked = ENTRIES_AT_ONCE;
        while self.chunk.len() < amount.entries {
            if !self.advance()? {
                break;
            }
            if let Some(cursor) = &self.cursor {
                self.chunk.push(cursor.key(), cursor.value());
            }
            if self.chunk.byte_len() > amount.bytes {
                break;
            }
            unasked -= 1;
            if unasked == 0 {
                if !goes_on() {
                    break;
                }
                unasked = ENTRIES_AT_ONCE;
            }
        }
        Ok(())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state == ScanState::Ended
    }

    /// Makes the next read begin at `target`, or end the iterator if that is not in the range.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        self.chunk.clear();
        self.state = if self.bounds.contains(target) {
            ScanState::Sought(target.to_vec())
        } else {
            ScanState::Ended
        };
    }

    /// Releases what the iterator holds.
    pub(crate) fn close(&mut self) {
        self.cursor = None;
        self.state = ScanState::Ended;
        self.chunk.shrink();
    }
}
