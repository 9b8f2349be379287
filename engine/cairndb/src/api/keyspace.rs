//! Keyspaces: named sets of keys in one database.

use std::sync::Arc;

use cairndb_base::{Error, Kind, Result};

use crate::api::access::{
    Space, check_space, contains, get_into, get_value, multi_get, multi_get_each,
};
use crate::api::cursor::Cursor;
use crate::api::db::Db;
use crate::api::iter::Iter;
use crate::api::range::KeyRange;
use crate::api::snapshot::Snapshot;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::presence::Presence;
use crate::state::batch::WriteBatch;
use crate::state::keyspaces::KeyspaceState;
use crate::state::options::{Durability, KeyspaceOptions, WriteOptions};

/// A handle to a keyspace: a named set of keys with its own order and options (RocksDB's column
/// family). Clones are cheap and may be used from any thread.
///
/// All keyspaces of a database share its log, sequence numbers, memory and background threads.
/// Batches, snapshots, transactions and checkpoints span them atomically:
/// [`WriteBatch::put_in`], [`Snapshot::get_in`](crate::Snapshot::get_in),
/// [`Transaction::put_in`](crate::Transaction::put_in). The keys of [`Db`] itself are the default
/// keyspace, of which [`Db::default_keyspace`] returns a handle.
///
/// **Cost.** An empty keyspace takes a few hundred bytes of memory and of the manifest, no file and
/// no thread. Each key is stored with four bytes more.
///
/// **Dropping.** After [`Db::drop_keyspace`], every call through a handle returns `Closed`, also if
/// the name exists again. Cursors and iterators made before go on.
///
/// **Lifetime.** A handle does not keep the database open.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// use cairndb::{KeyspaceOptions, WriteBatch};
/// let users = db.create_keyspace("users", &KeyspaceOptions::new())?;
/// users.put(b"7", b"Ada")?;
/// let mut batch = WriteBatch::new();
/// batch.put(b"users", b"1");
/// batch.put_in(&users, b"8", b"Grace");
/// db.write(&batch)?;
/// assert_eq!(users.iter().try_count()?, 2);
/// assert_eq!(db.iter().try_count()?, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Keyspace {
    core: Arc<Core>,
    /// `None` for the default keyspace.
    state: Option<Arc<KeyspaceState>>,
}

impl Db {
    /// Returns the default keyspace, whose keys are those of the database itself. For code that
    /// works on any keyspace.
    pub fn default_keyspace(&self) -> Keyspace {
        Keyspace {
            core: Arc::clone(self.core()),
            state: None,
        }
    }

    /// Returns the keyspace `name`.
    ///
    /// # Errors
    /// `InvalidArgument` if the name is empty or longer than 255 bytes; `NotFound` if there is no
    /// such keyspace; `Closed`; those of [`Db::refresh`] if the handle follows.
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        let core = self.core();
        // The writer of a follower may have created it.
        core.base.context.with_directory(core.before_read(None))?;
        let found = core.keyspaces().open(name);
        let state = found.map_err(|error| error.directory(self.path()))?;
        Ok(Keyspace {
            core: Arc::clone(core),
            state: Some(state),
        })
    }

    /// Creates a keyspace. It is durable when the call returns. Costs a sync.
    ///
    /// # Errors
    /// - `InvalidArgument` if the name is empty or longer than 255 bytes or the keyspace exists, if
    ///   its comparator or merge operator is not registered, or if there are 65,536 keyspaces.
    /// - Those of [`Db::flush`]. After an error there is no such keyspace, unless the error is
    ///   `Poisoned`.
    pub fn create_keyspace(&self, name: &str, options: &KeyspaceOptions) -> Result<Keyspace> {
        let core = self.core();
        let created = core.keyspaces().create(name, options);
        let state = core.base.context.with_directory(created)?;
        Ok(Keyspace {
            core: Arc::clone(core),
            state: Some(state),
        })
    }

    /// Drops the keyspace `name` with all its entries, in constant time. The drop is durable when
    /// the call returns. The space is freed in the background.
    ///
    /// # Errors
    /// `NotFound` if there is no such keyspace; those of [`Db::flush`], after which the keyspace is
    /// there as before, unless the error is `Poisoned`.
    pub fn drop_keyspace(&self, name: &str) -> Result<()> {
        let dropped = self.core().keyspaces().drop(name);
        dropped.map_err(|error| error.directory(self.path()))
    }

    /// Returns the names of all keyspaces but the default one, in order.
    pub fn keyspaces(&self) -> Vec<String> {
        let core = self.core();
        // After an error, a follower shows its last state.
        let _ = core.before_read(None);
        core.base.keyspaces.names()
    }
}

