//! The engine interface: the traits that an adapter implements.
//!
//! Three layers: an [`Engine`] opens directories, a [`Store`] is one open directory shared by all
//! threads, a [`Session`] is one thread's access to it (its transaction, batch and buffers).
//! Everything is a generic parameter, never `dyn`: each engine gets its own copy of every measured
//! loop, and the harness costs the same few nanoseconds for all of them.
//!
//! A session is called only from the thread that created it; a store is shared.

mod capabilities;
mod key_run;
mod role;

use std::path::Path;

use crate::fault::Fault;
use crate::host::library::Library;
pub use crate::workload::definition::End;
pub use crate::workload::durability::{Durability, Survival};
pub use crate::workload::placement::Placement;
use crate::workload::settings::Settings;
pub use crate::workload::settings::Variant;

pub use capabilities::Capabilities;
use key_run::KeyRun;
pub use role::Role;

/// Returns the error of a call that the engine does not have.
#[cold]
fn lacks(call: &str) -> Fault {
    Fault::new(format!("the engine has no {call}"))
}

/// The state of background work, as far as the engine reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// The engine reports that no background work is left.
    Known,
    /// Progress of background work by the engine's own counters: the harness polls them until they
    /// stop changing. For engines whose threads are active even when there is nothing to do.
    Progress(u64),
    /// The engine does not report its background work: the harness watches its threads until they
    /// are idle.
    Watch,
}

/// One kind of store.
pub trait Engine: Sync {
    /// An open directory of this engine.
    type Store: Store;

    /// The name used in `--engine=` and in results.
    fn name(&self) -> &'static str;

    /// The name in its usual spelling, for the first line of the header.
    fn title(&self) -> &'static str;

    /// The version that the library reports, such as `1.23`. By default, that of this workspace.
    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    /// The library that the engine was loaded from; `None` if it is compiled into the program.
    fn library(&self) -> Option<Library> {
        None
    }

    /// The optional operations that the engine supports.
    fn capabilities(&self) -> Capabilities;

    /// Returns whether the engine is a store that a user could choose. Rows of an engine that only
    /// shows what a machine can do are not ranked.
    fn contends(&self) -> bool {
        true
    }

    /// Returns whether a store has named keyspaces: sets of keys that are dropped as a whole.
    fn keyspaces(&self) -> bool {
        false
    }

    /// Returns whether one call deletes all keys of a range.
    fn range_deletion(&self) -> bool {
        false
    }

    /// Returns whether other processes can read a store while one writes it.
    fn has_readers(&self) -> bool {
        false
    }

    /// Returns where the store runs. Rows of a store outside this process are labelled, and not
    /// compared in costs of this machine.
    fn placement(&self) -> Placement {
        Placement::Embedded
    }

    /// Returns a short reason if the engine does not run rows with values of `value_bytes` at this
    /// durability.
    fn declines(&self, _value_bytes: usize, _durability: Durability) -> Option<&'static str> {
        None
    }

    /// Returns why the engine has no batches, if there is a special reason.
    fn without_batch(&self) -> Option<&'static str> {
        None
    }

    /// The variants of the engine's settings. Rows of other variants are skipped.
    fn variants(&self) -> &'static [Variant] {
        &[Variant::Fair]
    }

    /// Returns what a write survives when `asked` was requested under `variant`. If that is less
    /// than requested, the rows are shown without a rank.
    fn survival(&self, asked: Durability, _variant: Variant) -> Survival {
        asked.into()
    }

    /// Opens `dir`, which exists, creating a store in it if it is empty, and those of
    /// [`Settings::keyspace_names`] that it does not have.
    ///
    /// # Errors
    /// The engine's error.
    fn open(&self, dir: &Path, settings: &Settings) -> Result<Self::Store, Fault>;

    /// Opens `dir`, which another process has opened with [`Settings::shared`], to read it. Each
    /// read sees every write that was acknowledged before it. Called only if
    /// [`Engine::has_readers`] is true.
    ///
    /// # Errors
    /// The engine's error.
    fn open_reader(&self, _dir: &Path, _settings: &Settings) -> Result<Self::Store, Fault> {
        Err(lacks("readers in other processes"))
    }
}

/// One open directory.
pub trait Store: Sync + Sized {
    /// One thread's access.
    type Session<'s>: Session
    where
        Self: 's;

