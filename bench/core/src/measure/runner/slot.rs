//! The slot for the one store that a list runs over: opened, closed and reopened.

use std::time::{Duration, Instant};

use crate::engine::{Durability, Engine, Quiet, Store};
use crate::fault::Fault;
use crate::host::page_cache::{drop_page_cache, page_cache_bytes};
use crate::host::process::SAMPLER_THREAD;
use crate::measure::idle;
use crate::workload::catalog;
use crate::workload::definition::Workload;
use crate::workload::plan::Plan;
use crate::workload::settings::Settings;
use crate::workload::step::Step;

/// RocksDB's name for the text about its levels.
const LEVELS: &str = "rocksdb.levelstats";

/// The store, while it is open, and how it was opened.
pub(super) struct StoreSlot<'r, E: Engine> {
    engine: &'r E,
    plan: &'r Plan,
    pub(super) store: Option<E::Store>,
    /// The durability for which the store was last opened.
    pub(super) opened_for: Durability,
    /// Number of entries and value size that the current directory was created for.
    pub(super) made_for: (u64, usize),
    /// Number of keyspaces to open. None before the first row that needs them: they are costly to
    /// create, and it may start from an empty store.
    pub(super) keyspaces: u32,
    /// Whether other processes read the store in a row of the list.
    pub(super) shared: bool,
    /// Whether a row has failed with an error since the store was opened.
    pub(super) hurt: bool,
}

impl<'r, E: Engine> StoreSlot<'r, E> {
    pub(super) fn new(engine: &'r E, plan: &'r Plan) -> Self {
        Self {
            engine,
            plan,
            store: None,
            opened_for: Durability::Os,
            made_for: (plan.num, plan.value_size),
            keyspaces: if plan.use_existing_db {
                plan.keyspaces
            } else {
                0
            },
            shared: plan.benchmarks.iter().any(|entry| has_readers(entry)),
            hurt: false,
        }
    }

    /// Opens the store for rows with this durability; a store that is already open is closed first.
    pub(super) fn open(&mut self, durability: Durability) -> Result<(), Fault> {
        self.close()?;
        let settings = self.settings(durability);
        self.store = Some(self.engine.open(&self.plan.db, &settings)?);
        self.opened_for = durability;
        Ok(())
    }

    /// Opens the store with nothing of it in the page cache: mapped files would stay there. Returns
    /// the number of bytes that stayed all the same.
    pub(super) fn open_cold(&mut self, durability: Durability) -> Result<u64, Fault> {
        let db = &self.plan.db;
        let fault = |error: std::io::Error| Fault::io(db.display(), &error);
        self.close()?;
        drop_page_cache(db).map_err(fault)?;
        let left = page_cache_bytes(db).map_err(fault)?;
        self.open(durability)?;
        Ok(left)
    }

    /// Opens the store of another process to read it.
    pub(super) fn open_reader(&mut self) -> Result<(), Fault> {
        let settings = self.settings(self.opened_for);
        self.store = Some(self.engine.open_reader(&self.plan.db, &settings)?);
        Ok(())
    }

    /// Reopens the store with the same durability.
    pub(super) fn reopen(&mut self) -> Result<(), Fault> {
        self.open(self.opened_for)
    }

    /// Closes the store. After a row failed with an error, a further error is ignored.
    pub(super) fn close(&mut self) -> Result<(), Fault> {
        let closed = self.store.take().map_or(Ok(()), Store::close);
        if std::mem::take(&mut self.hurt) {
            Ok(())
        } else {
            closed
        }
    }

    fn settings(&self, durability: Durability) -> Settings {
        let plan = self.plan;
        let (entries, value_bytes) = self.made_for;
        Settings {
            memory: plan.memory,
            compression: plan.compression,
            bloom_bits: plan.bloom_bits,
            block_bytes: plan.block_size,
            file_bytes: plan.max_file_size,
            open_files: plan.open_files,
            statistics: plan.statistics,
            durability,
            variant: plan.variant,
            entries,
            key_bytes: plan.key_bytes(),
            value_bytes,
            keyspaces: self.keyspaces,
            shared: self.shared,
        }
    }

    /// Returns the store, which must be open.
    pub(super) fn opened(&mut self) -> Result<&mut E::Store, Fault> {
        self.store.as_mut().ok_or_else(not_open)
    }

    /// Returns the store, which must be open, for several threads.
    pub(super) fn shared(&self) -> Result<&E::Store, Fault> {
        self.store.as_ref().ok_or_else(not_open)
    }

    /// Returns the settings in effect.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        self.store.as_ref().map(Store::options).unwrap_or_default()
    }

    /// Returns a property of the engine.
    pub(super) fn property(&self, name: &str) -> Option<String> {
        let store = self.store.as_ref()?;
        let own = store.property(name);
        // LevelDB's statistics contain the levels.
        let levels = || (name == LEVELS).then(|| store.property("leveldb.stats"))?;
        own.or_else(levels)
    }

    /// Returns the text for `--statistics`.
    pub(super) fn statistics(&self) -> Option<String> {
        let store = self.store.as_ref()?;
        let levels = || store.property("leveldb.stats");
        store.property("statistics").or_else(levels)
    }

    /// Waits for background work. Returns how long it took, or `None` if it did not end.
    pub(super) fn rest(&self) -> Result<Option<Duration>, Fault> {
        let since = Instant::now();
        let known = self
            .store
            .as_ref()
            .map_or(Ok(Quiet::Known), Store::quiesce)?;
        Ok(match known {
            Quiet::Known => Some(since.elapsed()),
            Quiet::Progress(first) => idle::wait_still(since, first, || {
                match self.store.as_ref().map(Store::quiesce) {
                    Some(Ok(Quiet::Progress(now))) => Ok(now),
                    Some(Err(fault)) => Err(fault),
                    _ => Ok(first),
                }
            })?,
            Quiet::Watch => idle::wait(since, &[SAMPLER_THREAD]),
        })
    }
}

/// Returns whether other processes read the store in a row.
fn has_readers(entry: &str) -> bool {
    let workload = Step::parse(entry).ok().map(|step| step.name);
    let workload = workload.and_then(|name| catalog::named(&name));
    workload.is_some_and(Workload::has_readers)
}

fn not_open() -> Fault {
    Fault::new("the store is not open")
}
