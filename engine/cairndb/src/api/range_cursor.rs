//! The cursor over a part of the keys: a range, or the keys with a prefix.

use cairndb_base::Result;

use crate::api::bounds::Bounds;
use crate::api::cursor::Cursor;
use crate::api::range::KeyRange;

/// A [`Cursor`] that sees only the entries of a range, made by [`Cursor::within`] or
/// [`Cursor::with_prefix`].
///
/// It moves as a cursor does, and is not valid on entries outside of its range:
/// [`seek`](RangeCursor::seek) to a key before the range moves to its first entry,
/// [`seek_for_prev`](RangeCursor::seek_for_prev) to a key after it to its last one. A move that
/// leaves the range ends there: the cursor must be positioned again.
///
/// **Cost.** One or two comparisons per move beside those of the cursor.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// # for k in ["a", "ba", "bb", "c"] { db.put(k.as_bytes(), b"stone")?; }
/// let mut cursor = db.cursor().with_prefix(b"b");
/// cursor.seek_to_last()?;
/// assert_eq!(cursor.key(), b"bb");
/// cursor.next()?;
/// assert!(!cursor.valid());
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a cursor reads nothing until it is positioned"]
pub struct RangeCursor {
    cursor: Cursor,
    bounds: Bounds,
    /// Whether the cursor is on an entry outside of the range.
    outside: bool,
}

impl Cursor {
    /// Restricts the cursor to the entries of a range. It must be positioned again.
    pub fn within(self, range: impl KeyRange) -> RangeCursor {
        let bounds = Bounds::of_range(self.order(), &range);
        RangeCursor::new(self, bounds)
    }

    /// Restricts the cursor to the entries whose keys start with `prefix`. It must be positioned
    /// again. With a custom comparator it sees the same keys as [`Db::prefix`](crate::Db::prefix).
    pub fn with_prefix(self, prefix: &[u8]) -> RangeCursor {
        let bounds = Bounds::of_prefix(self.order(), prefix);
        RangeCursor::new(self, bounds)
    }
}

impl RangeCursor {
    /// The position that `cursor` has is outside, whatever its key.
    fn new(cursor: Cursor, bounds: Bounds) -> RangeCursor {
        RangeCursor {
            cursor,
            bounds,
            outside: true,
        }
    }

    /// Returns whether the cursor is on an entry of the range.
    pub fn valid(&self) -> bool {
        !self.outside && self.cursor.valid()
    }

    /// Returns the key of the entry, or an empty slice if the cursor is not valid.
    pub fn key(&self) -> &[u8] {
        if self.valid() { self.cursor.key() } else { &[] }
    }

    /// Returns the value of the entry, or an empty slice if the cursor is not valid.
    pub fn value(&self) -> &[u8] {
        if self.valid() {
            self.cursor.value()
        } else {
            &[]
        }
    }

    /// Returns what a move returned, unless it has left the range: an error of a key outside is
    /// not reported.
    fn moved(&mut self, moved: Result<()>) -> Result<()> {
        let at = self.cursor.place();
        self.outside = at.is_some_and(|at| !self.bounds.contains(at));
        if self.outside { Ok(()) } else { moved }
    }

    /// Moves to the first entry of the range whose key is at or after `key`.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.bounds.starts_after(key) {
            return self.seek_to_first();
        }
        let moved = self.cursor.seek(key);
        self.moved(moved)
    }

    /// Moves to the last entry of the range whose key is at or before `key`.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        if self.bounds.ends_before(key) {
            return self.seek_to_last();
        }
        if self
            .bounds
            .prefix()
            .is_some_and(|prefix| !key.starts_with(prefix))
        {
            return self.seek_back_to_prefix(key);
        }
        let moved = self.cursor.seek_for_prev(key);
        self.moved(moved)
    }

    /// Same for a key without the prefix in a custom order, in which only the last entry shows
    /// where the keys with the prefix end.
    fn seek_back_to_prefix(&mut self, key: &[u8]) -> Result<()> {
        self.seek_to_last()?;
        if !self.valid() || self.bounds.order.compare(self.key(), key).is_le() {
            return Ok(());
        }
        let moved = self.cursor.seek_for_prev(key);
        self.moved(moved)
    }

    /// Moves to the first entry of the range.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        let moved = self.bounds.place_first(&mut self.cursor);
        self.moved(moved)
    }

    /// Moves to the last entry of the range.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        let moved = self.bounds.place_last(&mut self.cursor);
        self.moved(moved)
    }

    /// Moves to the next entry of the range. Does nothing if the cursor is not valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next move"
    )]
    pub fn next(&mut self) -> Result<()> {
        if self.outside {
            return self.cursor.check_read();
        }
        let moved = self.cursor.next();
        self.moved(moved)
    }

    /// Moves to the previous entry of the range. Does nothing if the cursor is not valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn prev(&mut self) -> Result<()> {
        if self.outside {
            return self.cursor.check_read();
        }
        let moved = self.cursor.prev();
        self.moved(moved)
    }
}
