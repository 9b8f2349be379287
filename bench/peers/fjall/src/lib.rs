//! fjall 3, a log-structured merge tree in safe Rust.
//!
//! A database with one keyspace, as its documentation opens one. Of the memory, the larger share is
//! given as the setting that it is meant for: `cache_size` for reads, `max_memtable_size` for
//! writes, because the documentation counts both apart and recommends a cache of 20 to 25 % of the
//! memory, which a user of these settings decides. Everything else is the default: Bloom filters of
//! 10 bits per key, blocks of 4 KiB, and LZ4 from the third level on, or no compression where the
//! row has none.
//!
//! A write is in the system's buffers when the call returns, which is the default. `Sync` rows call
//! `persist(SyncData)` after each write, or set it for the batch, as the documentation advises.
//! Blocks are checksummed, and verified when they are read from a file.
//!
//! Gets read the newest state. A cursor reads a snapshot. fjall's iterators cannot be moved to a
//! key, so each seek makes one, as its users do, and so does the first step after a turn.

use std::fmt;
use std::ops::Bound;
use std::path::Path;

use bench_core::engine::{Capabilities, Cursor, Durability, Engine, Quiet, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::host::lock_file;
use bench_core::workload::settings::Settings;
use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, Database, Iter, Keyspace, KeyspaceCreateOptions, PersistMode, Readable as _,
    Snapshot, UserKey, UserValue,
};

/// The only keyspace, if the row has none.
const KEYSPACE: &str = "entries";

fn fault(error: impl Into<fjall::Error>) -> Fault {
    Fault::new(error.into().to_string())
}

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fjall;

impl Engine for Fjall {
    type Store = FjallStore;

    fn name(&self) -> &'static str {
        "fjall"
    }

    fn title(&self) -> &'static str {
        "fjall"
    }

    fn version(&self) -> String {
        lock_file::version_of(include_str!("../../Cargo.lock"), "fjall").to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            merge: false,
            ..Capabilities::ALL
        }
    }

    fn keyspaces(&self) -> bool {
        true
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<FjallStore, Fault> {
        let database = Database::builder(dir)
            .cache_size(settings.memory.cache_bytes)
            .open()
            .map_err(fault)?;
        let mut names: Vec<String> = settings.keyspace_names().collect();
        if names.is_empty() {
            names.push(KEYSPACE.to_owned());
        }
        let options = || {
            let options = KeyspaceCreateOptions::default();
            let options = options.max_memtable_size(settings.memory.write_bytes);
            if settings.compression {
                return options;
            }
            let none = CompressionPolicy::all(CompressionType::None);
            options.data_block_compression_policy(none)
        };
        let keyspaces = names.iter().map(|name| database.keyspace(name, options));
        Ok(FjallStore {
            keyspaces: keyspaces.collect::<Result<_, _>>().map_err(fault)?,
            database,
            settings: *settings,
        })
    }
}

/// An open database.
pub struct FjallStore {
    database: Database,
    keyspaces: Vec<Keyspace>,
    settings: Settings,
}

impl fmt::Debug for FjallStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallStore").finish_non_exhaustive()
    }
}

impl Store for FjallStore {
    type Session<'s> = FjallSession<'s>;

    fn session(&self, _role: Role) -> Result<FjallSession<'_>, Fault> {
        Ok(FjallSession {
            store: self,
            keyspace: &self.keyspaces[0],
            batch: None,
        })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        self.flush()?;
        let all = self.keyspaces.iter();
        all.map(Keyspace::major_compact)
            .try_for_each(|done| done.map_err(fault))
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let all = self.keyspaces.iter();
        all.map(Keyspace::rotate_memtable_and_wait)
            .try_for_each(|done| done.map_err(fault))
    }

    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        let keyspace = self.keyspaces[index as usize].clone();
        self.database.delete_keyspace(keyspace).map_err(fault)
    }

    /// Its workers are watched: flushes and compactions are counted, but not those that wait.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        Ok(Quiet::Watch)
    }

    fn property(&self, name: &str) -> Option<String> {
        let database = &self.database;
        matches!(name, "leveldb.stats" | "statistics").then(|| {
            format!(
                "compactions {}, seconds of them {:.3}, outstanding flushes {}, journals {}, \
                 cached bytes {}",
                database.compactions_completed(),
                database.time_compacting().as_secs_f64(),
                database.outstanding_flushes(),
                database.journal_count(),
                database.cache_size(),
            )
        })
    }

    /// Returns the requested values: the library reports none but the cache's.
    fn options(&self) -> Vec<(String, String)> {
        let memory = &self.settings.memory;
        let durability = match self.settings.durability {
            Durability::Os => "Buffer (default)",
            Durability::Sync => "SyncData after each write",
        };
        let compression = if self.settings.compression {
            "lz4 from level 2 on (default)"
        } else {
            "none"
        };
        let reported = [
            ("cache_size", self.database.cache_capacity().to_string()),
            ("max_memtable_size", memory.write_bytes.to_string()),
            ("persist", durability.to_owned()),
            ("compression", compression.to_owned()),
            (
                "filter_policy",
                "0.0001 at level 0, then 10 bits (default)".to_owned(),
            ),
        ];
        let reported = reported.map(|(name, value)| (name.to_owned(), value));
        reported.into_iter().chain(self.settings.unused()).collect()
    }
}

