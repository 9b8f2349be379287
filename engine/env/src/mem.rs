//! The in-memory environment: nothing touches a disk, nothing is ever lost or torn.
//!
//! For tests and for databases that need not outlive the process. Directories live as long as the
//! environment. Background work runs on threads or is stepped, as chosen.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cairndb_base::{Error, ErrorKind, Result};

use crate::dir::{Dir, DirLock, FileId, Linked};
use crate::environment::{Background, Env, Join, Priority};
use crate::file::{Access, FileSync, LogRegion, MappedBytes, Mapping, ReadFile, WritableFile};
use crate::implement::{self, Hold, Holders, Mirror, SharedHeap, front_of};
use crate::random::Random;
use crate::shared::{LockState, SharedWords};
use crate::sync::Mutex;

use self::file::MemFile;
use self::log::MemLog;

mod file;
mod log;

/// Memory size that the environment reports by default.
const MEMORY_BYTES: u64 = 1 << 30;

/// An environment whose files are in memory.
///
/// ```
/// # mod cairndb { pub use cairndb_env as env; }
/// use std::path::Path;
/// use cairndb::env::{Background, Env, MemEnv};
/// let env = MemEnv::new(Background::Stepped);
/// let dir = env.open_dir(Path::new("db"), true)?;
/// dir.create("000001.tbl")?.append(b"bytes")?;
/// assert_eq!(dir.size_of("000001.tbl")?, Some(5));
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Debug)]
pub struct MemEnv {
    background: Background,
    dirs: Arc<Dirs>,
    random: Mutex<Random>,
    clock_ns: AtomicU64,
    memory_bytes: AtomicU64,
}

impl MemEnv {
    /// Creates an environment without directories. Its random numbers are a fixed sequence and its
    /// clock counts its calls, so a stepped run repeats exactly.
    pub fn new(background: Background) -> Arc<MemEnv> {
        Arc::new(MemEnv {
            background,
            dirs: Arc::default(),
            random: Mutex::new(Random::new(0)),
            clock_ns: AtomicU64::new(0),
            memory_bytes: AtomicU64::new(MEMORY_BYTES),
        })
    }

