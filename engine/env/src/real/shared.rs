//! Shared words: a small file that several processes map, and record locks on its words.
//!
//! The locks are those of an open file description: they conflict with those of every other
//! description, also in this process, and end with the last descriptor. Ordinary record locks would
//! be lost by any `close` of the file, so without the better ones nothing is shared.
//!
//! A store into the mapping must never need a block, or a full disk would kill the process. So the
//! file has all its blocks before it is mapped, and only file systems that overwrite them in place
//! are used. Network file systems do not keep mappings of different machines coherent.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Error, ErrorKind, Result};
use memmap2::MmapRaw;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::descriptor::{above_stdio, open_regular, system_error};
use crate::fork::Origin;
use crate::shared::{ProcessId, SharedFile};

/// Number of bytes of a word.
const WORD: usize = size_of::<u64>();

/// An open and mapped file of words.
#[derive(Debug)]
pub(super) struct RealShared {
    dir: OwnedFd,
    fd: OwnedFd,
    name: String,
    map: MmapRaw,
    writable: bool,
    owner: Origin,
}

/// Opens the file `name` of so many words, and creates it if that is asked for. Errors name the
/// file; the caller adds the directory.
pub(super) fn open(
    dir: BorrowedFd<'_>,
    name: &str,
    words: usize,
    create: bool,
    mode: Mode,
) -> Result<RealShared> {
    let fail = |what: &'static str, errno| system_error(what, errno).file(name);
    let (fd, writable) = open_file(dir, name, create, mode)?;
    let bytes = words * WORD;
    let stat = rustix::fs::fstat(&fd).map_err(|errno| fail("inspect the shared file", errno))?;
    if writable {
        // Also of a file that has its length: a copy may have holes. Two processes may do this at
        // once: it changes no byte that is there.
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes as u64).map_err(|errno| {
            let error = fail("allocate the shared file", errno);
            match errno {
                Errno::OPNOTSUPP | Errno::NOSYS => error.with_kind(ErrorKind::NotSupported),
                _ => error,
            }
        })?;
    } else if u64::try_from(stat.st_size).unwrap_or(0) < bytes as u64 {
        let error = Error::new(ErrorKind::NotFound, "the shared file has no contents");
        return Err(error.file(name));
    }
    let mut options = memmap2::MmapOptions::new();
    options.len(bytes);
    let map = if writable {
        options.map_raw(&fd)
    } else {
        options.map_raw_read_only(&fd)
    };
    let map = map.map_err(|error| {
        let kind = match error.raw_os_error() {
            Some(libc::ENODEV | libc::EACCES) => ErrorKind::NotSupported,
            _ => ErrorKind::Io,
        };
        Error::io("map the shared file", error)
            .with_kind(kind)
            .file(name)
    })?;
    let dir = rustix::io::fcntl_dupfd_cloexec(dir, 3);
    let dir = dir.map_err(|errno| fail("keep the directory open", errno))?;
    let shared = RealShared {
        dir,
        fd,
        name: name.to_owned(),
        map,
        writable,
        owner: Origin::here(),
    };
    // Reports a file system without locks before anything is shared.
    shared.is_locked(0)?;
    Ok(shared)
}

/// Opens the file for writing, or for reading if that is all this process may do.
fn open_file(dir: BorrowedFd<'_>, name: &str, create: bool, mode: Mode) -> Result<(OwnedFd, bool)> {
    let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match open_regular(dir, name, OFlags::RDWR) {
            Ok((fd, _)) => return Ok((fd, true)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return match open_regular(dir, name, OFlags::RDONLY) {
                    Ok((fd, _)) => Ok((fd, false)),
                    Err(_) if error.io_kind() == Some(std::io::ErrorKind::PermissionDenied) => {
                        Err(error.with_kind(ErrorKind::ReadOnly))
                    }
                    Err(_) => Err(error),
                };
            }
        }
        if !create {
            return Err(Error::new(ErrorKind::NotFound, "there is no shared file").file(name));
        }
        match rustix::fs::openat(dir, name, new, mode).and_then(above_stdio) {
            Ok(fd) => {
                give_as_directory(dir, &fd, mode);
                return Ok((fd, true));
            }
            // Another process has created it meanwhile.
            Err(Errno::EXIST) => {}
            Err(errno) => {
                let error = system_error("create the shared file", errno).file(name);
                return Err(match errno {
                    Errno::ROFS | Errno::ACCESS | Errno::PERM => {
                        error.with_kind(ErrorKind::ReadOnly)
                    }
                    _ => error,
                });
            }
        }
    }
}

/// Gives a new file the owner of its directory, as far as this process may, and lets those write it
/// who may write there.
fn give_as_directory(dir: BorrowedFd<'_>, fd: &OwnedFd, mode: Mode) {
    let Ok(stat) = rustix::fs::fstat(dir) else {
        return;
    };
    let group = rustix::fs::Gid::from_raw(stat.st_gid);
    let owner = rustix::fs::Uid::from_raw(stat.st_uid);
    // Only root can change the owner; a member of the group can change that.
    let _ = rustix::fs::fchown(fd, Some(owner), Some(group))
        .or_else(|_| rustix::fs::fchown(fd, None, Some(group)));
    let writers = Mode::from_raw_mode(stat.st_mode) & (Mode::WGRP | Mode::WOTH);
    let readers = Mode::from_raw_mode(writers.bits() << 1);
    let _ = rustix::fs::fchmod(fd, mode | writers | readers);
}

impl RealShared {
    #[cold]
    fn failed(&self, what: &'static str, errno: Errno) -> Error {
        let error = system_error(what, errno).file(self.name.clone());
        match errno {
            Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL => {
                error.with_kind(ErrorKind::NotSupported)
            }
            _ => error,
        }
    }
}