impl WriteBatch {
    /// Sets `key` to `value` in `keyspace`.
    pub fn put_in(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) {
        match &keyspace.state {
            None => self.put(key, value),
            Some(state) => self.add_in(state, Kind::Put, key, value),
        }
    }

    /// Removes `key` in `keyspace`.
    pub fn delete_in(&mut self, keyspace: &Keyspace, key: &[u8]) {
        match &keyspace.state {
            None => self.delete(key),
            Some(state) => self.add_in(state, Kind::Delete, key, b""),
        }
    }

    /// Adds `operand` to `key` in `keyspace`, to be folded with its merge operator.
    pub fn merge_in(&mut self, keyspace: &Keyspace, key: &[u8], operand: &[u8]) {
        match &keyspace.state {
            None => self.merge(key, operand),
            Some(state) => self.add_in(state, Kind::Merge, key, operand),
        }
    }
}

impl Snapshot {
    /// Returns the value of `key` in `keyspace`, or `None` if there was none.
    ///
    /// # Errors
    /// Same as [`Keyspace::get`].
    pub fn get_in(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>> {
        self.check(keyspace)?;
        get_value(self.core(), keyspace.space(), key, Some(self.moment()))
    }

    /// Like [`Snapshot::get_into`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Keyspace::get`].
    pub fn get_into_in(&self, keyspace: &Keyspace, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        self.check(keyspace)?;
        let found = get_into(self.core(), keyspace.space(), key, Some(self.moment()), out);
        found.map(Presence::is_there)
    }

    /// Like [`Snapshot::multi_get_each`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Keyspace::multi_get_each`].
    pub fn multi_get_each_in<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        keys: &[K],
    ) -> Result<Vec<Result<Option<Value>>>> {
        self.check(keyspace)?;
        multi_get_each(self.core(), keyspace.space(), keys, Some(self.moment()))
    }

    /// Returns the values of `keys` in `keyspace`, in the order of `keys`, or the first error.
    ///
    /// # Errors
    /// Same as [`Keyspace::multi_get`].
    pub fn multi_get_in<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        keys: &[K],
    ) -> Result<Vec<Option<Value>>> {
        self.check(keyspace)?;
        multi_get(self.core(), keyspace.space(), keys, Some(self.moment()))
    }

    /// Returns whether `key` had a value in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Keyspace::contains`].
    pub fn contains_in(&self, keyspace: &Keyspace, key: &[u8]) -> Result<bool> {
        self.check(keyspace)?;
        contains(self.core(), keyspace.space(), key, Some(self.moment()))
    }

    /// Returns an unpositioned cursor over `keyspace` in the snapshot.
    ///
    /// # Errors
    /// `InvalidArgument` if the keyspace belongs to another database; `Closed` if it was dropped.
    pub fn cursor_in(&self, keyspace: &Keyspace) -> Result<Cursor> {
        self.check(keyspace)?;
        let cursor = Cursor::new(self.core(), keyspace.space(), Some(self.moment()));
        check_space(keyspace.space())?;
        Ok(cursor)
    }

    /// Iterates over the entries of `keyspace` whose keys are in `range`, in order, from either
    /// end.
    ///
    /// # Errors
    /// Same as [`Snapshot::cursor_in`].
    pub fn range_in(&self, keyspace: &Keyspace, range: impl KeyRange) -> Result<Iter> {
        Ok(Iter::over_range(self.cursor_in(keyspace)?, &range))
    }

    /// Iterates over the entries of `keyspace` whose keys start with `prefix`.
    ///
    /// # Errors
    /// Same as [`Snapshot::cursor_in`].
    pub fn prefix_in(&self, keyspace: &Keyspace, prefix: &[u8]) -> Result<Iter> {
        Ok(Iter::over_prefix(self.cursor_in(keyspace)?, prefix))
    }

    /// Checks that a keyspace belongs to the database and was not dropped.
    pub(crate) fn check(&self, keyspace: &Keyspace) -> Result<()> {
        let checked = if Arc::ptr_eq(self.core(), &keyspace.core) {
            check_space(keyspace.space())
        } else {
            Err(Error::invalid(
                "the snapshot or transaction is of another database, or was made before this one \
                 was reopened",
            ))
        };
        self.core().base.context.with_directory(checked)
    }
}