    /// Sets the size of the memory that the environment reports; 1 GiB by default.
    pub fn set_memory_bytes(&self, bytes: u64) {
        self.memory_bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Env for MemEnv {
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>> {
        let mut dirs = self.dirs.lock();
        if let Some(dir) = dirs.get(path) {
            return Ok(dir.clone());
        }
        if !create {
            return Err(Error::new(ErrorKind::NotFound, "the directory does not exist").path(path));
        }
        let dir = Arc::new(MemDir {
            path: path.into(),
            files: Arc::default(),
            locked: Arc::new(Mutex::new(Holders::new())),
            all: Arc::downgrade(&self.dirs),
        });
        dirs.insert(path.to_owned(), dir.clone());
        Ok(dir)
    }

    fn background(&self) -> Background {
        self.background
    }

    fn spawn(
        &self,
        name: &str,
        priority: Priority,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Join> {
        match self.background {
            Background::Threads => implement::spawn(name, priority, body),
            Background::Stepped => Err(Error::new(
                ErrorKind::NotSupported,
                "background work is stepped in this environment",
            )),
        }
    }

    fn now_ns(&self) -> u64 {
        match self.background {
            // Threads sleep according to the system clock.
            Background::Threads => system_ns(),
            // One microsecond per call: time passes, and identically in every run.
            Background::Stepped => self.clock_ns.fetch_add(1000, Ordering::Relaxed),
        }
    }

    fn random_u64(&self) -> u64 {
        self.random.lock().next_u64()
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(unix)]
fn system_ns() -> u64 {
    crate::system::now_ns()
}

#[cfg(not(unix))]
fn system_ns() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

type Dirs = Mutex<BTreeMap<PathBuf, Arc<MemDir>>>;

/// The names in one directory, and its locks.
#[derive(Debug)]
struct MemDir {
    path: Arc<Path>,
    files: Arc<Mutex<BTreeMap<String, Arc<MemFile>>>>,
    locked: Arc<Mutex<Holders<String>>>,
    all: Weak<Dirs>,
}

impl MemDir {
    fn find(&self, name: &str) -> Result<Arc<MemFile>> {
        let found = self.files.lock().get(name).cloned();
        found.ok_or_else(|| self.missing(name))
    }

    fn insert_new(&self, name: &str, file: Arc<MemFile>) -> Result<()> {
        let mut files = self.files.lock();
        if files.contains_key(name) {
            let cause = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
            return Err(self.named(name, Error::io("create the file", cause)));
        }
        files.insert(name.to_owned(), file);
        Ok(())
    }

    fn region(&self, file: Arc<MemFile>, name: &str, len: u64) -> Result<Arc<dyn LogRegion>> {
        let alone = file.region.lock().take();
        let alone = alone.map_err(|error| self.named(name, error))?;
        Ok(Arc::new(MemLog {
            file,
            len,
            mirror: Mirror::new(len),
            _alone: alone,
        }))
    }

    /// Adds this file of the directory to the error.
    #[cold]
    fn named(&self, name: &str, error: Error) -> Error {
        error.file(name).directory(&self.path)
    }

    #[cold]
    fn missing(&self, name: &str) -> Error {
        self.named(
            name,
            Error::new(ErrorKind::NotFound, "the file does not exist"),
        )
    }
}

impl Dir for MemDir {
    fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>> {
        let lock = self.hold(name, Hold::Exclusive)?;
        let mut files = self.files.lock();
        files.entry(name.to_owned()).or_default();
        Ok(Box::new(lock))
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>> {
        if !self.files.lock().contains_key(name) {
            return Ok(None);
        }
        Ok(Some(Box::new(self.hold(name, Hold::Shared)?)))
    }

    fn lock_state(&self, name: &str) -> Result<LockState> {
        Ok(match self.locked.lock().hold(&name.to_owned()) {
            None => LockState::Free,
            Some(Hold::Shared) => LockState::Shared,
            Some(Hold::Exclusive) => LockState::Exclusive,
        })
    }

    fn open_shared(&self, name: &str, words: usize, create: bool) -> Result<SharedWords> {
        let file = if create {
            let mut files = self.files.lock();
            Arc::clone(files.entry(name.to_owned()).or_default())
        } else {
            self.find(name)?
        };
        let mut shared = file.shared.lock();
        Ok(shared.get_or_insert_with(|| SharedHeap::new(words)).open(0))
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.files.lock().keys().cloned().collect())
    }

    fn size_of(&self, name: &str) -> Result<Option<u64>> {
        let files = self.files.lock();
        Ok(files.get(name).map(|file| file.len()))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let file = Arc::new(MemFile::default());
        self.insert_new(name, file.clone())?;
        Ok(Box::new(MemWriter { file, size: 0 }))
    }

    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let file = self.find(name)?;
        let size = file.len();
        Ok(Arc::new(MemReader {
            file,
            dir: Arc::clone(&self.path),
            name: name.to_owned(),
            size,
        }))
    }

    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>> {
        let bytes = usize::try_from(len)
            .map_err(|_| Error::new(ErrorKind::NoSpace, "the log is larger than memory"))
            .map_err(|error| self.named(name, error))?;
        let file = Arc::new(MemFile {
            bytes: Mutex::new(Arc::new(vec![0; bytes])),
            ..MemFile::default()
        });
        self.insert_new(name, file.clone())?;
        self.region(file, name, len)
    }

    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>> {
        let file = self.find(name)?;
        let len = file.len();
        self.region(file, name, len)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = self.files.lock();
        let file = files.remove(from).ok_or_else(|| self.missing(from))?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn unlink(&self, name: &str) -> Result<()> {
        let removed = self.files.lock().remove(name);
        if let Some(shared) = removed.as_ref().and_then(|file| file.shared.lock().clone()) {
            shared.unlink();
        }
        removed.map(drop).ok_or_else(|| self.missing(name))
    }

    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<Linked> {
        let Some(to) = to.as_any().downcast_ref::<MemDir>() else {
            let error = Error::invalid("a link must stay in one environment");
            return Err(self.named(name, error));
        };
        to.insert_new(to_name, self.find(name)?)?;
        Ok(Linked::Shared)
    }

    fn file_id(&self, name: &str) -> Result<Option<FileId>> {
        let file = Arc::as_ptr(&self.find(name)?);
        Ok(Some(FileId(0, file.addr() as u64)))
    }

    fn sync_file(&self, name: &str) -> Result<()> {
        self.open_read(name).map(drop)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn prefers_mapping(&self) -> bool {
        true
    }

    fn remove(&self) -> Result<()> {
        if self.files.lock().is_empty() {
            if let Some(all) = self.all.upgrade() {
                all.lock().remove(&*self.path);
            }
            return Ok(());
        }
        let cause = std::io::Error::from(std::io::ErrorKind::DirectoryNotEmpty);
        Err(Error::io("remove the directory", cause).path(&self.path))
    }

    fn rename_to(&self, to: &Path) -> Result<()> {
        let fail = |kind| Error::io("rename the directory", kind).path(to);
        let Some(all) = self.all.upgrade() else {
            return Err(fail(std::io::ErrorKind::NotFound.into()));
        };
        let mut all = all.lock();
        if all.get(to).is_some_and(|old| !old.files.lock().is_empty()) {
            return Err(fail(std::io::ErrorKind::DirectoryNotEmpty.into()));
        }
        all.remove(&*self.path);
        let renamed = MemDir {
            path: to.into(),
            files: Arc::clone(&self.files),
            locked: Arc::clone(&self.locked),
            all: Weak::clone(&self.all),
        };
        all.insert(to.to_owned(), Arc::new(renamed));
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct MemLock {
    name: String,
    locked: Arc<Mutex<Holders<String>>>,
}

impl MemDir {
    fn hold(&self, name: &str, hold: Hold) -> Result<MemLock> {
        if !self.locked.lock().take(name.to_owned(), hold) {
            let message = "this process already has the database open; share or close that handle";
            return Err(self.named(name, Error::new(ErrorKind::Locked, message)));
        }
        Ok(MemLock {
            name: name.to_owned(),
            locked: self.locked.clone(),
        })
    }
}

impl DirLock for MemLock {}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.locked.lock().release(&self.name);
    }
}

#[derive(Debug)]
struct MemWriter {
    file: Arc<MemFile>,
    size: u64,
}

impl WritableFile for MemWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        Arc::make_mut(&mut self.file.bytes.lock()).extend_from_slice(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn FileSync> {
        self.file.clone()
    }
}

#[derive(Debug)]
struct MemReader {
    file: Arc<MemFile>,
    dir: Arc<Path>,
    name: String,
    size: u64,
}

impl MemReader {
    /// Adds this file to the error.
    #[cold]
    fn named(&self, error: Error) -> Error {
        error.file(&*self.name).directory(&self.dir)
    }
}

impl ReadFile for MemReader {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let bytes = self.file.bytes.lock();
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(out.len())?));
        match range.and_then(|range| bytes.get(range)) {
            Some(found) => {
                out.copy_from_slice(found);
                Ok(())
            }
            None => Err(self
                .named(Error::corruption(
                    "the file ends before the requested bytes",
                ))
                .offset(offset)
                .expected(format_args!("{} bytes", out.len()))
                .found(format_args!("a file of {} bytes", bytes.len()))),
        }
    }

    fn map(&self, len: u64, _access: Access) -> Result<Option<Mapping>> {
        let bytes = self.file.bytes.lock().clone();
        let len = front_of(len, bytes.len() as u64).map_err(|error| self.named(error))?;
        Ok(Some(Mapping::new(Arc::new(MemBytes { bytes, len }))))
    }

    fn advise(&self, _offset: u64, _len: u64, _wanted: bool) {}
}

#[derive(Debug)]
struct MemBytes {
    bytes: Arc<Vec<u8>>,
    len: usize,
}

impl MappedBytes for MemBytes {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests;
