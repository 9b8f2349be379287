//! Directories by descriptor.
//!
//! Names are single components: the engine makes them from numbers, and [`RealDir`] refuses any
//! other, so that bytes read from a hostile file can never name a path.

use std::any::Any;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::descriptor::{above_stdio, check_name, mode, open_regular, regular_size, system_error};
use super::files::{RealReadFile, RealWritableFile, sync_data};
use super::{lock, log};
use crate::dir::{Dir, DirLock, Space};
use crate::file::{LogRegion, ReadFile, WritableFile};
use crate::lending::region_in_use;

/// Copied at a time where a file system cannot link.
const COPY_BYTES: usize = 256 << 10;

/// Permission bits of what an environment creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Of new files. Default `0o600`: a database is its owner's.
    pub file: u32,
    /// Of new directories. Default `0o700`.
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
    path: PathBuf,
    modes: Modes,
    kind: FileSystem,
}

/// What kind of file system a directory lies on, as far as the engine cares.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "file systems are told apart on Linux only")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileSystem {
    /// ext2/3/4 or XFS: prewritten blocks are overwritten in place and a store cannot run out of
    /// space, so logs are mapped.
    InPlace,
    /// Local, but it may copy on write (Btrfs, `OverlayFS`, F2FS) or swap (tmpfs): read mappings
    /// only.
    Local,
    /// Network or unknown: no mappings.
    Unknown,
}

impl RealDir {
    /// Opens `path`, see [`crate::Env::open_dir`].
    pub(super) fn open(path: &Path, create: bool, modes: Modes) -> Result<RealDir> {
        let fail = |what: &'static str, errno| system_error(what, errno).path(path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(CWD, path, flags, Mode::empty());
        let (mut made, mut opened) = (false, open());
        if create && matches!(opened, Err(Errno::NOENT)) {
            match rustix::fs::mkdirat(CWD, path, mode(modes.dir)) {
                Ok(()) => made = true,
                // Somebody else made it meanwhile.
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
        let fd = match opened {
            Ok(fd) => above_stdio(fd)?,
            Err(Errno::NOENT) => {
                return Err(
                    Error::new(ErrorKind::NotFound, "the directory does not exist").path(path),
                );
            }
            Err(Errno::NOTDIR) => return Err(not_a_directory(path)),
            Err(errno) => return Err(fail("open the directory", errno)),
        };
        // An earlier life may have died between making it and syncing its parent: then it is empty.
        if made || (create && is_empty(fd.as_fd())) {
            sync_parent(fd.as_fd()).map_err(|errno| fail("sync the parent directory", errno))?;
        }
        let kind = file_system(fd.as_fd());
        Ok(RealDir {
            fd,
            path: path.to_owned(),
            modes,
            kind,
        })
    }

    fn open_existing(&self, name: &str, flags: OFlags) -> Result<(OwnedFd, u64)> {
        check_name(name)?;
        let (fd, stat) = open_regular(self.fd.as_fd(), name, flags)?;
        let size = regular_size(&stat, name)?;
        Ok((fd, size))
    }

    /// Opens a new file, which must not exist.
    fn open_new(&self, name: &str, flags: OFlags) -> Result<OwnedFd> {
        check_name(name)?;
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, name, flags, mode(self.modes.file)) {
            Ok(fd) => above_stdio(fd),
            Err(errno) => Err(system_error("create the file", errno).file(name)),
        }
    }

    /// Copies and syncs `name`, for file systems without links.
    fn copy(&self, name: &str, to: &RealDir, to_name: &str) -> Result<()> {
        let here = |error: Error| error.directory(&self.path);
        let from = self.open_read(name).map_err(here)?;
        let mut copy = to.create(to_name)?;
        let mut copy_all = || {
            let mut buffer = vec![0; COPY_BYTES];
            let mut offset = 0;
            while offset < from.size() {
                let left = usize::try_from(from.size() - offset).unwrap_or(COPY_BYTES);
                let part = &mut buffer[..left.min(COPY_BYTES)];
                from.read_at(offset, part).map_err(here)?;
                copy.append(part)?;
                offset += part.len() as u64;
            }
            copy.sync()
        };
        let copied = copy_all();
        if copied.is_err() {
            // Half a copy is of use to nobody, least of all on a full disk.
            let _ = to.unlink(to_name);
        }
        copied
    }
}

impl Dir for RealDir {
    fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self, name: &str) -> Result<Box<dyn DirLock>> {
        check_name(name)?;
        let lock = lock::acquire(self.fd.as_fd(), name, mode(self.modes.file));
        Ok(Box::new(lock.map_err(|error| self.locked(name, error))?))
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DirLock>>> {
        check_name(name)?;
        let lock = lock::acquire_shared(self.fd.as_fd(), name);
        match lock.map_err(|error| self.locked(name, error))? {
            Some(lock) => Ok(Some(Box::new(lock))),
            None => Ok(None),
        }
    }

    fn list(&self) -> Result<Vec<String>> {
        let fail = |errno| system_error("list the directory", errno);
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
        check_name(name)?;
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => regular_size(&stat, name).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(system_error("look up the file", errno).file(name)),
        }
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let fd = self.open_new(name, OFlags::WRONLY)?;
        Ok(Box::new(RealWritableFile::new(fd, name)))
    }

    fn open_read(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let (fd, size) = self.open_existing(name, OFlags::RDONLY)?;
        Ok(Arc::new(RealReadFile::new(fd, name, size)))
    }

    fn create_log(&self, name: &str, len: u64) -> Result<Arc<dyn LogRegion>> {
        let fd = self.open_new(name, OFlags::RDWR)?;
        if let Err(errno) = log::fill_with_zeros(fd.as_fd(), len) {
            // Half a log is of use to nobody, least of all on a full disk.
            let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
            return Err(system_error("write the zeros of a log segment", errno).file(name));
        }
        self.region(fd, name, len, true)
    }

