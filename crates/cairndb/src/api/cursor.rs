//! The cursor: a place in the order of keys that moves.

use cairndb_base::{Result, SeqNo};

use crate::api::access::view_cursor;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::cursor::ViewCursor;

/// A place in the database as it was when the cursor was made.
///
/// Steps reuse the cursor's buffers and allocate only to let them grow, or where merge operands are folded. The first
/// placing makes a source for each memtable part and run, or takes over those that the thread's last cursor has left.
///
/// Key and value are valid until the next move. After an error the cursor is not valid; after one of
/// the merge operator `next` and `prev` go on behind the key it is about, after any other the cursor
/// has to be placed anew.
///
/// A cursor does not keep the database open: once it was closed, or the last [`Db`](crate::Db) was
/// dropped, every move gives `Closed`. It keeps the memory of what it may show, beyond the memory
/// budget: see `pinned` in the property `cairndb.memory`.
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
#[must_use = "a cursor reads nothing until it is placed"]
pub struct Cursor {
    inner: ViewCursor,
}

impl Cursor {
    pub(crate) fn new(core: &Core, at: Option<SeqNo>) -> Cursor {
        Cursor {
            inner: view_cursor(core, at),
        }
    }

    /// Another cursor over the same moment, not yet placed.
    pub(crate) fn fork(&self) -> Cursor {
        Cursor {
            inner: self.inner.fork(),
        }
    }

    /// Of an open database; otherwise the cursor is on nothing any more.
    #[inline]
    fn check_read(&mut self) -> Result<()> {
        let open = self.inner.check_read();
        if open.is_err() {
            self.inner.unplace();
        }
        open
    }

    /// The key the cursor is at, also when the merge operator failed for it.
    pub(crate) fn place(&self) -> Option<&[u8]> {
        self.inner.place()
    }

    /// Whether the cursor is on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// The key, empty when the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// The value as one that outlives the next move.
    pub(crate) fn owned_value(&self) -> Value {
        match self.inner.lent_value() {
            Some(lent) => Value::lent(lent.clone()),
            None => Value::from(self.inner.value()),
        }
    }

    /// The value, empty when the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// Goes to the first entry whose key is not before `key`.
    ///
    /// # Errors
    /// `Corruption` with file and offset, `Io`, `Closed`; that of the merge operator, or `InvalidArgument` for a key with
    /// operands where there is no operator.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.seek(key);
        self.inner.context().with_directory(moved)
    }

    /// Goes to the last entry whose key is not behind `key`.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.seek_for_prev(key);
        self.inner.context().with_directory(moved)
    }

    /// Goes to the first entry.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.first();
        self.inner.context().with_directory(moved)
    }

    /// Goes to the last entry.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.last();
        self.inner.context().with_directory(moved)
    }

    /// Goes to the next entry; nothing happens when the cursor is not valid.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor is no iterator: it lends"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.next();
        self.inner.context().with_directory(moved)
    }

    /// Goes to the entry before; nothing happens when the cursor is not valid.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        self.check_read()?;
        let moved = self.inner.prev();
        self.inner.context().with_directory(moved)
    }
}
