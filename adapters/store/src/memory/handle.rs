//! The public handle of the store in memory.

use std::sync::Arc;

use cairndb::Value;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::batch::Batch;
use crate::entries::Entries;
use crate::error::{Error, Result};
use crate::limits::{Engine, Limits};
use crate::memory::transaction::MemoryTransaction;
use crate::memory::versions::Versions;
use crate::memory::view::{Pages, View};
use crate::options::CallOptions;
use crate::read::{Read, Snapshot};
use crate::scan::Scan;
use crate::store::Store;
use crate::transaction::OpenTransaction;
use crate::window::Window;

static ENGINE: Engine = Engine::embedded("memory");
const LIMITS: Limits = Limits::embedded();

/// A store in memory, for tests and caches. Clones share the contents, which go away with the last
/// one.
///
/// Transactions are serialisable; nothing survives the process. One lock guards everything: for
/// many threads or much data, a [`cairndb::Db`] in a temporary directory is faster.
///
/// ```
/// use cairndb_store::{MemoryStore, Read, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// store.put(b"slate", b"blue")?;
/// assert_eq!(store.clone().get(b"slate")?.as_deref(), Some(&b"blue"[..]));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    versions: Arc<RwLock<Versions>>,
}

impl MemoryStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn readable(&self) -> Result<RwLockReadGuard<'_, Versions>> {
        let versions = self.versions.read();
        if versions.closed {
            return Err(Error::closed());
        }
        Ok(versions)
    }

    fn writable(&self) -> Result<RwLockWriteGuard<'_, Versions>> {
        let versions = self.versions.write();
        if versions.closed {
            return Err(Error::closed());
        }
        Ok(versions)
    }
}

impl Read for MemoryStore {
    fn get_with(&self, key: &[u8], _: &CallOptions) -> Result<Option<Value>> {
        LIMITS.check_key(key)?;
        let versions = self.readable()?;
        Ok(versions.get(key, versions.newest()))
    }

    fn multi_get_with(&self, keys: &[&[u8]], _: &CallOptions) -> Result<Vec<Option<Value>>> {
        let versions = self.readable()?;
        let seq = versions.newest();
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            LIMITS.check_key(key)?;
            found.push(versions.get(key, seq));
        }
        Ok(found)
    }

    fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Result<Entries<'_>> {
        let view = View::new(&self.versions)?;
        let read = move |window: &Window, count| view.page(window, count);
        Ok(Entries::new(Pages::new(scan, read)))
    }
}

impl Store for MemoryStore {
    fn engine(&self) -> &Engine {
        &ENGINE
    }

    fn put_with(&self, key: &[u8], value: &[u8], _: &CallOptions) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        self.writable()?.apply([(key, Some(value))].into_iter());
        Ok(())
    }

    fn delete_with(&self, key: &[u8], _: &CallOptions) -> Result<()> {
        LIMITS.check_key(key)?;
        self.writable()?.apply([(key, None)].into_iter());
        Ok(())
    }

    fn write_with(&self, batch: &Batch, _: &CallOptions) -> Result<()> {
        batch.check()?;
        let mut own = crate::window::OwnWrites::default();
        for write in batch.iter() {
            own.set(write.key(), write.value());
        }
        self.writable()?.apply(own.iter());
        Ok(())
    }

    fn compare_and_set_with(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        _: &CallOptions,
    ) -> Result<bool> {
        LIMITS.check_entry(key, new.unwrap_or_default())?;
        let mut versions = self.writable()?;
        if versions.get(key, versions.newest()).as_deref() != expected {
            return Ok(false);
        }
        versions.apply([(key, new)].into_iter());
        Ok(true)
    }

    fn snapshot_with(&self, _: &CallOptions) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(View::new(&self.versions)?))
    }

    fn begin_with(&self, _: &CallOptions) -> Result<Box<dyn OpenTransaction>> {
        let view = View::new(&self.versions)?;
        Ok(Box::new(MemoryTransaction::new(view)))
    }

    fn sync(&self) -> Result<()> {
        self.readable().map(drop)
    }

    fn close(&self) -> Result<()> {
        let mut versions = self.versions.write();
        *versions = Versions::default();
        versions.closed = true;
        Ok(())
    }
}