    /// Opens a session for the calling thread.
    ///
    /// # Errors
    /// The engine's error.
    fn session(&self, role: Role) -> Result<Self::Session<'_>, Fault>;

    /// Compacts the whole store and returns when the compaction has finished. Called only if
    /// [`Capabilities::compact`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn compact(&mut self) -> Result<(), Fault> {
        Err(lacks("compaction"))
    }

    /// Flushes memory to tables or pages. Called only if [`Capabilities::flush`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn flush(&mut self) -> Result<(), Fault> {
        Err(lacks("flush"))
    }

    /// Drops a keyspace by its position in [`Settings::keyspace_names`]. Called only if
    /// [`Engine::keyspaces`] is true, once for each.
    ///
    /// # Errors
    /// The engine's error.
    fn drop_keyspace(&mut self, _index: u32) -> Result<(), Fault> {
        Err(lacks("keyspaces"))
    }

    /// Waits for background work if the engine can; returns how the harness should continue. By
    /// default there is none: all work happens inside the calls.
    ///
    /// # Errors
    /// The engine's error.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        Ok(Quiet::Known)
    }

    /// Returns a property of the engine by LevelDB's name for it (`leveldb.stats`).
    fn property(&self, _name: &str) -> Option<String> {
        None
    }

    /// Resets the engine's counters; returns false if the engine has no such call.
    ///
    /// # Errors
    /// The engine's error.
    fn reset_statistics(&self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Returns the number of bytes that the engine has written so far, log included, if it counts
    /// them.
    fn bytes_written(&self) -> Option<u64> {
        None
    }

    /// Returns the number of round trips to a server so far, if there is a server.
    fn round_trips(&self) -> Option<u64> {
        None
    }

    /// Counts, from now on, the dead entries that cursors of new sessions step over.
    fn count_passed_entries(&self) {}

    /// Returns the number of dead entries (tombstones and what they hide) that cursors have stepped
    /// over since [`Store::count_passed_entries`], if the engine counts them. Those of a session
    /// may be added when it ends.
    fn passed_entries(&self) -> Option<u64> {
        None
    }

    /// The settings in effect, read back from the engine if it reports them.
    fn options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Closes the store and reports errors that a drop would hide, if there are such.
    ///
    /// # Errors
    /// The engine's error.
    fn close(self) -> Result<(), Fault> {
        drop(self);
        Ok(())
    }
}

/// One thread's access to a store.
pub trait Session {
    /// A cursor, which borrows the session, as a transaction would.
    type Cursor<'c>: Cursor
    where
        Self: 'c;

    /// Selects the keyspace of the following calls by its position in
    /// [`Settings::keyspace_names`]. Called only if [`Engine::keyspaces`] is true.
    ///
    /// # Errors
    /// The engine's error.
    fn enter(&mut self, _keyspace: u32) -> Result<(), Fault> {
        Err(lacks("keyspaces"))
    }

    /// Stores one entry.
    ///
    /// # Errors
    /// The engine's error.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault>;

    /// Removes one key, whether or not it is present.
    ///
    /// # Errors
    /// The engine's error.
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault>;

    /// Deletes all keys from `from` to before `to` with one call. Called only if
    /// [`Engine::range_deletion`] is true.
    ///
    /// # Errors
    /// The engine's error.
    fn delete_range(&mut self, _from: &[u8], _to: &[u8]) -> Result<(), Fault> {
        Err(lacks("deletion of ranges"))
    }

    /// Calls `found` with the value of `key` if there is one. The bytes need not outlive the call.
    ///
    /// # Errors
    /// The engine's error.
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault>;

