//! The cursor of a transaction: the entries of its snapshot and its own writes, in one order.
//!
//! The base cursor stands at or beyond the current position in the direction of the last move. The
//! own side is a key: the nearest own write that the cursor has not passed. It is searched again
//! when the transaction has written, so an own write ahead of the cursor is seen. Both sides are
//! placed anew when the direction turns.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use cairndb_base::{Error, Result};

use crate::api::cursor::Cursor;
use crate::api::value::Value;
use crate::read::conflicts::Span;
use crate::state::sections::Section;
use crate::transaction::handle::{OwnSeek, Transaction};
use crate::transaction::own_writes::OwnWrite;

/// Location of the current entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// No entry.
    Nothing,
    /// The entry of the base cursor.
    Base,
    /// An own write, in `key` and `value`. The base cursor is on the same key if `hides`.
    Own { hides: bool },
    /// An entry at `key` whose operands could not be folded. The base cursor is on the same key if
    /// `hides`.
    Failed { hides: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A range that the cursor has passed since it was positioned or turned.
#[derive(Debug)]
struct Passed {
    /// Index in the transaction's read set.
    index: usize,
    start: Bound<Vec<u8>>,
    direction: Direction,
}

/// A position in the ordered entries that a transaction sees: its snapshot and its own writes.
///
/// It moves as a [`Cursor`](crate::Cursor) does, with the same errors. The transaction may write
/// while it has cursors: a cursor sees a write ahead of its position when it gets there, and keeps
/// showing the entry that it is on until it moves.
///
/// With [`Isolation::Serializable`](crate::Isolation::Serializable) the range that the cursor has
/// passed is recorded: the transaction conflicts with any write in it, also of keys that were not
/// there.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// db.put(b"b", b"stored")?;
/// let transaction = db.transaction();
/// transaction.put(b"a", b"own")?;
/// let mut cursor = transaction.cursor();
/// cursor.seek_to_last()?;
/// assert_eq!((cursor.key(), cursor.value()), (&b"b"[..], &b"stored"[..]));
/// cursor.prev()?;
/// assert_eq!((cursor.key(), cursor.value()), (&b"a"[..], &b"own"[..]));
/// # Ok(()) }
/// ```
#[must_use = "a cursor reads nothing until it is positioned"]
pub struct TransactionCursor<'t> {
    transaction: &'t Transaction,
    base: Cursor,
    /// Error of the last move of the base cursor. If that has a place, it concerns the key there.
    base_error: Option<Error>,
    /// The nearest own write that was not passed.
    own: Option<Vec<u8>>,
    /// Number of the transaction's changes when `own` was searched.
    own_changes: u64,
    on: On,
    key: Vec<u8>,
    value: Vec<u8>,
    direction: Direction,
    /// Range outside of which nothing is recorded as read.
    limits: Span,
    passed: Option<Passed>,
}

impl fmt::Debug for TransactionCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionCursor")
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}

impl Drop for TransactionCursor<'_> {
    fn drop(&mut self) {
        self.end_passed();
    }
}

