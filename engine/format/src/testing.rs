//! Helpers for the tests of this crate: a seeded generator and a directory in memory.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::Mutex;
use cairndb_env::{
    Access, Dir, DirLock, FileSync, Linked, LogRegion, Mapping, ReadFile, WritableFile,
};

/// Returns the error of a call, which must be of this kind.
#[track_caller]
pub(crate) fn fails<T: Debug>(result: Result<T>, kind: ErrorKind) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    error
}

/// Sebastiano Vigna's `SplitMix64`: small, seeded, the same everywhere.
#[derive(Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_u64() % (end as u64)).expect("below a usize")
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.next_u64().to_le_bytes());
        words.flatten().take(len).collect()
    }
}

type Bytes = Arc<Mutex<Vec<u8>>>;

/// A directory of byte vectors that records the calls made, and fails on demand.
///
/// The directory is as strict as the real one where these tests depend on it: an existing name
/// cannot be created, and a missing one can neither be opened nor renamed.
#[derive(Debug, Default)]
pub(crate) struct MemoryDir {
    files: Mutex<BTreeMap<String, Bytes>>,
    calls: Arc<Mutex<Vec<String>>>,
    /// Prefix of the calls that fail.
    failing: Arc<Mutex<Option<String>>>,
}

impl MemoryDir {
    pub(crate) fn with(name: &str, bytes: &[u8]) -> MemoryDir {
        let dir = MemoryDir::default();
        dir.put(name, bytes);
        dir
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let bytes = Arc::new(Mutex::new(bytes.to_vec()));
        self.files.lock().insert(name.to_owned(), bytes);
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let files = self.files.lock();
        files.get(name).map(|bytes| bytes.lock().clone())
    }

    pub(crate) fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock())
    }

    pub(crate) fn fail(&self, prefix: Option<&str>) {
        *self.failing.lock() = prefix.map(str::to_owned);
    }

    fn note(&self, call: String) -> Result<()> {
        note(&self.calls, &self.failing, call)
    }

    fn find(&self, name: &str) -> Result<Bytes> {
        let found = self.files.lock().get(name).cloned();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such file").file(name))
    }
}

fn note(calls: &Mutex<Vec<String>>, failing: &Mutex<Option<String>>, call: String) -> Result<()> {
    let prefix = failing.lock().clone();
    let fails = prefix.is_some_and(|prefix| call.starts_with(&prefix));
    calls.lock().push(call);
    if fails {
        return Err(Error::new(ErrorKind::Io, "injected"));
    }
    Ok(())
}

fn unsupported<T>() -> Result<T> {
    Err(Error::new(ErrorKind::NotSupported, "not in memory"))
}

impl Dir for MemoryDir {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn lock(&self, _: &str) -> Result<Box<dyn DirLock>> {
        unsupported()
    }

    fn lock_shared(&self, _: &str) -> Result<Option<Box<dyn DirLock>>> {
        Ok(None)
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.files.lock().keys().cloned().collect())
    }

    fn size_of(&self, name: &str) -> Result<Option<u64>> {
        let files = self.files.lock();
        Ok(files.get(name).map(|bytes| bytes.lock().len() as u64))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.note(format!("create {name}"))?;
        let bytes = Bytes::default();
        let mut files = self.files.lock();
        let old = files.insert(name.to_owned(), Arc::clone(&bytes));
        assert!(old.is_none(), "{name} exists");
        Ok(Box::new(MemoryFile {
            bytes,
            name: name.to_owned(),
            calls: Arc::clone(&self.calls),
            failing: Arc::clone(&self.failing),
        }))
    }

    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let bytes = self.find(name)?.lock().clone();
        Ok(Arc::new(MemoryBytes(bytes)))
    }

    fn create_log(&self, _: &str, _: u64) -> Result<Arc<dyn LogRegion>> {
        unsupported()
    }

    fn open_log(&self, _: &str) -> Result<Arc<dyn LogRegion>> {
        unsupported()
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.note(format!("rename {from} {to}"))?;
        let bytes = self.find(from)?;
        let mut files = self.files.lock();
        files.remove(from);
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn unlink(&self, name: &str) -> Result<()> {
        self.note(format!("unlink {name}"))?;
        self.find(name)?;
        self.files.lock().remove(name);
        Ok(())
    }

    fn link(&self, _: &str, _: &dyn Dir, _: &str) -> Result<Linked> {
        unsupported()
    }

    fn sync(&self) -> Result<()> {
        self.note("sync dir".to_owned())
    }

    fn sync_file(&self, name: &str) -> Result<()> {
        self.find(name)?;
        self.note(format!("sync {name}"))
    }

    fn remove(&self) -> Result<()> {
        unsupported()
    }

    fn prefers_mapping(&self) -> bool {
        false
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Clone, Debug)]
struct MemoryFile {
    bytes: Bytes,
    name: String,
    calls: Arc<Mutex<Vec<String>>>,
    failing: Arc<Mutex<Option<String>>>,
}

impl WritableFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let call = format!("append {} {}", self.name, bytes.len());
        note(&self.calls, &self.failing, call)?;
        self.bytes.lock().extend_from_slice(bytes);
        Ok(())
    }

    fn size(&self) -> u64 {
        self.bytes.lock().len() as u64
    }

    fn sync(&mut self) -> Result<()> {
        FileSync::sync(self)
    }

    fn syncer(&self) -> Arc<dyn FileSync> {
        Arc::new(self.clone())
    }
}

impl FileSync for MemoryFile {
    fn sync(&self) -> Result<()> {
        note(&self.calls, &self.failing, format!("sync {}", self.name))
    }
}

/// An immutable file.
#[derive(Debug)]
pub(crate) struct MemoryBytes(pub(crate) Vec<u8>);

impl ReadFile for MemoryBytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).expect("small files");
        let Some(found) = self.0.get(start..start + out.len()) else {
            return Err(Error::corruption("file ends early").offset(offset));
        };
        out.copy_from_slice(found);
        Ok(())
    }

    fn map(&self, _: u64, _: Access) -> Result<Option<Mapping>> {
        Ok(None)
    }

    fn advise(&self, _: u64, _: u64, _: bool) {}
}