impl SharedFile for RealShared {
    #[expect(
        unsafe_code,
        clippy::cast_ptr_alignment,
        reason = "the mapping is shared memory, which starts at a page"
    )]
    fn words(&self) -> &[AtomicU64] {
        let words = self.map.as_mut_ptr().cast::<AtomicU64>();
        // SAFETY: the mapping starts at a page, holds whole words, and lives as long as `self`.
        // Other processes access it with atomic operations only. Of a mapping for reading the
        // callers load only (`is_writable`).
        unsafe { std::slice::from_raw_parts(words, self.map.len() / WORD) }
    }

    fn is_writable(&self) -> bool {
        self.writable
    }

    fn try_lock(&self, word: usize) -> Result<bool> {
        match word_lock(self.fd.as_fd(), word, libc::F_WRLCK) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(self.failed("lock a word", errno)),
        }
    }

    fn unlock(&self, word: usize) {
        // A forked child shares the description and must not release its parent's locks.
        if self.owner.check().is_ok() {
            let _ = word_lock(self.fd.as_fd(), word, libc::F_UNLCK);
        }
    }

    fn is_locked(&self, word: usize) -> Result<bool> {
        let range = (word * WORD, WORD);
        let found = locked_range(self.fd.as_fd(), range);
        let found = found.map_err(|errno| self.failed("look for a lock", errno))?;
        Ok(found.is_some())
    }

    fn is_named(&self) -> Result<bool> {
        let fail = |errno| system_error("look up the shared file", errno).file(self.name.clone());
        let ours = rustix::fs::fstat(&self.fd).map_err(fail)?;
        match rustix::fs::statat(&self.dir, &*self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok((ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(fail(errno)),
        }
    }

    fn process(&self) -> ProcessId {
        ProcessId {
            number: u64::from(std::process::id()),
            namespace: namespace(),
            started: started(std::process::id().into()).unwrap_or(0),
        }
    }

    fn has_ended(&self, process: ProcessId) -> bool {
        if process.namespace == 0 || process.namespace != namespace() {
            return false;
        }
        let number = libc::pid_t::try_from(process.number).ok();
        let Some(pid) = number.and_then(rustix::process::Pid::from_raw) else {
            return false;
        };
        let gone = rustix::process::test_kill_process(pid) == Err(Errno::SRCH);
        let other = |started: u64| process.started > 0 && started != process.started;
        gone || started(process.number).is_some_and(other)
    }
}

impl Drop for RealShared {
    fn drop(&mut self) {
        // Not by closing: a forked child may still hold a duplicate.
        if self.owner.check().is_ok() {
            let _ = range_lock(self.fd.as_fd(), (0, 0), libc::F_UNLCK);
        }
    }
}

/// Returns a number for the namespace of process numbers; 0 if it is unknown.
fn namespace() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let digits: String = link
            .to_string_lossy()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap_or(0)
    })
}

/// Returns when a process started, as the system counts it.
fn started(process: u64) -> Option<u64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(Path::new(&path)).ok()?;
    // The second field, the program's name in parentheses, may contain anything.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn word_lock(fd: BorrowedFd<'_>, word: usize, kind: libc::c_int) -> std::result::Result<(), Errno> {
    range_lock(fd, (word * WORD, WORD), kind)
}

/// Returns the structure that describes a lock of `len` bytes; 0 means all to the end.
fn description((start, len): (usize, usize), kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: libc::c_short::try_from(kind).unwrap_or(0),
        l_whence: 0,
        l_start: libc::off_t::try_from(start).unwrap_or(0),
        l_len: libc::off_t::try_from(len).unwrap_or(0),
        l_pid: 0,
    }
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no safe wrapper supports open file description locks"
)]
fn range_lock(
    fd: BorrowedFd<'_>,
    range: (usize, usize),
    kind: libc::c_int,
) -> std::result::Result<(), Errno> {
    let lock = description(range, kind);
    // SAFETY: the descriptor is open, and the structure, which the call only reads, is complete.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

/// Returns the length of a lock of another open file description in the range, if there is one: 0
/// means that it extends to the end of any file.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no safe wrapper supports open file description locks"
)]
pub(super) fn locked_range(
    fd: BorrowedFd<'_>,
    range: (usize, usize),
) -> std::result::Result<Option<FoundLock>, Errno> {
    let mut lock = description(range, libc::F_WRLCK);
    // SAFETY: the descriptor is open; the call reads and writes the structure, which is complete.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if result != 0 {
        return Err(last_error());
    }
    let kind = libc::c_int::from(lock.l_type);
    Ok((kind != libc::F_UNLCK).then_some(FoundLock {
        exclusive: kind == libc::F_WRLCK,
        whole: lock.l_len == 0,
    }))
}

#[cfg(target_os = "linux")]
fn last_error() -> Errno {
    let error = std::io::Error::last_os_error();
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

#[cfg(not(target_os = "linux"))]
fn range_lock(
    _: BorrowedFd<'_>,
    _: (usize, usize),
    _: libc::c_int,
) -> std::result::Result<(), Errno> {
    Err(Errno::NOSYS)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn locked_range(
    _: BorrowedFd<'_>,
    _: (usize, usize),
) -> std::result::Result<Option<FoundLock>, Errno> {
    Err(Errno::NOSYS)
}

/// A lock of another open file description.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundLock {
    pub(super) exclusive: bool,
    /// Whether it extends to the end of any file.
    pub(super) whole: bool,
}

/// Wraps the open file.
pub(super) fn words(file: RealShared) -> crate::shared::SharedWords {
    crate::shared::SharedWords::new(Arc::new(file))
}
