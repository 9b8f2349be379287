//! The lock of a database directory.
//!
//! Two parts. A process-wide table of the (device, inode) pairs held keeps this process from
//! opening a database twice, by whatever path; it is asked before the file is opened. A write lock
//! on the whole file keeps other processes out: on Linux one of the open file description, which
//! conflicts with the record locks other stores take and is not lost when an unrelated descriptor
//! of the same file is closed. `flock` would exclude no such store; an ordinary record lock would
//! be lost by any `close`, so where nothing better exists the table also keeps us from opening the
//! file a second time.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process;

use cairndb_base::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::descriptor::{above_stdio, open_regular, system_error};
use crate::dir::DirLock;
use crate::sync::Mutex;

/// Device and inode of a lock file.
type FileId = (u64, u64);

/// The lock files this process holds. Held over the whole of `acquire`, so that two threads cannot
/// both find a file free.
static HELD: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

/// A held lock. The file is never removed: a second holder could lock its successor.
#[derive(Debug)]
pub(super) struct RealLock {
    fd: OwnedFd,
    id: FileId,
    /// The process that took it: a forked child shares the description and must not unlock it.
    owner: u32,
}

impl DirLock for RealLock {}

impl Drop for RealLock {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        held.remove(&self.id);
        if self.owner == process::id() {
            // Unlocked by name rather than by closing: a forked child may still hold a duplicate.
            let _ = set_lock(self.fd.as_fd(), LockKind::Unlock);
        }
    }
}

/// Takes the lock `name` in `dir`, creating the file if need be.
pub(super) fn acquire(dir: BorrowedFd<'_>, name: &str, mode: Mode) -> Result<RealLock> {
    let mut held = HELD.lock();
    if let Ok(stat) = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        && held.contains(&file_id(&stat))
    {
        return Err(held_here(name));
    }
    let fd = open_or_create(dir, name, mode)?;
    let stat = rustix::fs::fstat(&fd)
        .map_err(|errno| system_error("look at the lock file", errno).file(name))?;
    let id = file_id(&stat);
    if held.contains(&id) {
        return Err(held_here(name));
    }
    match set_lock(fd.as_fd(), LockKind::Write) {
        Ok(()) => {}
        Err(Errno::AGAIN | Errno::ACCESS) => {
            return Err(Error::new(
                ErrorKind::Locked,
                "another process has the database open; close it there first",
            )
            .file(name));
        }
        Err(errno) => return Err(system_error("lock the file", errno).file(name)),
    }
    held.insert(id);
    let owner = process::id();
    Ok(RealLock { fd, id, owner })
}

#[cold]
fn held_here(name: &str) -> Error {
    let message = "this process has the database open already; share that handle";
    Error::new(ErrorKind::Locked, message).file(name)
}

/// Opens the lock file, made first where it is missing. Two calls and not one with `CREATE` alone,
/// so that what exists is always checked to be a regular file.
fn open_or_create(dir: BorrowedFd<'_>, name: &str, mode: Mode) -> Result<OwnedFd> {
    let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, name, new, mode) {
        Ok(fd) => above_stdio(fd),
        Err(Errno::EXIST) => open_regular(dir, name, OFlags::RDWR),
        Err(errno) => Err(system_error("create the lock file", errno).file(name)),
    }
}

fn file_id(stat: &rustix::fs::Stat) -> FileId {
    (u64::try_from(stat.st_dev).unwrap_or(0), stat.st_ino.into())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LockKind {
    Write,
    Unlock,
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no safe wrapper knows open file description locks"
)]
fn set_lock(fd: BorrowedFd<'_>, kind: LockKind) -> std::result::Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let kind = match kind {
        LockKind::Write => libc::F_WRLCK,
        LockKind::Unlock => libc::F_UNLCK,
    };
    let whole_file = libc::flock {
        l_type: libc::c_short::try_from(kind).unwrap_or(0),
        l_whence: 0,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    loop {
        // SAFETY: the descriptor is open and the structure, which the call only reads, is complete.
        let result =
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole_file) };
        if result == 0 {
            return Ok(());
        }
        let errno = std::io::Error::last_os_error();
        match Errno::from_io_error(&errno) {
            Some(Errno::INTR) => {}
            other => return Err(other.unwrap_or(Errno::IO)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn set_lock(fd: BorrowedFd<'_>, kind: LockKind) -> std::result::Result<(), Errno> {
    use rustix::fs::FlockOperation;
    let operation = match kind {
        LockKind::Write => FlockOperation::NonBlockingLockExclusive,
        LockKind::Unlock => FlockOperation::NonBlockingUnlock,
    };
    rustix::fs::fcntl_lock(fd, operation)
}
