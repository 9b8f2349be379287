//! An environment that counts the bytes that are read through it.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cairndb::Result;
use cairndb::env::{
    Access, Background, Dir, DirLock, Env, Join, LogRegion, Mapping, Priority, ReadFile, RealEnv,
    Space, WritableFile,
};

use super::meter::Meter;

impl Meter {
    /// Returns an environment whose reads advance the meter.
    pub(crate) fn env(self: &Arc<Meter>) -> Arc<dyn Env> {
        Arc::new(CountingEnv::new(RealEnv::new(), Arc::clone(self)))
    }
}

/// The operating system, with a meter for reads.
struct CountingEnv {
    inner: Arc<dyn Env>,
    meter: Arc<Meter>,
}

impl CountingEnv {
    fn new(inner: Arc<dyn Env>, meter: Arc<Meter>) -> CountingEnv {
        CountingEnv { inner, meter }
    }
}

impl fmt::Debug for CountingEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Env for CountingEnv {
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>> {
        Ok(Arc::new(CountingDir {
            inner: self.inner.open_dir(path, create)?,
            meter: Arc::clone(&self.meter),
        }))
    }

    fn background(&self) -> Background {
        self.inner.background()
    }

    fn spawn(
        &self,
        name: &str,
        priority: Priority,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Join> {
        self.inner.spawn(name, priority, body)
    }

    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    fn random_u64(&self) -> u64 {
        self.inner.random_u64()
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes()
    }

    fn open_files_max(&self) -> usize {
        self.inner.open_files_max()
    }
}

#[derive(Debug)]
struct CountingDir {
    inner: Arc<dyn Dir>,
    meter: Arc<Meter>,
}

impl Dir for CountingDir {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>> {
        self.inner.lock(name)
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>> {
        self.inner.lock_shared(name)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn size_of(&self, name: &str) -> Result<Option<u64>> {
        self.inner.size_of(name)
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.inner.create(name)
    }

    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(CountingFile {
            inner: self.inner.open_read(name)?,
            meter: Arc::clone(&self.meter),
        }))
    }

    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>> {
        self.inner.create_log(name, len)
    }

    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>> {
        self.inner.open_log(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn rename_to(&self, to: &Path) -> Result<()> {
        self.inner.rename_to(to)
    }

    fn unlink(&self, name: &str) -> Result<()> {
        self.inner.unlink(name)
    }

    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<()> {
        self.inner.link(name, to, to_name)
    }

    fn sync_file(&self, name: &str) -> Result<()> {
        self.inner.sync_file(name)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn prefers_mapping(&self) -> bool {
        self.inner.prefers_mapping()
    }

    fn space(&self) -> Result<Option<Space>> {
        self.inner.space()
    }

    fn remove(&self) -> Result<()> {
        self.inner.remove()
    }

    /// The directory below, which other directories of the same environment recognise.
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}

#[derive(Debug)]
struct CountingFile {
    inner: Arc<dyn ReadFile>,
    meter: Arc<Meter>,
}

impl ReadFile for CountingFile {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.inner.read_at(offset, out)?;
        self.meter.add(out.len() as u64);
        Ok(())
    }

    fn map(&self, len: u64, access: Access) -> Result<Option<Mapping>> {
        self.inner.map(len, access)
    }

    fn advise(&self, offset: u64, len: u64, wanted: bool) {
        self.inner.advise(offset, len, wanted);
    }
}
