//! The cursors that callers get: over what is visible, and over every entry.

use cairndb_base::{Kind, Order, Result, SeqNo};

use super::merge::MergingCursor;
use super::source::SortedSource;
use crate::internal_key::{TAG_MAX, kind_of, seq_of, tag};

/// Where the cursor over the entries is in relation to the current key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// At the entry that is visible.
    On,
    /// Before all entries of the current key.
    Before,
    /// There is no current key.
    Nowhere,
}

/// A position in the keys that are visible at one sequence number, movable both ways.
///
/// Deleted keys are left out, and of each key only the newest visible value is seen. A step of a
/// cursor without a position leaves it without one; after an error it has none and may be
/// positioned again. Cost: a step passes every older or invisible entry of the key.
///
/// The head of this crate has an example.
#[derive(Debug)]
pub struct Cursor {
    entries: MergingCursor,
    order: Order,
    seq: SeqNo,
    stand: Stand,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Cursor {
    pub(crate) fn new(entries: MergingCursor, order: Order, seq: SeqNo) -> Cursor {
        let (key, value) = (Vec::new(), Vec::new());
        Cursor {
            entries,
            order,
            seq,
            stand: Stand::Nowhere,
            key,
            value,
        }
    }

    /// The sequence number at which the cursor reads.
    pub fn seq(&self) -> SeqNo {
        self.seq
    }

    /// Whether the cursor is at a key.
    pub fn valid(&self) -> bool {
        self.stand != Stand::Nowhere
    }

    /// The current key; empty if the cursor is not at a key.
    pub fn key(&self) -> &[u8] {
        if self.valid() { &self.key } else { &[] }
    }

    /// The value of the current key; empty if the cursor is not at a key.
    pub fn value(&self) -> &[u8] {
        if self.valid() { &self.value } else { &[] }
    }

    /// Goes to the first key.
    ///
    /// # Errors
    /// `Corruption` if a table that is met is damaged; `NotSupported` if it is compressed in an
    /// unknown way; `Io`.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.stand = Stand::Nowhere;
        self.entries.seek_to_first()?;
        self.find_forwards(None)
    }

    /// Goes to the last key.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.stand = Stand::Nowhere;
        self.entries.seek_to_last()?;
        self.find_backwards()
    }

    /// Goes to the first key that is not less than `key`.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.stand = Stand::Nowhere;
        self.entries.seek(key, tag(self.seq, Kind::Put))?;
        self.find_forwards(None)
    }

    /// Goes to the last key that is not greater than `key`.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.seek(key)?;
        if !self.valid() {
            self.seek_to_last()
        } else if self.order.compare(&self.key, key).is_gt() {
            self.prev()
        } else {
            Ok(())
        }
    }

    /// Goes to the next key; after the last one, the cursor has no position.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next step"
    )]
    pub fn next(&mut self) -> Result<()> {
        let stand = std::mem::replace(&mut self.stand, Stand::Nowhere);
        match stand {
            Stand::Nowhere => return Ok(()),
            Stand::On => {}
            Stand::Before if self.entries.valid() => self.entries.next()?,
            Stand::Before => self.entries.seek_to_first()?,
        }
        let passed = std::mem::take(&mut self.key);
        self.find_forwards(Some(passed))
    }

    /// Goes to the previous key; before the first one, the cursor has no position.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn prev(&mut self) -> Result<()> {
        let stand = std::mem::replace(&mut self.stand, Stand::Nowhere);
        match stand {
            Stand::Nowhere => return Ok(()),
            Stand::Before => {}
            Stand::On => {
                while self.entries.valid()
                    && self.order.compare(self.entries.key(), &self.key).is_ge()
                {
                    self.entries.prev()?;
                }
            }
        }
        self.find_backwards()
    }

    /// Whether the current entry is visible at the sequence number of the cursor.
    fn is_visible(&self) -> bool {
        seq_of(self.entries.tag()) <= self.seq
    }

    /// Goes from the current entry to the first visible put of a key other than `passed`.
    fn find_forwards(&mut self, passed: Option<Vec<u8>>) -> Result<()> {
        let mut passed = passed;
        while self.entries.valid() {
            let key = self.entries.key();
            let is_passed = passed
                .as_ref()
                .is_some_and(|passed| self.order.compare(key, passed).is_le());
            if self.is_visible() && !is_passed {
                if kind_of(self.entries.tag())? == Kind::Put {
                    self.take_entry();
                    self.stand = Stand::On;
                    return Ok(());
                }
                let deleted = passed.get_or_insert_default();
                deleted.clear();
                deleted.extend_from_slice(key);
            }
            self.entries.next()?;
        }
        Ok(())
    }

    /// Goes from the current entry back over all entries of the last key that is visible.
    fn find_backwards(&mut self) -> Result<()> {
        let mut found = false;
        while self.entries.valid() {
            if self.is_visible() {
                if found && self.order.compare(self.entries.key(), &self.key).is_lt() {
                    break;
                }
                // The entries of a key come from the oldest: the last one seen counts.
                found = kind_of(self.entries.tag())? == Kind::Put;
                if found {
                    self.take_entry();
                }
            }
            self.entries.prev()?;
        }
        if found {
            self.stand = Stand::Before;
        }
        Ok(())
    }

    fn take_entry(&mut self) {
        self.key.clear();
        self.key.extend_from_slice(self.entries.key());
        self.value.clear();
        self.value.extend_from_slice(self.entries.value());
    }
}

/// A position in all entries of a database, also those that newer ones hide, for tools.
///
/// The order is that of internal keys: by key, and of one key from the newest.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{Database, Kind, NewDatabase, ReadOptions, WriteOptions};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// # let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
/// # new.put(b"apple", b"red")?;
/// # new.finish()?;
/// let database = Database::open(&dir, &ReadOptions::default())?;
/// let mut entries = database.entries();
/// entries.seek_to_first()?;
/// assert_eq!((entries.key(), entries.seq(), entries.kind()), (&b"apple"[..], 1, Kind::Put));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct EntryCursor {
    entries: MergingCursor,
}

impl EntryCursor {
    pub(crate) fn new(entries: MergingCursor) -> EntryCursor {
        EntryCursor { entries }
    }

    /// Whether the cursor is at an entry.
    pub fn valid(&self) -> bool {
        self.entries.valid()
    }

    /// The key of the current entry; empty if there is none.
    pub fn key(&self) -> &[u8] {
        self.entries.key()
    }

    /// The sequence number of the current entry; 0 if there is none.
    pub fn seq(&self) -> SeqNo {
        seq_of(self.entries.tag())
    }

    /// The kind of the current entry: `Put` or `Delete`.
    pub fn kind(&self) -> Kind {
        kind_of(self.entries.tag()).unwrap_or(Kind::Delete)
    }

    /// The value of the current entry; empty for a delete.
    pub fn value(&self) -> &[u8] {
        self.entries.value()
    }

    /// Goes to the first entry.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.entries.seek_to_first()
    }

    /// Goes to the last entry.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.entries.seek_to_last()
    }

    /// Goes to the newest entry of the first key that is not less than `key`.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.entries.seek(key, TAG_MAX)
    }

    /// Goes to the next entry; after the last one, the cursor has no position.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next step"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.entries.next()
    }

    /// Goes to the previous entry; before the first one, the cursor has no position.
    ///
    /// # Errors
    /// As [`Cursor::seek_to_first`].
    pub fn prev(&mut self) -> Result<()> {
        self.entries.prev()
    }
}
