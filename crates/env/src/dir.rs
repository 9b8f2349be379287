//! Directories: files by name.
//!
//! Every access is relative to one open directory, so that renaming or replacing the path cannot
//! redirect a write. Names are single components made from numbers by `crates/format`.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::Result;

use crate::file::{LogRegion, ReadFile, WritableFile};

/// Held while a database is open; dropping it releases the lock.
pub trait DirLock: Debug + Send + Sync {}

/// Space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that this process may still use.
    pub free: u64,
    /// All bytes, used ones included.
    pub total: u64,
}

/// One open directory.
///
/// Threads: all methods may be called concurrently. Durability: a created, renamed, linked or
/// removed name survives power loss only after [`Dir::sync`].
///
/// # Errors
/// All methods return `Io`, or `NoSpace` if space was lacking. Every error names the file and this
/// directory; if the call is about the directory itself, the directory's path.
pub trait Dir: Debug + Send + Sync {
    /// The path by which it was opened, for messages only.
    fn path(&self) -> &Path;

    /// Takes the exclusive lock named `name`, creating that file if necessary.
    ///
    /// # Errors
    /// `Locked` if this or another process holds it, by whatever path.
    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>>;

    /// Takes the lock named `name` together with other readers, which excludes [`Dir::lock`].
    /// Creates nothing: returns `None` if that file does not exist, or if the file system has no
    /// locks.
    ///
    /// # Errors
    /// `Locked` if this or another process holds it exclusively.
    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>>;

    /// The names in the directory, in no particular order, without `.` and `..`.
    ///
    /// # Errors
    /// `Io` as the system reports it.
    fn list(&self) -> Result<Vec<String>>;

    /// The length of a file, or `None` if the name does not exist.
    ///
    /// # Errors
    /// `Io`, also if the name is not a regular file.
    fn size_of(&self, name: &str) -> Result<Option<u64>>;

    /// Creates a new empty file for appending. An existing name is an error.
    ///
    /// # Errors
    /// `Io` or `NoSpace`.
    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>>;

    /// Opens an existing regular file for reading; links are not followed.
    ///
    /// # Errors
    /// `NotFound` if the name does not exist, else `Io`.
    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>>;

    /// Creates a log region of exactly `len` bytes, all zero and *allocated*: a later store cannot
    /// run out of space. Neither the zeros nor the directory entry are synced; once
    /// [`LogRegion::sync`] has run, later syncs change no metadata.
    ///
    /// # Errors
    /// `NoSpace` if the bytes cannot be allocated, else `Io`. The file is then removed again, if it
    /// was created and can be removed.
    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>>;

    /// Opens an existing log region to be overwritten from its start (recycling).
    ///
    /// # Errors
    /// `NotFound` or `Io`; `Locked` while another region of the same file exists, whose borrowed
    /// bytes would change.
    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>>;

    /// Renames within the directory, replacing `to`. Atomic.
    ///
    /// # Errors
    /// `NotFound` if `from` does not exist, else `Io`.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a name.
    ///
    /// # Errors
    /// `NotFound` if it does not exist, else `Io`.
    fn unlink(&self, name: &str) -> Result<()>;

    /// Makes `name` of this directory appear as `to_name` in `to` (a directory of the same
    /// environment): as a hard link if the file system can, else as a synced copy. An existing
    /// `to_name` is an error.
    ///
    /// # Errors
    /// `NotFound` if `name` does not exist, else `Io` or `NoSpace`; these name `to_name` in `to` if
    /// they are about the new file.
    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<()>;

    /// Makes the bytes of an existing file durable, whoever wrote them. Recovery calls this for
    /// files that it has read and relies on.
    ///
    /// # Errors
    /// `NotFound`, `Io`; a failed sync must never be retried.
    fn sync_file(&self, name: &str) -> Result<()>;

    /// Makes all names durable.
    ///
    /// # Errors
    /// `Io`; a failed sync must never be retried on this directory.
    fn sync(&self) -> Result<()>;

    /// Whether tables here may be read through mappings by default: a local file system known to
    /// keep mapped bytes stable. `false` for network and unknown file systems, where a lost server
    /// would turn a read into the death of the process.
    fn prefers_mapping(&self) -> bool;

    /// Free space where the directory lies; `None` if unknown.
    ///
    /// # Errors
    /// `Io`.
    fn space(&self) -> Result<Option<Space>> {
        Ok(None)
    }

    /// Removes the directory itself, which must be empty. It stays if the path by which it was
    /// opened is not its own name (a symbolic link, `.`), if it is a mount point, or if its parent
    /// may not be written.
    ///
    /// # Errors
    /// `Io`, also if the path now names another directory.
    fn remove(&self) -> Result<()>;

    /// Lets implementations recognise their own kind in [`Dir::link`].
    fn as_any(&self) -> &dyn Any;
}
