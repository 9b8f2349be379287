//! The store in memory: a database whose files are in memory.

use std::path::Path;

use cairndb::env::{Background, MemEnv};
use cairndb::{Db, Durability, Options, Value};

use crate::batch::Batch;
use crate::entries::Entries;
use crate::error::Result;
use crate::limits::Engine;
use crate::options::CallOptions;
use crate::read::{Read, Snapshot};
use crate::scan::Scan;
use crate::store::Store;
use crate::transaction::{OpenTransaction, Transaction};

static ENGINE: Engine = Engine::embedded("memory");

/// A store in memory, for tests and caches. Clones share the contents, which go away with the last
/// one.
///
/// Transactions are serialisable; nothing survives the process.
///
/// ```
/// use cairndb_store::{MemoryStore, Read, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// store.put(b"slate", b"blue")?;
/// assert_eq!(store.clone().get(b"slate")?.as_deref(), Some(&b"blue"[..]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryStore(Db);

impl MemoryStore {
    /// Returns an empty store.
    ///
    /// # Panics
    /// Never: opening a new database in memory cannot fail.
    #[must_use]
    pub fn new() -> MemoryStore {
        let env = MemEnv::new(Background::Threads);
        // Without a log, which would hold every value a second time.
        let options = Options::new().durability(Durability::None).env(env);
        let opened = options.create_if_missing(true).open(Path::new("/memory"));
        MemoryStore(opened.expect("a new database in memory"))
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl Read for MemoryStore {
    fn get_with(&self, key: &[u8], options: &CallOptions) -> Result<Option<Value>> {
        self.0.get_with(key, options)
    }

    fn multi_get_with(&self, keys: &[&[u8]], options: &CallOptions) -> Result<Vec<Option<Value>>> {
        self.0.multi_get_with(keys, options)
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Result<Entries<'_>> {
        self.0.scan_with(scan, options)
    }

    fn contains(&self, key: &[u8]) -> Result<bool> {
        Read::contains(&self.0, key)
    }
}

impl Store for MemoryStore {
    fn engine(&self) -> &Engine {
        &ENGINE
    }

    fn put_with(&self, key: &[u8], value: &[u8], options: &CallOptions) -> Result<()> {
        Store::put_with(&self.0, key, value, options)
    }

    fn delete_with(&self, key: &[u8], options: &CallOptions) -> Result<()> {
        Store::delete_with(&self.0, key, options)
    }

    fn delete_range_with(&self, scan: &Scan, options: &CallOptions) -> Result<()> {
        Store::delete_range_with(&self.0, scan, options)
    }

    fn write_with(&self, batch: &Batch, options: &CallOptions) -> Result<()> {
        Store::write_with(&self.0, batch, options)
    }

    fn compare_and_set_with(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<bool> {
        self.0.compare_and_set_with(key, expected, new, options)
    }

    fn snapshot_with(&self, options: &CallOptions) -> Result<Box<dyn Snapshot>> {
        self.0.snapshot_with(options)
    }

    fn begin_with(&self, options: &CallOptions) -> Result<Box<dyn OpenTransaction>> {
        self.0.begin_with(options)
    }

    fn sync(&self) -> Result<()> {
        Store::sync(&self.0)
    }

    fn close(&self) -> Result<()> {
        Store::close(&self.0)
    }

    fn run_with(
        &self,
        body: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
        options: &CallOptions,
    ) -> Result<()> {
        self.0.run_with(body, options)
    }
}