    fn open_log(&self, name: &str) -> Result<Arc<dyn LogRegion>> {
        let (fd, len) = self.open_existing(name, OFlags::RDWR)?;
        let mapped = log::has_its_blocks(fd.as_fd(), len);
        self.region(fd, name, len, mapped)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        check_name(from)?;
        check_name(to)?;
        rustix::fs::renameat(&self.fd, from, &self.fd, to)
            .map_err(|errno| system_error("rename the file", errno).file(from))
    }

    fn unlink(&self, name: &str) -> Result<()> {
        check_name(name)?;
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|errno| system_error("remove the file", errno).file(name))
    }

    fn link(&self, name: &str, to: &dyn Dir, to_name: &str) -> Result<()> {
        check_name(name)?;
        check_name(to_name)?;
        let Some(to) = to.as_any().downcast_ref::<RealDir>() else {
            return Err(Error::invalid("a link must stay in one environment").file(name));
        };
        match rustix::fs::linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty()) {
            Ok(()) => Ok(()),
            // Another device, no links on this file system, or the file has all it may have.
            Err(Errno::XDEV | Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                self.copy(name, to, to_name)
            }
            Err(errno) => {
                let error = system_error("link the file", errno).file(name);
                Err(match errno {
                    Errno::NOENT => error.directory(&self.path),
                    _ => error,
                })
            }
        }
    }

    fn sync_file(&self, name: &str) -> Result<()> {
        let (fd, _) = self.open_existing(name, OFlags::RDONLY)?;
        sync_data(&fd).map_err(|errno| system_error("sync the file", errno).file(name))
    }

    fn sync(&self) -> Result<()> {
        sync_names(self.fd.as_fd())
            .map_err(|errno| system_error("sync the directory", errno))
            .map_err(|error| error.path(&self.path))
    }

    fn prefers_mapping(&self) -> bool {
        self.kind != FileSystem::Unknown
    }

    fn space(&self) -> Result<Option<Space>> {
        let stat = rustix::fs::fstatvfs(&self.fd)
            .map_err(|errno| system_error("ask for free space", errno).path(&self.path))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Some(Space {
            free: bytes(stat.f_bavail),
            total: bytes(stat.f_blocks),
        }))
    }

    fn remove(&self) -> Result<()> {
        let fail = |errno| system_error("remove the directory", errno).path(&self.path);
        let ours = rustix::fs::fstat(&self.fd).map_err(fail)?;
        let named = rustix::fs::stat(&self.path).map_err(fail)?;
        if (ours.st_dev, ours.st_ino) != (named.st_dev, named.st_ino) {
            return Err(Error::new(
                ErrorKind::Io,
                "the path now names another directory; nothing was removed",
            )
            .path(&self.path));
        }
        match rustix::fs::unlinkat(CWD, &self.path, AtFlags::REMOVEDIR) {
            // A link; `.`; a mount point; a parent that is somebody else's.
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl RealDir {
    /// Every directory has a LOCK: which one is held is what the caller wants to know.
    fn locked(&self, name: &str, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Locked => error.path(&self.path.join(name)),
            _ => error,
        }
    }

    /// There is one region to a file, as long as it lives: bytes that it lent must not be overwritten
    /// through another, by a handle that knows nothing of the cursor that reads them. `whole`: no store
    /// into it can need a block more.
    fn region(&self, fd: OwnedFd, name: &str, len: u64, whole: bool) -> Result<Arc<dyn LogRegion>> {
        // On a file system without such locks it rests on the engine, which opens no file twice.
        let locked = rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(Errno::WOULDBLOCK) {
            return Err(region_in_use(name));
        }
        let mapped = whole && self.kind == FileSystem::InPlace;
        Ok(Arc::new(log::RealLogRegion::new(fd, name, len, mapped)))
    }
}

#[cold]
fn not_a_directory(path: &Path) -> Error {
    Error::invalid("the path is not a directory").path(path)
}

/// Makes the entry of an open directory in its parent durable. A parent that may be searched but
/// not read cannot be synced by anybody but its owner, and is let be.
fn sync_parent(dir: BorrowedFd<'_>) -> std::result::Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, "..", flags, Mode::empty()) {
        Ok(parent) => match sync_names(parent.as_fd()) {
            // A file system without directory syncs (some network ones, read-only ones) says so.
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

/// The names in a directory, read through a descriptor of its own: where a descriptor stands in the list is
/// shared by all who read from it.
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

#[cfg(target_os = "linux")]
fn file_system(fd: BorrowedFd<'_>) -> FileSystem {
    const EXT: i64 = 0xEF53;
    const XFS: i64 = 0x5846_5342;
    const TMPFS: i64 = 0x0102_1994;
    const BTRFS: i64 = 0x9123_683E;
    const F2FS: i64 = 0xF2F5_2010;
    const OVERLAY: i64 = 0x794C_7630;
    const ZFS: i64 = 0x2FC1_2FC1;
    let magic = match rustix::fs::fstatfs(fd) {
        // Some platforms hold the number in 32 bits, with its sign.
        Ok(stat) => i64::from(stat.f_type) & 0xFFFF_FFFF,
        Err(_) => return FileSystem::Unknown,
    };
    match magic {
        EXT | XFS => FileSystem::InPlace,
        TMPFS | BTRFS | F2FS | OVERLAY | ZFS => FileSystem::Local,
        _ => FileSystem::Unknown,
    }
}

/// Elsewhere nothing is known for certain: no mappings.
#[cfg(not(target_os = "linux"))]
fn file_system(_fd: BorrowedFd<'_>) -> FileSystem {
    FileSystem::Unknown
}