impl Keyspace {
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn space(&self) -> Space<'_> {
        self.state.as_ref()
    }

    /// Returns the name; an empty one for the default keyspace.
    pub fn name(&self) -> &str {
        let state = self.state.as_ref();
        state.map_or("", |state| &state.record.name)
    }

    /// Returns the order of the keys. Needs the feature `leveldb`.
    #[cfg(feature = "leveldb")]
    pub fn order(&self) -> &cairndb_base::Order {
        let state = self.state.as_ref();
        state.map_or(&self.core.base.context.order, |state| &state.order)
    }

    /// Returns whether the keyspace was dropped since this handle was opened.
    pub fn is_dropped(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.is_dropped())
    }

    /// Returns the options that it was created with; the defaults for the default keyspace, which
    /// has those of the database.
    pub fn options(&self) -> KeyspaceOptions {
        let state = self.state.as_ref();
        state.map_or_else(KeyspaceOptions::new, |state| {
            KeyspaceOptions::of(&state.record)
        })
    }

    fn write(&self, kind: Kind, key: &[u8], value: &[u8], durability: Durability) -> Result<()> {
        let core = &self.core;
        let written = match (&self.state, kind) {
            (None, Kind::Merge) => core.write_operand(key, value, durability),
            (None, _) => core.write_one(kind, key, value, durability),
            (Some(state), _) => core.write_in(state, kind, key, value, durability),
        };
        core.base.context.with_directory(written)
    }

    fn durability(&self) -> Durability {
        self.core.base.settings.durability
    }

    /// Like [`Db::put`].
    ///
    /// # Errors
    /// Same as [`Db::put`]; `Closed` if the keyspace was dropped.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(Kind::Put, key, value, self.durability())
    }

    /// Like [`Db::delete`].
    ///
    /// # Errors
    /// Same as [`Keyspace::put`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.write(Kind::Delete, key, b"", self.durability())
    }

    /// Like [`Db::merge`], with the merge operator of the keyspace.
    ///
    /// # Errors
    /// Same as [`Keyspace::put`]; `InvalidArgument` if the keyspace has no merge operator; the
    /// error of [`MergeOperator::check`](crate::MergeOperator::check).
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.write(Kind::Merge, key, operand, self.durability())
    }

    /// Like [`Keyspace::put`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Keyspace::put`].
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        let durability = self.core.base.settings.durability_of(*options);
        self.write(Kind::Put, key, value, durability)
    }

    /// Like [`Keyspace::delete`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Keyspace::put`].
    pub fn delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        let durability = self.core.base.settings.durability_of(*options);
        self.write(Kind::Delete, key, b"", durability)
    }

    /// Like [`Keyspace::merge`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Keyspace::merge`].
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        let durability = self.core.base.settings.durability_of(*options);
        self.write(Kind::Merge, key, operand, durability)
    }

    /// Like [`Db::get`].
    ///
    /// # Errors
    /// Same as [`Db::get`]; `Closed` if the keyspace was dropped.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        get_value(&self.core, self.space(), key, None)
    }

    /// Like [`Db::get_into`].
    ///
    /// # Errors
    /// Same as [`Keyspace::get`].
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        get_into(&self.core, self.space(), key, None, out).map(Presence::is_there)
    }

    /// Like [`Db::multi_get_each`].
    ///
    /// # Errors
    /// `Closed`, also if the keyspace was dropped.
    pub fn multi_get_each<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Result<Option<Value>>>> {
        multi_get_each(&self.core, self.space(), keys, None)
    }

    /// Like [`Db::multi_get`].
    ///
    /// # Errors
    /// Same as [`Keyspace::get`]; the error names the key.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        multi_get(&self.core, self.space(), keys, None)
    }

    /// Like [`Db::contains`].
    ///
    /// # Errors
    /// Same as [`Keyspace::get`].
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        contains(&self.core, self.space(), key, None)
    }

    /// Returns an unpositioned cursor over the current state of the keyspace. If the keyspace was
    /// dropped, every move returns `Closed`.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(&self.core, self.space(), None)
    }

    /// Iterates over all entries in order, from either end.
    pub fn iter(&self) -> Iter {
        self.range(..)
    }

    /// Iterates over the entries whose keys are in `range`, in order, from either end.
    pub fn range(&self, range: impl KeyRange) -> Iter {
        Iter::over_range(self.cursor(), &range)
    }

    /// Iterates over the entries whose keys start with `prefix`. For keyspaces with a comparator
    /// see [`Db::prefix`].
    pub fn prefix(&self, prefix: &[u8]) -> Iter {
        Iter::over_prefix(self.cursor(), prefix)
    }

    /// Compacts everything in the keyspace that overlaps `range`, as [`Db::compact_range`] does.
    ///
    /// # Errors
    /// Same as [`Db::compact_range`]; `Closed` if the keyspace was dropped.
    pub fn compact_range(&self, range: impl KeyRange) -> Result<()> {
        let compacted = match &self.state {
            None => self.core.compact_range(range.key_bounds()),
            Some(state) => self.core.compact_in(state, range.key_bounds()),
        };
        self.core.base.context.with_directory(compacted)
    }
}

impl IntoIterator for &Keyspace {
    type Item = <Iter as Iterator>::Item;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
