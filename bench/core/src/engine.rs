//! The interface of an engine: the traits that an adapter implements.
//!
//! Three layers: an [`Engine`] opens directories, a [`Store`] is one open directory shared by all
//! threads, a [`Session`] is one thread's access to it (its transaction, batch and buffers).
//! Everything is a generic parameter, never `dyn`: each engine gets its own copy of every measured
//! loop, and the harness costs the same few nanoseconds for all of them.
//!
//! A session is only called from the thread that made it; a store is shared.

use std::path::Path;

use crate::fault::Fault;
use crate::host::library::Library;
pub use crate::workload::durability::{Durability, Survival};
use crate::workload::settings::Settings;
pub use crate::workload::settings::Variant;

/// What an engine can do beyond put, get, delete and a forward scan. A `false` here makes the rows
/// that need it print `skipped (not supported by ENGINE)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent abilities, not a state"
)]
pub struct Capabilities {
    /// Several entries in one atomic write.
    pub batch: bool,
    /// Merge operands with the operator `max`; without it the rows read, modify and write.
    pub merge: bool,
    /// Reads from a fixed moment while writers go on.
    pub snapshot: bool,
    /// Cursors that step backwards.
    pub reverse: bool,
    /// Positioning at the first key at or after a given one.
    pub seek: bool,
    /// A manual compaction of everything.
    pub compact: bool,
    /// A call that moves the contents of memory to tables or pages.
    pub flush: bool,
    /// A write that survives loss of power.
    pub sync: bool,
    /// Keeps what is written. Only the null engine does not; its answers are not judged.
    pub stores: bool,
}

/// How a session is going to be used, known before its first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// What each write of the session must survive.
    pub durability: Durability,
    /// Writes come in ascending key order into an empty store, so an append mode may be used.
    pub appending: bool,
    /// Sessions open at the same time, including this one: one for each thread of the row.
    pub sessions: u32,
    /// Whether any of them writes.
    pub changing: bool,
}

impl Role {
    /// The role of the only session, which writes in any order.
    pub const fn single(durability: Durability) -> Self {
        Self {
            durability,
            appending: false,
            sessions: 1,
            changing: true,
        }
    }
}

/// Whether background work is known to have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// The engine itself says that nothing is left to do.
    Known,
    /// Progress of background work by the engine's own counters: the harness asks again until they
    /// stop changing. For engines whose threads are active even when there is nothing to do.
    Progress(u64),
    /// The engine does not report it: the harness watches its threads until they are idle.
    Watch,
}

/// One kind of store.
pub trait Engine: Sync {
    /// An open directory of this engine.
    type Store: Store;

    /// The name used in `--engine=` and in results.
    fn name(&self) -> &'static str;

    /// The name as people write it, for the first line of the header.
    fn title(&self) -> &'static str;

    /// What the library itself reports, such as `1.23`.
    fn version(&self) -> String;

    /// The library it was loaded from; none if it is compiled into the program.
    fn library(&self) -> Option<Library> {
        None
    }

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Whether it is a store that a user could choose. Rows of an engine that only shows what a
    /// machine can do are not ranked.
    fn contends(&self) -> bool {
        true
    }

