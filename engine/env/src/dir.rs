//! Directories: files by name.
//!
//! Every access is relative to one open directory, so that renaming or replacing the path cannot
//! redirect a write. Names are single components made from numbers by `engine/format`.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};

use crate::file::{LogRegion, ReadFile, WritableFile};
use crate::shared::{LockState, SharedWords};

/// Held while a database is open; dropping it releases the lock.
pub trait DirLock: Debug + Send + Sync {}

/// Space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Number of bytes available to this process.
    pub free: u64,
    /// Total number of bytes, including used ones.
    pub total: u64,
}

/// How [`Dir::link`] has made a file available in another directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// The file has another name.
    Shared,
    /// Another file shares its blocks, until one of them is written.
    Cloned,
    /// Another file has the same bytes.
    Copied,
}

/// What identifies a file whatever its names: the device, and the number of the file on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub u64, pub u64);

/// One open directory.
///
/// Threads: all methods may be called concurrently. Durability: a created, renamed, linked or
/// removed name survives power loss only after [`Dir::sync`].
///
/// # Errors
/// All methods return `Io`, or `NoSpace` if the file system is full. Every error names the file and
/// this directory, or only the directory's path if the call concerns the directory itself.
pub trait Dir: Debug + Send + Sync {
    /// The path by which the directory was opened, for messages only.
    fn path(&self) -> &Path;

    /// Takes the exclusive lock named `name`, creating that file if necessary.
    ///
    /// # Errors
    /// `Locked` if this or another process holds the lock, whatever path it used.
    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>>;

    /// Takes the lock named `name` in shared mode, which excludes [`Dir::lock`]. Never creates the
    /// file: returns `None` if it does not exist or if the file system does not support locks.
    ///
    /// # Errors
    /// `Locked` if this or another process holds the lock exclusively.
    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>>;

    /// Returns who holds the lock named `name`, without taking it.
    ///
    /// # Errors
    /// `NotSupported` if that cannot be found out; `Io`.
    fn lock_state(&self, name: &str) -> Result<LockState> {
        Err(unshared(name))
    }

    /// Opens the file `name`, which holds this many 64-bit words in memory that all processes
    /// share, all 0 at first. Opens it for reading if this process may not write it.
    ///
    /// # Errors
    /// `NotFound` if it does not exist and is not to be created; `ReadOnly` if this process may not
    /// create it; `NotSupported` if processes cannot share memory, or lock parts of a file, in this
    /// directory; `NoSpace`, `Io`.
    fn open_shared(&self, name: &str, words: usize, create: bool) -> Result<SharedWords> {
        let _ = (words, create);
        Err(unshared(name))
    }

    /// Returns the names in the directory, in no particular order, without `.` and `..`.
    ///
    /// # Errors
    /// `Io`, as reported by the system.
    fn list(&self) -> Result<Vec<String>>;

    /// Returns the length of a file, or `None` if the name does not exist.
    ///
    /// # Errors
    /// `Io`, including when the name is not a regular file.
    fn size_of(&self, name: &str) -> Result<Option<u64>>;

    /// Creates a new empty file for appending. An existing name is an error.
    ///
    /// # Errors
    /// `Io` or `NoSpace`.
    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>>;

    /// Opens an existing regular file for reading; links are not followed.
    ///
    /// # Errors
    /// `NotFound` if the name does not exist, otherwise `Io`.
    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>>;

    /// Creates a log region of exactly `len` bytes, all zero and *allocated*: a later store cannot
    /// run out of space. Neither the zeros nor the directory entry are synced; once
    /// [`LogRegion::sync`] has run, later syncs change no metadata.
    ///
    /// # Errors
    /// `NoSpace` if the bytes cannot be allocated, otherwise `Io`. If the file was created, it is
    /// then removed again if possible.
    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>>;

    /// Opens an existing log region to be overwritten from its start (recycling).
    ///
    /// # Errors
    /// `NotFound` or `Io`; `Locked` while another region of the same file exists, because its
    /// borrowed bytes would change.
    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>>;

