//! Snapshots: reads at one moment.

use std::sync::Arc;

use cairndb_base::{Result, SeqNo};

use crate::api::access::{contains, get_into, get_value, multi_get, multi_get_each};
use crate::api::cursor::Cursor;
use crate::api::iter::Iter;
use crate::api::range::KeyRange;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::presence::Presence;

/// The database as it was when the snapshot was taken, whatever is written later.
///
/// Costs a number; but merges must keep every version it can see, so do not keep it
/// for ever. It does not keep the database open: once that was closed, or the last [`Db`](crate::Db)
/// was dropped, reads give `Closed`. What the handle had in memory is freed with the last of its snapshots,
/// cursors and clones.
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
#[must_use = "a snapshot that is dropped keeps nothing"]
pub struct Snapshot {
    core: Arc<Core>,
    seq: SeqNo,
}

impl Snapshot {
    pub(crate) fn new(core: Arc<Core>) -> Snapshot {
        let seq = core.versions.acquire_snapshot();
        Snapshot { core, seq }
    }

    /// The value `key` had.
    ///
    /// # Errors
    /// As [`crate::Db::get`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        get_value(&self.core, key, Some(self.seq))
    }

    /// Replaces `out` by the value `key` had; `false` when it had none.
    ///
    /// # Errors
    /// As [`crate::Db::get`].
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        get_into(&self.core, key, Some(self.seq), out).map(Presence::is_there)
    }

    /// The values `keys` had, in the order asked, and an error in the place of a key whose value
    /// cannot be read.
    ///
    /// # Errors
    /// As [`crate::Db::multi_get_each`].
    pub fn multi_get_each<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Result<Option<Value>>>> {
        multi_get_each(&self.core, keys, Some(self.seq))
    }

    /// The values `keys` had, in the order asked, or the error of one: see
    /// [`Snapshot::multi_get_each`].
    ///
    /// # Errors
    /// As [`crate::Db::multi_get`].
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        multi_get(&self.core, keys, Some(self.seq))
    }

    /// Whether `key` had a value. A large value is not read, and operands are not folded.
    ///
    /// # Errors
    /// As [`crate::Db::get`].
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        contains(&self.core, key, Some(self.seq))
    }

    /// A cursor over the snapshot, not yet placed.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(&self.core, Some(self.seq))
    }

    /// All entries, in order, from both ends.
    pub fn iter(&self) -> Iter {
        self.range(..)
    }

    /// The entries with keys in `range`.
    pub fn range(&self, range: impl KeyRange) -> Iter {
        Iter::over_range(self.cursor(), &self.core.shared.context.order, &range)
    }

    /// The entries whose keys begin with `prefix`.
    pub fn prefix(&self, prefix: &[u8]) -> Iter {
        Iter::over_prefix(self.cursor(), &self.core.shared.context.order, prefix)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.core.shared.snapshots.release(self.seq);
    }
}

impl IntoIterator for &Snapshot {
    type Item = <Iter as Iterator>::Item;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