impl<'t> TransactionCursor<'t> {
    /// Returns a cursor over `base`. The caller does not use it outside of `limits`, except to find
    /// out where they end.
    pub(crate) fn new(
        transaction: &'t Transaction,
        base: Cursor,
        limits: Span,
    ) -> TransactionCursor<'t> {
        TransactionCursor {
            transaction,
            base,
            base_error: None,
            own: None,
            own_changes: 0,
            on: On::Nothing,
            key: Vec::new(),
            value: Vec::new(),
            direction: Direction::Forward,
            limits,
            passed: None,
        }
    }

    /// Returns another cursor on the same entry. Both move independently. Costs a seek.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    pub fn try_clone(&self) -> Result<TransactionCursor<'t>> {
        let mut clone = self.fork();
        if self.valid() {
            clone.seek(self.key())?;
        }
        Ok(clone)
    }

    /// Returns another cursor over the same state, not yet positioned.
    pub(crate) fn fork(&self) -> TransactionCursor<'t> {
        TransactionCursor::new(self.transaction, self.base.fork(), self.limits.clone())
    }

    /// Returns whether the cursor is on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        matches!(self.on, On::Base | On::Own { .. })
    }

    /// Returns the key of the entry, or an empty slice if the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.on {
            On::Base => self.base.key(),
            On::Own { .. } => &self.key,
            On::Nothing | On::Failed { .. } => &[],
        }
    }

    /// Returns the value of the entry, or an empty slice if the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.on {
            On::Base => self.base.value(),
            On::Own { .. } => &self.value,
            On::Nothing | On::Failed { .. } => &[],
        }
    }

    /// Returns the value in a form that outlives the next move.
    pub(crate) fn owned_value(&self) -> Value {
        match self.on {
            On::Base => self.base.owned_value(),
            _ => Value::from(self.value()),
        }
    }

    /// Returns the key of the cursor's position, which it keeps when the merge operator fails.
    pub(crate) fn place(&self) -> Option<&[u8]> {
        match self.on {
            On::Nothing => None,
            On::Base => Some(self.base.key()),
            On::Own { .. } | On::Failed { .. } => Some(&self.key),
        }
    }

    /// Moves to the first entry whose key is at or after `key`. If there is none, the cursor is not
    /// valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.begin_passed(Bound::Included(key), Direction::Forward);
        let moved = self.base.seek(key);
        self.own = self.own_key(OwnSeek::AtOrAfter(key, false));
        self.settle(moved)
    }

    /// Moves to the last entry whose key is at or before `key`. If there is none, the cursor is not
    /// valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.begin_passed(Bound::Included(key), Direction::Backward);
        let moved = self.base.seek_for_prev(key);
        self.own = self.own_key(OwnSeek::AtOrBefore(key, false));
        self.settle(moved)
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.begin_passed(Bound::Unbounded, Direction::Forward);
        let moved = self.base.seek_to_first();
        self.own = self.own_key(OwnSeek::First);
        self.settle(moved)
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.begin_passed(Bound::Unbounded, Direction::Backward);
        let moved = self.base.seek_to_last();
        self.own = self.own_key(OwnSeek::Last);
        self.settle(moved)
    }

    /// Moves to the next entry. After the last entry the cursor is not valid. Does nothing if the
    /// cursor is not valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next move"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.step(Direction::Forward)
    }

    /// Moves to the previous entry. Before the first entry the cursor is not valid. Does nothing if
    /// the cursor is not valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`](crate::Cursor::seek).
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        self.step(Direction::Backward)
    }

    fn step(&mut self, direction: Direction) -> Result<()> {
        if self.on == On::Nothing {
            return Ok(());
        }
        if self.direction != direction {
            return self.turn(direction);
        }
        if self.own_changes != self.transaction.own_changes() || self.on != On::Base {
            let place = std::mem::take(&mut self.key);
            let at = if self.on == On::Base {
                self.base.key()
            } else {
                &place
            };
            self.own = self.beyond(at);
            self.own_changes = self.transaction.own_changes();
            self.key = place;
        }
        let moved = match self.on {
            On::Base | On::Own { hides: true } | On::Failed { hides: true } => self.step_base(),
            On::Own { hides: false } | On::Failed { hides: false } | On::Nothing => {
                self.base_error.take().map_or(Ok(()), Err)
            }
        };
        self.settle(moved)
    }

    /// Moves in the other direction than before.
    fn turn(&mut self, direction: Direction) -> Result<()> {
        let at = self.place().map(<[u8]>::to_vec).unwrap_or_default();
        self.begin_passed(Bound::Included(&at), direction);
        let mut moved = match direction {
            Direction::Forward => self.base.seek(&at),
            Direction::Backward => self.base.seek_for_prev(&at),
        };
        let order = self.base.order();
        if self
            .base
            .place()
            .is_some_and(|key| order.compare(key, &at).is_eq())
        {
            moved = self.step_base();
        }
        self.own = self.beyond(&at);
        self.settle(moved)
    }

    fn step_base(&mut self) -> Result<()> {
        match self.direction {
            Direction::Forward => self.base.next(),
            Direction::Backward => self.base.prev(),
        }
    }

    /// Returns the nearest own write beyond `key`.
    fn beyond(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.own_key(match self.direction {
            Direction::Forward => OwnSeek::AtOrAfter(key, true),
            Direction::Backward => OwnSeek::AtOrBefore(key, true),
        })
    }

    fn own_key(&self, seek: OwnSeek<'_>) -> Option<Vec<u8>> {
        self.transaction.own_key(self.base.space(), seek)
    }

    /// Puts the cursor on the nearer of both sides. `moved` is the result of the base cursor's last
    /// move.
    fn settle(&mut self, moved: Result<()>) -> Result<()> {
        self.base_error = moved.err();
        loop {
            let near = match (self.base.place(), &self.own) {
                (None, None) => {
                    self.on = On::Nothing;
                    return self.base_error.take().map_or(Ok(()), Err);
                }
                (None, Some(_)) if self.base_error.is_some() => {
                    // The base has no position, so what comes before the own write is unknown.
                    self.own = None;
                    continue;
                }
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(base), Some(own)) => {
                    let ordering = self.base.order().compare(base, own);
                    match self.direction {
                        Direction::Forward => ordering,
                        Direction::Backward => ordering.reverse(),
                    }
                }
            };
            if near.is_lt() {
                if self.pass_own_range() {
                    continue;
                }
                return self.settle_on_base();
            }
            if self.settle_on_own(near.is_eq())? {
                return Ok(());
            }
        }
    }

    /// Moves the base cursor past the range that it is in, if the transaction has deleted one.
    fn pass_own_range(&mut self) -> bool {
        let place = self.base.place().unwrap_or_default();
        let Some((from, to)) = self.transaction.own_range(self.base.space(), place) else {
            return false;
        };
        let moved = match (self.direction, to) {
            (Direction::Forward, Some(to)) => self.base.seek(&to),
            (Direction::Forward, None) => {
                self.base.leave();
                Ok(())
            }
            (Direction::Backward, _) => {
                let moved = self.base.seek_for_prev(&from);
                let order = self.base.order();
                let is_first = |place: &[u8]| order.compare(place, &from).is_eq();
                if self.base.place().is_some_and(is_first) {
                    self.base.prev()
                } else {
                    moved
                }
            }
        };
        self.base_error = moved.err();
        true
    }

    fn settle_on_base(&mut self) -> Result<()> {
        let Some(error) = self.base_error.take() else {
            self.on = On::Base;
            return Ok(());
        };
        self.key.clear();
        self.key
            .extend_from_slice(self.base.place().unwrap_or_default());
        self.on = On::Failed { hides: true };
        Err(error)
    }

    /// Puts the cursor on the nearest own write, or returns `false` if that is a deletion, which is
    /// passed. The base cursor is on the same key if `hides`.
    fn settle_on_own(&mut self, hides: bool) -> Result<bool> {
        self.key = self.own.take().unwrap_or_default();
        let base = (hides && self.base_error.is_none()).then(|| self.base.value());
        let transaction = self.transaction;
        let shown =
            transaction.own_value(self.base.space(), &self.key, |write, folder| match write {
                OwnWrite::Delete => Ok(false),
                OwnWrite::Put(own) => {
                    self.value.clear();
                    self.value.extend_from_slice(own);
                    Ok(true)
                }
                OwnWrite::Merge(op) => {
                    let needs_base = folder.needs_base(op);
                    if let Some(error) = self.base_error.as_ref().filter(|_| hides && needs_base) {
                        return Err(error.clone());
                    }
                    self.value = folder.fold(op, base)?;
                    Ok(true)
                }
            });
        match shown {
            Ok(true) => {
                self.on = On::Own { hides };
                Ok(true)
            }
            Ok(false) => {
                self.own = self.beyond(&self.key);
                if hides {
                    self.base_error = self.step_base().err();
                }
                Ok(false)
            }
            Err(error) => {
                self.on = On::Failed { hides };
                Err(error)
            }
        }
    }

    /// Begins a new range of passed keys, after the end of the last one.
    fn begin_passed(&mut self, start: Bound<&[u8]>, direction: Direction) {
        self.end_passed();
        self.direction = direction;
        self.own_changes = self.transaction.own_changes();
        let start = start.map(<[u8]>::to_vec);
        // Everything ahead, until it is known how far the cursor went: it may never be dropped.
        let span = Self::span(start.clone(), Bound::Unbounded, direction);
        self.passed = self
            .transaction
            .add_span(self.base.space(), span)
            .map(|index| Passed {
                index,
                start,
                direction,
            });
    }

    fn end_passed(&mut self) {
        let Some(passed) = self.passed.take() else {
            return;
        };
        let end = match self.place() {
            Some(key) => Bound::Included(key.to_vec()),
            None => Bound::Unbounded,
        };
        let span = Self::span(passed.start, end, passed.direction);
        let span = span.clamped(self.base.order(), &self.limits);
        let space = self.base.space();
        self.transaction.narrow_span(space, passed.index, span);
    }

    fn span(start: Bound<Vec<u8>>, end: Bound<Vec<u8>>, direction: Direction) -> Span {
        match direction {
            Direction::Forward => Span {
                section: Section::Default,
                from: start,
                to: end,
            },
            Direction::Backward => Span {
                section: Section::Default,
                from: end,
                to: start,
            },
        }
    }
}