    /// Renames a file within the directory atomically, replacing `to`.
    ///
    /// # Errors
    /// `NotFound` if `from` does not exist, otherwise `Io`.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a name.
    ///
    /// # Errors
    /// `NotFound` if the name does not exist, otherwise `Io`.
    fn unlink(&self, name: &str) -> Result<()>;

    /// Links the file `name` into `to`, a directory of the same environment, as `to_name`. If it
    /// cannot have another name there (another file system, one without hard links, or the maximum
    /// number of links), makes a synced clone or copy. An existing `to_name` is an error.
    ///
    /// # Errors
    /// `NotFound` if `name` does not exist, otherwise `Io` or `NoSpace`. Errors about the new file
    /// name `to_name` in `to`.
    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<Linked>;

    /// Makes a synced clone, or else a copy, of the file `name` in `to`, like [`Dir::link`].
    ///
    /// # Errors
    /// Same as [`Dir::link`].
    fn copy(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<Linked> {
        let from = self.open_read(name)?;
        let mut copy = to.create(to_name)?;
        let copied = copy_bytes(&*from, &mut *copy);
        if copied.is_err() {
            // A partial copy is useless, especially on a full disk.
            let _ = to.unlink(to_name);
        }
        copied.map(|()| Linked::Copied)
    }

    /// Returns what identifies a file, or `None` if this environment cannot tell files apart. It
    /// does not outlive the file's last name.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn file_id(&self, name: &str) -> Result<Option<FileId>> {
        let _ = name;
        Ok(None)
    }

    /// Makes the bytes of an existing file durable, whoever wrote them. Recovery calls this for
    /// files that it has read and relies on.
    ///
    /// # Errors
    /// `NotFound`, `Io`; a failed sync must never be retried.
    fn sync_file(&self, name: &str) -> Result<()>;

    /// Makes all names in the directory durable.
    ///
    /// # Errors
    /// `Io`; a failed sync must never be retried on this directory.
    fn sync(&self) -> Result<()>;

    /// Returns whether tables in this directory may be read through mappings by default, as on a
    /// local file system known to keep mapped bytes stable. `false` for network and unknown file
    /// systems, where a read could kill the process when the server is lost.
    fn prefers_mapping(&self) -> bool;

    /// Returns the space of the file system that holds the directory; `None` if unknown.
    ///
    /// # Errors
    /// `Io`.
    fn space(&self) -> Result<Option<Space>> {
        Ok(None)
    }

    /// Removes the directory itself, which must be empty. The directory is kept if it was opened
    /// through a path that is not its own name (a symbolic link, `.`), if it is a mount point, or
    /// if its parent is not writable.
    ///
    /// # Errors
    /// `Io`, including when the path now names another directory.
    fn remove(&self) -> Result<()>;

    /// Renames the directory itself to `to`, a path with the same parent, and replaces an empty
    /// directory there. The new name is durable on return. Open files and locks stay valid; the
    /// directory is reached by opening `to`, not through this object.
    ///
    /// # Errors
    /// `NotSupported` if the environment cannot do it, or if `to` is a mount point or a symbolic
    /// link; then nothing has changed. `Io` otherwise, including when `to` is not empty.
    fn rename_to(&self, to: &Path) -> Result<()> {
        Err(Error::new(
            ErrorKind::NotSupported,
            "this environment cannot rename directories",
        )
        .path(to))
    }

    /// Lets implementations recognise their own kind in [`Dir::link`].
    fn as_any(&self) -> &dyn Any;
}

/// Number of bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// Appends the bytes of a file to another one, and syncs it.
pub(crate) fn copy_bytes(from: &dyn ReadFile, to: &mut dyn WritableFile) -> Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut offset = 0;
    while offset < from.size() {
        let left = usize::try_from(from.size() - offset).unwrap_or(COPY_BYTES);
        let part = &mut buffer[..left.min(COPY_BYTES)];
        from.read_at(offset, part)?;
        to.append(part)?;
        offset += part.len() as u64;
    }
    to.sync()
}

#[cold]
fn unshared(name: &str) -> Error {
    let message = "this environment shares no memory between processes";
    Error::new(ErrorKind::NotSupported, message).file(name)
}
