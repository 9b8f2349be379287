//! Directories accessed by descriptor.
//!
//! Names are single components: the engine makes them from numbers, and [`RealDir`] refuses all
//! others, so that bytes read from a hostile file can never name a path.

use std::any::Any;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::descriptor::{above_stdio, check_name, mode, open_regular, regular_size, system_error};
use super::file_system::FileSystem;
use super::files::{NamedFile, RealReadFile, RealWritableFile, sync_data};
use super::{file_system, lock, log, shared};
use crate::dir::{Dir, DirLock, FileId, Linked, Space, copy_bytes};
use crate::file::{LogRegion, ReadFile, WritableFile};
use crate::implement::region_in_use;
use crate::shared::{LockState, SharedWords};

/// Permission bits of the files and directories that an environment creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Permission bits of new files. Default `0o600`: a database belongs to its owner.
    pub file: u32,
    /// Permission bits of new directories. Default `0o700`.
    pub dir: u32,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            file: 0o600,
            dir: 0o700,
        }
    }
}

/// One open directory of the operating system.
#[derive(Debug)]
pub(super) struct RealDir {
    fd: OwnedFd,
    path: Arc<Path>,
    modes: Modes,
    kind: FileSystem,
    /// Whether processes may share memory here.
    shares: bool,
}

impl RealDir {
    /// Opens `path`; see [`crate::Env::open_dir`].
    pub(super) fn open(
        path: &Path,
        create: bool,
        modes: Modes,
        pretended: Option<i64>,
    ) -> Result<RealDir> {
        let fail = |what: &'static str, errno| system_error(what, errno).path(path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(CWD, path, flags, Mode::empty());
        let (mut made, mut opened) = (false, open());
        if create && matches!(opened, Err(Errno::NOENT)) {
            match rustix::fs::mkdirat(CWD, path, mode(modes.dir)) {
                Ok(()) => made = true,
                // Another process created it meanwhile.
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) => {
                    return Err(Error::new(
                        ErrorKind::NotFound,
                        "the parent directory does not exist; create it first",
                    )
                    .path(path));
                }
                Err(errno) => return Err(fail("create the directory", errno)),
            }
            opened = open();
        }
        let fd = match opened.and_then(above_stdio) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => {
                return Err(
                    Error::new(ErrorKind::NotFound, "the directory does not exist").path(path),
                );
            }
            Err(Errno::NOTDIR) => return Err(not_a_directory(path)),
            Err(errno) => return Err(fail("open the directory", errno)),
        };
        // If an earlier process died between creating the directory and syncing its parent, the
        // directory is empty.
        if made || (create && is_empty(fd.as_fd())) {
            sync_parent(fd.as_fd()).map_err(|errno| fail("sync the parent directory", errno))?;
        }
        let magic = pretended.or_else(|| file_system::magic(fd.as_fd()));
        let (kind, shares) = file_system::classify(magic);
        Ok(RealDir {
            fd,
            path: path.into(),
            modes,
            kind,
            shares,
        })
    }

    fn open_existing(&self, name: &str, flags: OFlags) -> Result<(OwnedFd, u64)> {
        self.check_name(name)?;
        let opened = open_regular(self.fd.as_fd(), name, flags);
        let (fd, stat) = opened.map_err(|error| self.placed(error))?;
        let size = regular_size(&stat, name).map_err(|error| self.placed(error))?;
        Ok((fd, size))
    }

    /// Returns an error unless the name is a single path component.
    fn check_name(&self, name: &str) -> Result<()> {
        check_name(name).map_err(|error| self.placed(error))
    }

    /// Adds this directory to an error that names a file.
    #[cold]
    fn placed(&self, error: Error) -> Error {
        error.directory(&self.path)
    }

    /// Returns the error for an operation on a file of this directory that the system refused.
    #[cold]
    fn refused(&self, operation: &'static str, errno: Errno, name: &str) -> Error {
        self.placed(system_error(operation, errno).file(name))
    }

    /// Adds the directory and the name to an open file.
    fn named(&self, fd: OwnedFd, name: &str) -> NamedFile {
        NamedFile {
            fd,
            dir: Arc::clone(&self.path),
            name: name.to_owned(),
        }
    }

    /// Creates and opens a new file.
    fn open_new(&self, name: &str, flags: OFlags) -> Result<OwnedFd> {
        self.check_name(name)?;
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, mode(self.modes.file))
            .and_then(above_stdio)
            .map_err(|errno| self.refused("create the file", errno, name))
    }
}

