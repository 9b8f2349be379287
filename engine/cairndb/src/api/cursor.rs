//! The cursor: a position in the ordered keys of one view, movable both ways.

use std::sync::Arc;

use cairndb_base::limits::KEYSPACE_BYTES;
use cairndb_base::{Order, Result, SeqNo};

use crate::api::access::{Space, view_cursor};
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::cursor::ViewCursor;
use crate::read::moment::At;
use crate::read::view::View;
use crate::state::keyspaces::KeyspaceState;

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
    within: Option<Within>,
}

/// Where a cursor in a keyspace moves.
#[derive(Clone, Copy, Debug)]
enum Move<'k> {
    Seek(&'k [u8]),
    SeekForPrev(&'k [u8]),
    First,
    Last,
    Next,
    Prev,
}

/// The keyspace of a cursor, if it is not the default one.
#[derive(Clone, Debug)]
struct Within {
    keyspace: Arc<KeyspaceState>,
    /// Whether the keyspace was dropped before the cursor was made.
    closed: bool,
}

/// Returns the user's form of a key of a keyspace; empty for an empty key, which stands for none.
fn users(stored: &[u8]) -> &[u8] {
    stored.get(KEYSPACE_BYTES..).unwrap_or_default()
}

impl Cursor {
    pub(crate) fn new(core: &Core, space: Space<'_>, at: At<'_>) -> Cursor {
        let inner = view_cursor(core, space, at);
        // After the view is loaded: a keyspace that exists now has its entries in that view.
        let within = space.map(|keyspace| Within {
            keyspace: Arc::clone(keyspace),
            closed: keyspace.is_dropped(),
        });
        Cursor { inner, within }
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
            within: self.within.clone(),
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

    /// Like [`Cursor::check_read`], and checks that a follower's view is not revoked.
    #[inline]
    pub(crate) fn check_view(&mut self) -> Result<()> {
        if self.inner.view().readers.health.is_plain() {
            return Ok(());
        }
        self.check_followed_view()
    }

    #[cold]
    #[inline(never)]
    fn check_followed_view(&mut self) -> Result<()> {
        self.check_read()?;
        let held = self.inner.view().check_pin();
        if held.is_err() {
            self.inner.unplace();
        }
        held
    }

    /// Returns the order of its keys.
    pub(crate) fn order(&self) -> &Order {
        match &self.within {
            None => &self.inner.view().context().order,
            Some(within) => &within.keyspace.order,
        }
    }

    /// Returns the keyspace, if it is not the default one.
    pub(crate) fn space(&self) -> Space<'_> {
        self.within.as_ref().map(|within| &within.keyspace)
    }

    /// Moves the inner cursor within a keyspace. If it leaves the keyspace, it has no position.
    ///
    /// Not inlined, because moves in the default keyspace are short.
    #[inline(never)]
    fn move_within(&mut self, to: Move<'_>) -> Result<()> {
        self.check_view()?;
        let Some(within) = &self.within else {
            return Ok(());
        };
        if within.closed {
            return within.keyspace.check();
        }
        let (inner, keyspace) = (&mut self.inner, &within.keyspace);
        let moved = match to {
            Move::Seek(key) => keyspace.with_stored(key, |key| inner.seek(key.bytes)),
            Move::SeekForPrev(key) => {
                keyspace.with_stored(key, |key| inner.seek_for_prev(key.bytes))
            }
            Move::First => inner.seek(&keyspace.ends().0),
            Move::Last => inner.seek_for_prev(&keyspace.ends().1),
            Move::Next => inner.next(),
            Move::Prev => inner.prev(),
        };
        let prefix = within.keyspace.prefix();
        if self
            .inner
            .place()
            .is_some_and(|place| !place.starts_with(&prefix))
        {
            // An error concerns an entry of another keyspace.
            self.inner.unplace();
            return Ok(());
        }
        let moved = moved.map_err(|error| within.keyspace.users_error(error));
        self.inner.view().context().with_directory(moved)
    }

    /// Returns the key of the cursor's position. The cursor keeps its position when the merge
    /// operator fails for that key.
    #[inline]
    pub(crate) fn place(&self) -> Option<&[u8]> {
        let place = self.inner.place();
        match &self.within {
            None => place,
            Some(_) => place.map(users),
        }
    }

    /// Returns whether the cursor is on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// Returns the key of the entry, or an empty slice if the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let key = self.inner.key();
        if self.within.is_none() {
            key
        } else {
            users(key)
        }
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
        if self.within.is_some() {
            return self.move_within(Move::Seek(key));
        }
        self.check_view()?;
        let moved = self.inner.seek(key);
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the last entry whose key is at or before `key`. If there is none, the cursor is not
    /// valid.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        if self.within.is_some() {
            return self.move_within(Move::SeekForPrev(key));
        }
        self.check_view()?;
        let moved = self.inner.seek_for_prev(key);
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the first entry. In an empty database the cursor is not valid afterwards.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        if self.within.is_some() {
            return self.move_within(Move::First);
        }
        self.check_view()?;
        let moved = self.inner.first();
        self.inner.view().context().with_directory(moved)
    }

    /// Moves to the last entry. In an empty database the cursor is not valid afterwards.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        if self.within.is_some() {
            return self.move_within(Move::Last);
        }
        self.check_view()?;
        let moved = self.inner.last();
        self.inner.view().context().with_directory(moved)
    }

    /// Leaves the cursor without an entry, as after the last one.
    pub(crate) fn leave(&mut self) {
        self.inner.unplace();
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
        if self.within.is_some() {
            return self.move_within(Move::Next);
        }
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
        if self.within.is_some() {
            return self.move_within(Move::Prev);
        }
        self.check_read()?;
        let moved = self.inner.prev();
        self.inner.view().context().with_directory(moved)
    }
}
