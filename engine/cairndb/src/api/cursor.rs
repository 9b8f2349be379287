//! The cursor: a position in the ordered keys of one view, movable both ways.

use cairndb_base::{Order, Result, SeqNo};

use crate::api::access::view_cursor;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::cursor::ViewCursor;
use crate::read::view::View;

/// A position in the ordered entries of the database, as of the creation of the cursor.
///
/// A new cursor is not positioned on an entry: call [`seek`](Cursor::seek),
/// [`seek_for_prev`](Cursor::seek_for_prev), [`seek_to_first`](Cursor::seek_to_first) or
/// [`seek_to_last`](Cursor::seek_to_last) first. Later writes are not visible to the cursor.
///
/// [`key`](Cursor::key) and [`value`](Cursor::value) borrow from the cursor and are valid until its
/// next move. For entries that must outlive a move, use [`Iter`](crate::Iter), which copies them.
///
/// **Cost.** The first positioning opens a source for each memtable and each run, or reuses the
/// sources that the thread's previous cursor left. Moves reuse the cursor's buffers: they allocate
/// only if a buffer must grow or merge operands are folded.
///
/// **Errors.** After an error the cursor is not valid. If the error came from the merge operator,
/// [`next`](Cursor::next) and [`prev`](Cursor::prev) continue past the key that the error names.
/// After any other error the cursor must be positioned again.
///
/// **Lifetime.** A cursor does not keep the database open: once the database has been closed, or
/// the last [`Db`](crate::Db) has been dropped, every move returns `Closed`. A cursor keeps the
/// memtables of its view in memory, beyond the memory budget; the property `cairndb.memory` reports
/// them as `pinned`.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// # for n in 0..9u8 { db.put(&[n], b"stone")?; }
/// let mut cursor = db.cursor();
/// cursor.seek(&[5])?;
/// while cursor.valid() {
///     println!("{:?} = {:?}", cursor.key(), cursor.value());
///     cursor.next()?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a cursor reads nothing until it is positioned"]
pub struct Cursor {
    inner: ViewCursor,
}

impl Cursor {
    pub(crate) fn new(core: &Core, at: Option<SeqNo>) -> Cursor {
        Cursor {
            inner: view_cursor(core, at),
        }
    }

    /// Returns another cursor of the same moment, on the same entry. Both move independently. Costs
    /// a seek.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// # for key in [b"a", b"b", b"c"] { db.put(key, b"")?; }
    /// let mut cursor = db.cursor();
    /// cursor.seek(b"b")?;
    /// db.delete(b"b")?;
    /// let mut other = cursor.try_clone()?;
    /// cursor.next()?;
    /// assert_eq!((cursor.key(), other.key()), (&b"c"[..], &b"b"[..]));
    /// # Ok(()) }
    /// ```
    pub fn try_clone(&self) -> Result<Cursor> {
        let mut clone = self.fork();
        if self.valid() {
            clone.seek(self.key())?;
        }
        Ok(clone)
    }

    /// Returns the sequence number that the cursor reads at.
    pub(crate) fn seq(&self) -> SeqNo {
        self.inner.seq()
    }

    /// Returns the view that the cursor reads.
    pub(crate) fn view(&self) -> &View {
        self.inner.view()
    }

    /// Returns another cursor over the same view and sequence number, not yet positioned.
    pub(crate) fn fork(&self) -> Cursor {
        Cursor {
            inner: self.inner.fork(),
        }
    }

    /// Checks that the database is open. If it is not, the cursor becomes invalid.
    #[inline]
    pub(crate) fn check_read(&mut self) -> Result<()> {
        let open = self.inner.view().readers.health.check_read();
        if open.is_err() {
            self.inner.unplace();
        }
        open
    }

    /// Returns the order of the database.
    pub(crate) fn order(&self) -> &Order {
        &self.inner.view().context().order
    }

    /// Returns the key of the cursor's position. The cursor keeps its position when the merge
    /// operator fails for that key.
    #[inline]
    pub(crate) fn place(&self) -> Option<&[u8]> {
        self.inner.place()
    }

    /// Returns whether the cursor is on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// Returns the key of the entry, or an empty slice if the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// Returns the value of the entry, in a form that outlives the next move.
    pub(crate) fn owned_value(&self) -> Value {
        match self.inner.borrowed_value() {
            Some(borrowed) => Value::borrowed(borrowed.clone()),
            None => Value::from(self.inner.value()),
        }
    }

    /// Returns the value of the entry, or an empty slice if the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// Moves to the first entry whose key is at or after `key`. If there is none, the cursor is not
    /// valid.
    ///
    /// # Errors
    /// - `Corruption`, with file and offset, and `Io`.
    /// - `Closed`.
    /// - For a key with merge operands: the error of the merge operator, or `InvalidArgument` if
    ///   the database was opened without one.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.seek(key);
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the last entry whose key is at or before `key`. If there is none, the cursor is not
    /// valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.seek_for_prev(key);
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the first entry. In an empty database the cursor is not valid afterwards.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.first();
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the last entry. In an empty database the cursor is not valid afterwards.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.last();
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the next entry. After the last entry the cursor is not valid. Does nothing if the
    /// cursor is not valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next move"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.next();
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the previous entry. Before the first entry the cursor is not valid. Does nothing if
    /// the cursor is not valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.prev();
        self.inner.view().context().with_directory(moved)
    }
}