/// One thread's session.
pub struct FjallSession<'s> {
    store: &'s FjallStore,
    keyspace: &'s Keyspace,
    batch: Option<fjall::OwnedWriteBatch>,
}

impl fmt::Debug for FjallSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallSession").finish_non_exhaustive()
    }
}

impl FjallSession<'_> {
    #[inline]
    fn persist(&self) -> Result<(), Fault> {
        match self.store.settings.durability {
            Durability::Os => Ok(()),
            Durability::Sync => {
                let database = &self.store.database;
                database.persist(PersistMode::SyncData).map_err(fault)
            }
        }
    }

    #[inline]
    fn batch(&mut self) -> &mut fjall::OwnedWriteBatch {
        let database = &self.store.database;
        self.batch.get_or_insert_with(|| database.batch())
    }
}

impl Session for FjallSession<'_> {
    type Cursor<'c>
        = FjallCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.keyspace = &self.store.keyspaces[keyspace as usize];
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.keyspace.insert(key, value).map_err(fault)?;
        self.persist()
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.keyspace.remove(key).map_err(fault)?;
        self.persist()
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let value = self.keyspace.get(key).map_err(fault)?;
        Ok(value.map(|value| found(&value)))
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let keyspace = self.keyspace;
        self.batch().insert(keyspace, key, value);
        Ok(())
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let keyspace = self.keyspace;
        self.batch().remove(keyspace, key);
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let Some(batch) = self.batch.take() else {
            return Ok(());
        };
        let mode = match self.store.settings.durability {
            Durability::Os => None,
            Durability::Sync => Some(PersistMode::SyncData),
        };
        batch.durability(mode).commit().map_err(fault)
    }

    fn sync(&mut self) -> Result<(), Fault> {
        let database = &self.store.database;
        database.persist(PersistMode::SyncData).map_err(fault)
    }

    #[inline]
    fn cursor(&mut self) -> Result<FjallCursor<'_>, Fault> {
        Ok(FjallCursor {
            snapshot: self.store.database.snapshot(),
            keyspace: self.keyspace,
            iter: None,
            entry: None,
            backward: false,
        })
    }
}

/// A cursor over a snapshot.
pub struct FjallCursor<'c> {
    snapshot: Snapshot,
    keyspace: &'c Keyspace,
    iter: Option<Iter>,
    entry: Option<(UserKey, UserValue)>,
    /// Whether the iterator goes backwards.
    backward: bool,
}

impl fmt::Debug for FjallCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallCursor").finish_non_exhaustive()
    }
}

impl FjallCursor<'_> {
    /// Makes an iterator over these keys and moves to its first entry, or its last.
    #[inline]
    fn start(&mut self, keys: (Bound<&[u8]>, Bound<&[u8]>), backward: bool) -> Result<(), Fault> {
        self.iter = Some(self.snapshot.range::<&[u8], _>(self.keyspace, keys));
        self.backward = backward;
        self.step()
    }

    #[inline]
    fn step(&mut self) -> Result<(), Fault> {
        let iter = self.iter.as_mut();
        let entry = iter.and_then(|iter| {
            if self.backward {
                iter.next_back()
            } else {
                iter.next()
            }
        });
        let entry = entry.map(fjall::Guard::into_inner).transpose();
        self.entry = entry.map_err(fault)?;
        Ok(())
    }
}

impl Cursor for FjallCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.start((Bound::Unbounded, Bound::Unbounded), false)
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        self.start((Bound::Unbounded, Bound::Unbounded), true)
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.start((Bound::Included(key), Bound::Unbounded), false)
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        match self.entry.take() {
            Some((key, _)) if self.backward => {
                self.start((Bound::Excluded(&key), Bound::Unbounded), false)
            }
            _ => self.step(),
        }
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        match self.entry.take() {
            Some((key, _)) if !self.backward => {
                self.start((Bound::Unbounded, Bound::Excluded(&key)), true)
            }
            _ => self.step(),
        }
    }

    #[inline]
    fn valid(&self) -> bool {
        self.entry.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.entry.as_ref().map_or(&[], |(key, _)| key)
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(self.entry.as_ref().map_or(&[], |(_, value)| value))
    }
}