    /// Why it does not run rows with values of `value_bytes` at this durability, in a few words.
    fn declines(&self, _value_bytes: usize, _durability: Durability) -> Option<&'static str> {
        None
    }

    /// Why it has no batches, if there is a special reason.
    fn without_batch(&self) -> Option<&'static str> {
        None
    }

    /// The variants of its settings. Rows of other variants are skipped.
    fn variants(&self) -> &'static [Variant] {
        &[Variant::Fair]
    }

    /// What a write survives when `asked` was requested under `variant`. An engine that cannot
    /// provide it says so here, and its rows are shown without a rank.
    fn survival(&self, asked: Durability, _variant: Variant) -> Survival {
        asked.into()
    }

    /// Opens `dir`, which exists, creating a store in it if it is empty.
    ///
    /// # Errors
    /// The engine's error.
    fn open(&self, dir: &Path, settings: &Settings) -> Result<Self::Store, Fault>;
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

    /// Compacts everything; returns when it is done.
    ///
    /// # Errors
    /// The engine's error.
    fn compact(&mut self) -> Result<(), Fault>;

    /// Moves the contents of memory to tables or pages. Only called if [`Capabilities::flush`] is
    /// set.
    ///
    /// # Errors
    /// The engine's error.
    fn flush(&mut self) -> Result<(), Fault> {
        Err(Fault::new("there is no call to flush it"))
    }

    /// Waits for background work, or returns that the engine cannot.
    ///
    /// # Errors
    /// The engine's error.
    fn quiesce(&self) -> Result<Quiet, Fault>;

    /// One of the engine's own texts under LevelDB's name for it (`leveldb.stats`).
    fn property(&self, name: &str) -> Option<String>;

    /// Sets the engine's counters to zero; false if it has no such call.
    ///
    /// # Errors
    /// The engine's error.
    fn reset_statistics(&self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Bytes that the engine has written so far, log included, if it counts them.
    fn bytes_written(&self) -> Option<u64> {
        None
    }

    /// The settings in effect, read back from the engine if it reports them.
    fn options(&self) -> Vec<(String, String)>;

    /// Closes it, reporting errors that a drop would hide.
    ///
    /// # Errors
    /// The engine's error.
    fn close(self) -> Result<(), Fault>;
}

/// One thread's access to a store.
pub trait Session {
    /// A position in key order; borrows the session, as a transaction would.
    type Cursor<'c>: Cursor
    where
        Self: 'c;

    /// Stores one entry.
    ///
    /// # Errors
    /// The engine's error.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault>;

    /// Removes one key, present or not.
    ///
    /// # Errors
    /// The engine's error.
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault>;

    /// Calls `found` with the value of `key` if there is one. The bytes need not live longer than
    /// the call.
    ///
    /// # Errors
    /// The engine's error.
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault>;

    /// Adds an entry to the batch being built.
    ///
    /// # Errors
    /// The engine's error.
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault>;

    /// Writes the batch as one atomic step and empties it.
    ///
    /// # Errors
    /// The engine's error.
    fn batch_write(&mut self) -> Result<(), Fault>;

    /// Keeps the greater, in byte order, of the stored value and `operand`. Only called if
    /// [`Capabilities::merge`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault>;

    /// Looks up several keys, calling `each` with the position of every key and its value.
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

    /// Single gets, for an engine without a multi-get or a snapshot for it.
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

    /// A new cursor over the present contents, not yet positioned.
    ///
    /// # Errors
    /// The engine's error.
    fn cursor(&mut self) -> Result<Self::Cursor<'_>, Fault>;
}

/// A position in key order. `key` and `value` may be called only while [`Cursor::valid`] returns
/// true.
pub trait Cursor {
    /// Goes to the first entry.
    ///
    /// # Errors
    /// The engine's error.
    fn first(&mut self) -> Result<(), Fault>;

    /// Goes to the last entry. Only called if [`Capabilities::reverse`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn last(&mut self) -> Result<(), Fault>;

    /// Goes to the first entry at or after `key`.
    ///
    /// # Errors
    /// The engine's error.
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault>;

    /// Goes one entry forward.
    ///
    /// # Errors
    /// The engine's error.
    fn next(&mut self) -> Result<(), Fault>;

    /// Goes one entry back. Only called if [`Capabilities::reverse`] is set.
    ///
    /// # Errors
    /// The engine's error.
    fn prev(&mut self) -> Result<(), Fault>;

    /// Whether it is at an entry.
    fn valid(&self) -> bool;

    /// The key of the current entry.
    fn key(&self) -> &[u8];

    /// The value of the current entry.
    ///
    /// # Errors
    /// The engine's error.
    fn value(&mut self) -> Result<&[u8], Fault>;

    /// The error, if the engine reports errors separately from the steps.
    ///
    /// # Errors
    /// The engine's error.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }
}