    /// Adds an entry to the batch being built. This and the next two are called only if
    /// [`Capabilities::batch`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn batch_put(&mut self, _key: &[u8], _value: &[u8]) -> Result<(), Fault> {
        Err(lacks("batch"))
    }

    /// Adds the removal of a key to the batch being built, whether or not the key is present.
    ///
    /// # Errors
    /// The engine's error.
    fn batch_delete(&mut self, _key: &[u8]) -> Result<(), Fault> {
        Err(lacks("batch"))
    }

    /// Writes the batch atomically and clears it.
    ///
    /// # Errors
    /// The engine's error.
    fn batch_write(&mut self) -> Result<(), Fault> {
        Err(lacks("batch"))
    }

    /// Keeps the greater of the stored value and `operand`, in byte order. Called only if
    /// [`Capabilities::merge`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn merge(&mut self, _key: &[u8], _operand: &[u8]) -> Result<(), Fault> {
        Err(lacks("merge"))
    }

    /// Makes all earlier writes survive a power loss. Called only if [`Capabilities::sync_later`]
    /// is set.
    ///
    /// # Errors
    /// The engine's error.
    fn sync(&mut self) -> Result<(), Fault> {
        Err(lacks("sync of earlier writes"))
    }

    /// Removes the entry at one end and calls `popped` with it. A store without a call for that
    /// does what its users would do: it moves a cursor to that end, then deletes the key.
    ///
    /// # Errors
    /// The engine's error.
    fn pop<R>(
        &mut self,
        end: End,
        popped: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        let mut cursor = self.cursor()?;
        match end {
            End::First => cursor.first()?,
            End::Last => cursor.last()?,
        }
        if !cursor.valid() {
            cursor.check()?;
            return Ok(None);
        }
        let key = cursor.key().to_vec();
        let result = popped(&key, cursor.value()?);
        drop(cursor);
        self.delete(&key)?;
        Ok(Some(result))
    }

    /// Visits all entries from `from` to before `to` and removes those that `wanted` returns true
    /// for, all of them in one atomic write. A store without a call for that does what its users
    /// would do: it adds the removals to a batch while a cursor goes on.
    ///
    /// # Errors
    /// The engine's error.
    fn extract(
        &mut self,
        range: (&[u8], &[u8]),
        mut wanted: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Fault> {
        let mut keys = KeyRun::default();
        let mut cursor = self.cursor()?;
        cursor.seek(range.0)?;
        while cursor.valid() && cursor.key() < range.1 {
            keys.push(cursor.key());
            if !wanted(keys.last(), cursor.value()?) {
                keys.pop();
            }
            cursor.next()?;
        }
        cursor.check()?;
        drop(cursor);
        for key in keys.iter() {
            self.batch_delete(key)?;
        }
        self.batch_write()
    }

    /// Calls `each` with the entries from the first on, until it returns false. A store that
    /// iterates in another way than by a cursor does so here.
    ///
    /// # Errors
    /// The engine's error.
    fn iterate(&mut self, mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        let mut cursor = self.cursor()?;
        let mut key = Vec::new();
        cursor.first()?;
        while cursor.valid() {
            key.clear();
            key.extend_from_slice(cursor.key());
            if !each(&key, cursor.value()?) {
                break;
            }
            cursor.next()?;
        }
        cursor.check()
    }

    /// Looks up several keys and calls `each` with the position and value of every key.
    ///
    /// # Errors
    /// The engine's error.
    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        self.get_each(keys, each)
    }

    /// Looks up several keys with single gets, for an engine without a multi-get or a snapshot for
    /// it.
    ///
    /// # Errors
    /// The engine's error.
    fn get_each(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        for (index, key) in keys.iter().enumerate() {
            if self.get(key, |value| each(index, Some(value)))?.is_none() {
                each(index, None);
            }
        }
        Ok(())
    }

    /// Returns a new, unpositioned cursor over the current contents.
    ///
    /// # Errors
    /// The engine's error.
    fn cursor(&mut self) -> Result<Self::Cursor<'_>, Fault>;
}

/// A cursor in key order. `key` and `value` may be called only while [`Cursor::valid`] returns
/// true.
pub trait Cursor {
    /// Moves to the first entry.
    ///
    /// # Errors
    /// The engine's error.
    fn first(&mut self) -> Result<(), Fault>;

    /// Moves to the last entry. Called only if [`Capabilities::reverse`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn last(&mut self) -> Result<(), Fault>;

    /// Moves to the first entry at or after `key`.
    ///
    /// # Errors
    /// The engine's error.
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault>;

    /// Moves one entry forward.
    ///
    /// # Errors
    /// The engine's error.
    fn next(&mut self) -> Result<(), Fault>;

    /// Moves one entry back. Called only if [`Capabilities::reverse`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn prev(&mut self) -> Result<(), Fault>;

    /// Returns whether the cursor is at an entry.
    fn valid(&self) -> bool;

    /// The key of the current entry.
    fn key(&self) -> &[u8];

    /// The value of the current entry.
    ///
    /// # Errors
    /// The engine's error.
    fn value(&mut self) -> Result<&[u8], Fault>;

    /// Returns the cursor's error, if the engine reports errors separately from the steps.
    ///
    /// # Errors
    /// The engine's error.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }
}
