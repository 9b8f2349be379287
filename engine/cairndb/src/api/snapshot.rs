//! Snapshots: consistent reads as of a single moment.

use std::sync::Arc;

use cairndb_base::{Result, SeqNo};

use crate::api::access::{contains, get_into, get_value, multi_get, multi_get_each};
use crate::api::cursor::Cursor;
use crate::api::iter::Iter;
use crate::api::range::KeyRange;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::moment::Moment;
use crate::read::presence::Presence;

/// The state of the database when the snapshot was taken. Later writes are not visible through it.
///
/// **Cost.** A snapshot is a single sequence number: taking and dropping it do no I/O. While it
/// lives, flushes and compactions keep every version that it sees, so a long-lived snapshot costs
/// disk space.
///
/// **Lifetime.** A snapshot does not keep the database open: once the database has been closed, or
/// the last [`Db`](crate::Db) has been dropped, reads return `Closed`. The memory of a handle is
/// freed when the last of its clones, snapshots, cursors and iterators is dropped.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// db.put(b"k", b"old")?;
/// let before = db.snapshot();
/// db.put(b"k", b"new")?;
/// assert_eq!(before.get(b"k")?.as_deref(), Some(&b"old"[..]));
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "dropping a snapshot releases it at once"]
pub struct Snapshot {
    core: Arc<Core>,
    moment: Moment,
}

impl Snapshot {
    pub(crate) fn new(core: Arc<Core>) -> Snapshot {
        let moment = core.acquire_moment();
        Snapshot { core, moment }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn seq(&self) -> SeqNo {
        self.moment.seq
    }

    /// Returns the moment that it shows.
    pub(crate) fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Returns the value of `key`, or `None` if there was none.
    ///
    /// # Errors
    /// Same as [`Db::get`](crate::Db::get).
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        get_value(&self.core, None, key, Some(self.moment()))
    }

    /// Replaces the contents of `out` with the value of `key` and returns `true`. If there was no
    /// value, clears `out` and returns `false`.
    ///
    /// # Errors
    /// Same as [`Db::get`](crate::Db::get).
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        get_into(&self.core, None, key, Some(self.moment()), out).map(Presence::is_there)
    }

    /// Returns the values of `keys`, in the order of `keys`. If a value cannot be read, its error
    /// is returned in its place.
    ///
    /// # Errors
    /// Same as [`Db::multi_get_each`](crate::Db::multi_get_each).
    pub fn multi_get_each<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Result<Option<Value>>>> {
        multi_get_each(&self.core, None, keys, Some(self.moment()))
    }

    /// Returns the values of `keys`, in the order of `keys`, or the first error. See also
    /// [`Snapshot::multi_get_each`].
    ///
    /// # Errors
    /// Same as [`Db::multi_get`](crate::Db::multi_get).
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        multi_get(&self.core, None, keys, Some(self.moment()))
    }

    /// Returns whether `key` had a value. Does not read large values and does not fold merge
    /// operands.
    ///
    /// # Errors
    /// Same as [`Db::get`](crate::Db::get).
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        contains(&self.core, None, key, Some(self.moment()))
    }

    /// Returns an unpositioned cursor over the snapshot.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(&self.core, None, Some(self.moment()))
    }

    /// Iterates over all entries in order, from either end. Copies each entry;
    /// [`Iter::lending`] and a [`Snapshot::cursor`] borrow it.
    pub fn iter(&self) -> Iter {
        self.range(..)
    }

    /// Iterates over the entries whose keys are in `range`, in order, from either end.
    pub fn range(&self, range: impl KeyRange) -> Iter {
        Iter::over_range(self.cursor(), &range)
    }

    /// Iterates over the entries whose keys start with `prefix`. For databases with a custom
    /// comparator see [`Db::prefix`](crate::Db::prefix).
    pub fn prefix(&self, prefix: &[u8]) -> Iter {
        Iter::over_prefix(self.cursor(), prefix)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.core.base.snapshots.release(self.moment.seq) && self.core.base.origin.is_here() {
            self.core.base.versions.wake_idle_worker();
        }
    }
}

impl IntoIterator for &Snapshot {
    type Item = <Iter as Iterator>::Item;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