impl Dir for RealDir {
    fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>> {
        self.check_name(name)?;
        let lock = lock::acquire(self.fd.as_fd(), name, mode(self.modes.file));
        Ok(Box::new(lock.map_err(|error| self.placed(error))?))
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>> {
        self.check_name(name)?;
        let lock = lock::acquire_shared(self.fd.as_fd(), name);
        match lock.map_err(|error| self.placed(error))? {
            Some(lock) => Ok(Some(Box::new(lock))),
            None => Ok(None),
        }
    }

    fn lock_state(&self, name: &str) -> Result<LockState> {
        self.check_name(name)?;
        lock::state(self.fd.as_fd(), name).map_err(|error| self.placed(error))
    }

    fn open_shared(&self, name: &str, words: usize, create: bool) -> Result<SharedWords> {
        self.check_name(name)?;
        if !self.shares {
            let message = "this file system is not one in which processes can share memory safely: \
                           ext2 to ext4, XFS, tmpfs, overlayfs";
            let error = Error::new(ErrorKind::NotSupported, message);
            return Err(self.placed(error.file(name)));
        }
        let file = shared::open(self.fd.as_fd(), name, words, create, mode(self.modes.file));
        Ok(shared::words(file.map_err(|error| self.placed(error))?))
    }

    fn list(&self) -> Result<Vec<String>> {
        let fail = |errno| system_error("list the directory", errno).path(&self.path);
        let mut names = Vec::new();
        for entry in entries_of(self.fd.as_fd()).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        Ok(names)
    }

    fn size_of(&self, name: &str) -> Result<Option<u64>> {
        self.check_name(name)?;
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let size = regular_size(&stat, name).map_err(|error| self.placed(error))?;
                Ok(Some(size))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.refused("look up the file", errno, name)),
        }
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let fd = self.open_new(name, OFlags::WRONLY)?;
        Ok(Box::new(RealWritableFile::new(self.named(fd, name))))
    }

    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let (fd, size) = self.open_existing(name, OFlags::RDONLY)?;
        Ok(Arc::new(RealReadFile::new(self.named(fd, name), size)))
    }

    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>> {
        let fd = self.open_new(name, OFlags::RDWR)?;
        if let Err(errno) = log::fill_with_zeros(fd.as_fd(), len) {
            // A partial log is useless, especially on a full disk.
            let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
            return Err(self.refused("write the zeros of a log segment", errno, name));
        }
        self.region(fd, name, len, true)
    }

    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>> {
        let (fd, len) = self.open_existing(name, OFlags::RDWR)?;
        let mapped = log::has_its_blocks(fd.as_fd(), len);
        self.region(fd, name, len, mapped)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.check_name(from)?;
        self.check_name(to)?;
        rustix::fs::renameat(&self.fd, from, &self.fd, to)
            .map_err(|errno| self.refused("rename the file", errno, from))
    }

    fn unlink(&self, name: &str) -> Result<()> {
        self.check_name(name)?;
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|errno| self.refused("remove the file", errno, name))
    }

    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<Linked> {
        self.check_name(name)?;
        let Some(to) = to.as_any().downcast_ref::<RealDir>() else {
            let error = Error::invalid("a link must stay in one environment");
            return Err(self.placed(error.file(name)));
        };
        to.check_name(to_name)?;
        match rustix::fs::linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty()) {
            Ok(()) => Ok(Linked::Shared),
            // Another device, a file system without links, or a file with the maximum number of
            // links.
            Err(Errno::XDEV | Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                self.copy(name, to, to_name)
            }
            Err(Errno::NOENT) if !self.has(name) => {
                Err(self.refused("link the file", Errno::NOENT, name))
            }
            // The error concerns the new name: it exists, or its directory is full or removed.
            Err(errno) => Err(to.refused("link the file", errno, to_name)),
        }
    }

    fn copy(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<Linked> {
        let Some(to) = to.as_any().downcast_ref::<RealDir>() else {
            let error = Error::invalid("a copy must stay in one environment");
            return Err(self.placed(error.file(name)));
        };
        let (from, size) = self.open_existing(name, OFlags::RDONLY)?;
        let copy = to.open_new(to_name, OFlags::WRONLY)?;
        let cloned = clone_blocks(&copy, &from);
        let from = RealReadFile::new(self.named(from, name), size);
        let mut copy = RealWritableFile::new(to.named(copy, to_name));
        let copied = if cloned {
            copy.sync()
        } else {
            copy_bytes(&from, &mut copy)
        };
        if copied.is_err() {
            // A partial copy is useless, especially on a full disk.
            let _ = to.unlink(to_name);
        }
        copied.map(|()| {
            if cloned {
                Linked::Cloned
            } else {
                Linked::Copied
            }
        })
    }

    fn file_id(&self, name: &str) -> Result<Option<FileId>> {
        self.check_name(name)?;
        let found = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = found.map_err(|errno| self.refused("examine the file", errno, name))?;
        Ok(Some(FileId(stat.st_dev, stat.st_ino)))
    }

    fn sync_file(&self, name: &str) -> Result<()> {
        let (fd, _) = self.open_existing(name, OFlags::RDONLY)?;
        sync_data(&fd).map_err(|errno| self.refused("sync the file", errno, name))
    }

    fn sync(&self) -> Result<()> {
        let fail = |errno| system_error("sync the directory", errno).path(&self.path);
        sync_names(self.fd.as_fd()).map_err(fail)
    }

    fn prefers_mapping(&self) -> bool {
        self.kind != FileSystem::Unknown
    }

    fn space(&self) -> Result<Option<Space>> {
        let stat = rustix::fs::fstatvfs(&self.fd)
            .map_err(|errno| system_error("query the free space", errno).path(&self.path))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        // ext4 reserves a twentieth for root, ...
        let privileged = rustix::process::geteuid().is_root();
        let free = bytes(if privileged {
            stat.f_bfree
        } else {
            stat.f_bavail
        });
        // ... and a fiftieth, at most 16 MiB, for itself, which it counts as free.
        let kept = match self.kind {
            FileSystem::InPlace => (bytes(stat.f_blocks) / 50).min(16 << 20),
            FileSystem::Local | FileSystem::Unknown => 0,
        };
        Ok(Some(Space {
            free: free.saturating_sub(kept),
            total: bytes(stat.f_blocks),
        }))
    }

    fn remove(&self) -> Result<()> {
        let fail = |errno| system_error("remove the directory", errno).path(&self.path);
        self.check_path("the path now names another directory; nothing was removed")?;
        match rustix::fs::unlinkat(CWD, &*self.path, AtFlags::REMOVEDIR) {
            // A symbolic link, `.`, a mount point, or a parent with another owner.
            Err(
                Errno::NOTDIR
                | Errno::INVAL
                | Errno::BUSY
                | Errno::ACCESS
                | Errno::PERM
                | Errno::ROFS,
            ) => Ok(()),
            removed => removed.map_err(fail),
        }
    }

    fn rename_to(&self, to: &Path) -> Result<()> {
        let fail = |errno| system_error("rename the directory", errno).path(to);
        self.check_path("the path now names another directory; it was not renamed")?;
        if let Ok(replaced) = rustix::fs::lstat(to) {
            // The directory may be shared with others. Only root can change the owner.
            let _ = rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(replaced.st_mode));
            let owner = rustix::fs::Uid::from_raw(replaced.st_uid);
            let group = rustix::fs::Gid::from_raw(replaced.st_gid);
            let _ = rustix::fs::fchown(&self.fd, Some(owner), Some(group));
        }
        match rustix::fs::renameat(CWD, &*self.path, CWD, to) {
            // A symbolic link, `.`, or a mount point.
            Err(Errno::NOTDIR | Errno::INVAL | Errno::BUSY | Errno::XDEV) => {
                let message = "a link or mount point cannot be replaced by a directory";
                return Err(Error::new(ErrorKind::NotSupported, message).path(to));
            }
            renamed => renamed.map_err(fail)?,
        }
        let synced = sync_parent(self.fd.as_fd());
        synced.map_err(|errno| system_error("sync the parent directory", errno).path(to))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl RealDir {
    /// Returns an error with `message` unless the path still names this directory.
    fn check_path(&self, message: &'static str) -> Result<()> {
        let fail = |errno| system_error("examine the directory", errno).path(&self.path);
        let ours = rustix::fs::fstat(&self.fd).map_err(fail)?;
        let named = rustix::fs::stat(&*self.path).map_err(fail)?;
        if (ours.st_dev, ours.st_ino) != (named.st_dev, named.st_ino) {
            return Err(Error::new(ErrorKind::Io, message).path(&self.path));
        }
        Ok(())
    }

    /// Returns whether anything visible has this name.
    fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Creates the region of an open file. A file has one region at a time: no second handle,
    /// unaware of the cursors that read the borrowed bytes, may overwrite them. `whole` means that
    /// no store into the file can need another block.
    fn region(&self, fd: OwnedFd, name: &str, len: u64, whole: bool) -> Result<Arc<dyn LogRegion>> {
        // On a file system without such locks this relies on the engine, which opens no file twice.
        let locked = rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(Errno::WOULDBLOCK) {
            return Err(self.placed(region_in_use().file(name)));
        }
        let mapped = whole && self.kind == FileSystem::InPlace;
        Ok(Arc::new(log::RealLogRegion::new(
            self.named(fd, name),
            len,
            mapped,
        )))
    }
}

#[cold]
fn not_a_directory(path: &Path) -> Error {
    Error::invalid("the path is not a directory").path(path)
}

/// Makes the entry of an open directory in its parent durable. A parent that is searchable but not
/// readable can only be synced by its owner, and is skipped.
fn sync_parent(dir: BorrowedFd<'_>) -> std::result::Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, "..", flags, Mode::empty()) {
        Ok(parent) => match sync_names(parent.as_fd()) {
            // File systems without directory syncs (some network and read-only ones) return this.
            Ok(()) | Err(Errno::INVAL | Errno::ROFS | Errno::OPNOTSUPP) => Ok(()),
            Err(errno) => Err(errno),
        },
        Err(Errno::ACCESS | Errno::PERM) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes the names of a directory durable.
#[cfg(target_vendor = "apple")]
fn sync_names(dir: BorrowedFd<'_>) -> std::result::Result<(), Errno> {
    sync_data(dir)
}

#[cfg(not(target_vendor = "apple"))]
fn sync_names(dir: BorrowedFd<'_>) -> std::result::Result<(), Errno> {
    rustix::fs::fsync(dir)
}

/// Makes an empty file share the blocks of another one. Returns whether the file system can.
#[cfg(target_os = "linux")]
fn clone_blocks(copy: &OwnedFd, from: &OwnedFd) -> bool {
    rustix::fs::ioctl_ficlone(copy, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clone_blocks(_: &OwnedFd, _: &OwnedFd) -> bool {
    false
}

/// Returns the names in a directory. They are read through a separate descriptor, because all
/// readers of one descriptor share its position in the list.
fn entries_of(dir: BorrowedFd<'_>) -> std::result::Result<rustix::fs::Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::Dir::new(rustix::fs::openat(dir, ".", flags, Mode::empty())?)
}

fn is_empty(dir: BorrowedFd<'_>) -> bool {
    entries_of(dir).is_ok_and(|entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name().to_owned());
        names.all(|name| name.as_c_str() == c"." || name.as_c_str() == c"..")
    })
}
