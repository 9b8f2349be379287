//! The lock of a database directory.
//!
//! It has two parts. A process-wide table of held (device, inode) pairs keeps this process from
//! opening a database twice, by whatever path; it is consulted before the file is opened. A write
//! lock on the whole file keeps other processes out: on Linux a lock of the open file description,
//! which conflicts with the record locks that other stores take and is not lost when an unrelated
//! descriptor of the same file is closed. `flock` would not exclude such a store. An ordinary
//! record lock would be lost by any `close`, so where nothing better exists the table also keeps us
//! from opening the file a second time.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use cairndb_base::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::descriptor::{above_stdio, open_regular, system_error};
use super::shared::locked_range;
use crate::dir::DirLock;
use crate::fork::Origin;
use crate::implement::{Hold, Holders};
use crate::shared::LockState;
use crate::sync::{Mutex, MutexGuard};

/// Device and inode of a lock file.
type FileId = (u64, u64);

/// The lock files that this process holds, and their descriptors. Readers share one descriptor:
/// where locks belong to a process, closing a second one would release the lock of the first.
#[derive(Debug)]
struct HeldLocks {
    holders: Holders<FileId>,
    files: BTreeMap<FileId, Arc<OwnedFd>>,
    /// The process that owns these locks; `None` before the first lock.
    owner: Option<Origin>,
}

/// The table of one process. After `fork` a child has its own table: another thread of the parent
/// may have held the parent's mutex at the fork, and nothing in the child would ever release it.
/// Rejected: a hook that takes the mutex before each fork, because every fork of the program would
/// wait for an open in progress.
#[derive(Debug)]
struct Generation {
    /// Held during a whole attempt, so that two threads cannot both find a file unlocked.
    held: Mutex<HeldLocks>,
    child: OnceLock<Box<Generation>>,
}

impl Generation {
    const fn new() -> Generation {
        Generation {
            held: Mutex::new(HeldLocks {
                holders: Holders::new(),
                files: BTreeMap::new(),
                owner: None,
            }),
            child: OnceLock::new(),
        }
    }
}

static FIRST: Generation = Generation::new();

/// Returns the locks of this process. Those inherited over `fork` are the parent's: a reader here
/// that shared the descriptor would release the parent's lock along with its own.
fn held() -> MutexGuard<'static, HeldLocks> {
    let here = Origin::here();
    let child = |parent: &'static Generation, _| -> &'static Generation {
        parent.child.get_or_init(|| Box::new(Generation::new()))
    };
    let mut held = (0..here.forks()).fold(&FIRST, child).held.lock();
    // Still the parent's table if the child bypassed the C library, whose hook counts forks.
    if held.owner.is_none_or(|owner| owner.check().is_err()) {
        held.holders = Holders::new();
        held.files.clear();
        held.owner = Some(here);
    }
    held
}

/// A held lock. An exclusive holder may remove the file: a process that opened the file earlier and
/// locks it later notices that the name refers to another file or none, and starts over.
#[derive(Debug)]
pub(super) struct RealLock {
    fd: Arc<OwnedFd>,
    id: FileId,
    /// The process that took the lock: a forked child shares the description and must not unlock
    /// it.
    owner: Origin,
}

impl DirLock for RealLock {}

impl RealLock {
    /// Returns whether the lock was taken by another process, of which this one is a fork.
    fn is_inherited(&self) -> bool {
        self.owner.check().is_err()
    }
}

impl Drop for RealLock {
    fn drop(&mut self) {
        if self.is_inherited() {
            // Kept open: where locks belong to a process, closing it would release a lock that this
            // process has taken since.
            let _ = Arc::into_raw(Arc::clone(&self.fd));
            return;
        }
        let mut held = held();
        if held.holders.release(&self.id) {
            held.files.remove(&self.id);
            // Unlocked explicitly rather than by closing: a forked child may still hold a
            // duplicate.
            let _ = set_lock(self.fd.as_fd(), LockKind::Unlock);
        }
    }
}

/// Takes the lock `name` in `dir` exclusively, creating the file if necessary. Errors name the
/// file, here and below; the caller adds the directory.
pub(super) fn acquire(dir: BorrowedFd<'_>, name: &str, mode: Mode) -> Result<RealLock> {
    loop {
        let mut held = held();
        // Checked before opening: where locks belong to a process, closing the file again would
        // release ours.
        if !held.files.is_empty()
            && id_of(dir, name)?.is_some_and(|id| held.files.contains_key(&id))
        {
            return Err(held_here(name));
        }
        let opened = open_or_create(dir, name, mode)?;
        if let Some(lock) = held.take(dir, name, opened, LockKind::Write)? {
            return Ok(lock);
        }
    }
}

/// Takes the lock `name` in `dir` in shared mode; `None` if the file or support for locks is
/// missing.
pub(super) fn acquire_shared(dir: BorrowedFd<'_>, name: &str) -> Result<Option<RealLock>> {
    loop {
        let mut held = held();
        let Some(id) = id_of(dir, name)? else {
            return Ok(None);
        };
        if let Some(fd) = held.files.get(&id).map(Arc::clone) {
            if !held.holders.take(id, Hold::Shared) {
                return Err(held_here(name));
            }
            let owner = Origin::here();
            return Ok(Some(RealLock { fd, id, owner }));
        }
        let (fd, id) = match open_regular(dir, name, OFlags::RDONLY) {
            Ok((fd, stat)) => (fd, file_id(&stat)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match held.take(dir, name, (fd, id), LockKind::Read) {
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::NotSupported => return Ok(None),
            result => return result,
        }
    }
}

/// Returns who holds the lock `name` in `dir`.
pub(super) fn state(dir: BorrowedFd<'_>, name: &str) -> Result<LockState> {
    let held = held();
    let Some(id) = id_of(dir, name)? else {
        return Ok(LockState::Free);
    };
    if held.files.contains_key(&id) {
        return Ok(match held.holders.hold(&id) {
            Some(Hold::Shared) => LockState::Shared,
            _ => LockState::Exclusive,
        });
    }
    let (fd, _) = match open_regular(dir, name, OFlags::RDONLY) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(LockState::Free),
        opened => opened?,
    };
    let found = locked_range(fd.as_fd(), (0, 0)).map_err(|errno| {
        let error = system_error("look for a lock", errno).file(name);
        match errno {
            Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL => {
                error.with_kind(ErrorKind::NotSupported)
            }
            _ => error,
        }
    })?;
    Ok(match found {
        None => LockState::Free,
        Some(lock) if !lock.exclusive => LockState::Shared,
        Some(lock) if lock.whole => LockState::Silent,
        Some(_) => LockState::Exclusive,
    })
}

impl HeldLocks {
    /// Locks an open file; `None` if `name` now refers to another file.
    fn take(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &str,
        (fd, id): (OwnedFd, FileId),
        kind: LockKind,
    ) -> Result<Option<RealLock>> {
        if self.files.contains_key(&id) {
            return Err(held_here(name));
        }
        match set_lock(fd.as_fd(), kind) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::ACCESS) => {
                let holder = match holder(fd.as_fd(), kind).or_else(|| holder_shown(name, id)) {
                    Some(process) => format!("process {process}"),
                    None => "another process".to_owned(),
                };
                let message = format!("{holder} has the database open; close it there first");
                return Err(Error::new(ErrorKind::Locked, message).file(name));
            }
            Err(errno) => {
                let error = system_error("lock the file", errno).file(name);
                return Err(match errno {
                    Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL => {
                        error.with_kind(ErrorKind::NotSupported)
                    }
                    _ => error,
                });
            }
        }
        if id_of(dir, name)? != Some(id) {
            // Closing unlocks it: this description has no other descriptor.
            return Ok(None);
        }
        let (fd, owner) = (Arc::new(fd), Origin::here());
        let hold = if kind == LockKind::Read {
            Hold::Shared
        } else {
            Hold::Exclusive
        };
        self.holders.take(id, hold);
        self.files.insert(id, Arc::clone(&fd));
        Ok(Some(RealLock { fd, id, owner }))
    }
}

/// The process whose record lock is in the way, if the system names one: a lock of an open file
/// description, as ours are on Linux, belongs to no process.
#[expect(
    unsafe_code,
    reason = "the safe wrapper asserts that every lock belongs to a process"
)]
fn holder(fd: BorrowedFd<'_>, kind: LockKind) -> Option<libc::pid_t> {
    use std::os::fd::AsRawFd;
    let kind = match kind {
        LockKind::Write => libc::F_WRLCK,
        LockKind::Read | LockKind::Unlock => libc::F_RDLCK,
    };
    // SAFETY: all bytes zero are a value of this structure: the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::c_short::try_from(kind).ok()?;
    // SAFETY: the descriptor is open; the call reads and writes the structure, which is complete.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    let locked = i32::from(lock.l_type) != libc::F_UNLCK;
    (result == 0 && locked && lock.l_pid > 0).then_some(lock.l_pid)
}

/// The process that holds a lock on the file, as Linux lists the locks of each descriptor. The
/// processes of other users are visible to root only.
#[cold]
#[expect(
    clippy::disallowed_methods,
    reason = "the list of processes is no directory of a database"
)]
fn holder_shown(name: &str, id: FileId) -> Option<libc::pid_t> {
    let holds = |process: &libc::pid_t| {
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd"));
        descriptors.into_iter().flatten().flatten().any(|link| {
            // A file of another name may be on a device that does not answer.
            let named = std::fs::read_link(link.path()).is_ok_and(|path| path.ends_with(name));
            let same = named && rustix::fs::stat(link.path()).is_ok_and(|it| file_id(&it) == id);
            let number = link.file_name();
            let locks = format!("/proc/{process}/fdinfo/{}", number.display());
            same && std::fs::read_to_string(locks)
                .is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
        })
    };
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(holds)
}

/// The file that `name` means now.
fn id_of(dir: BorrowedFd<'_>, name: &str) -> Result<Option<FileId>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(file_id(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(system_error("inspect the lock file", errno).file(name)),
    }
}

#[cold]
fn held_here(name: &str) -> Error {
    let message = "this process already has the database open; share or close that handle";
    Error::new(ErrorKind::Locked, message).file(name)
}

/// Opens the lock file, creating it if missing. Does not use a single call with `CREATE`, so that
/// an existing file is always checked to be a regular one.
fn open_or_create(dir: BorrowedFd<'_>, name: &str, mode: Mode) -> Result<(OwnedFd, FileId)> {
    let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match open_regular(dir, name, OFlags::RDWR) {
            Ok((fd, stat)) => return Ok((fd, file_id(&stat))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match rustix::fs::openat(dir, name, new, mode).and_then(above_stdio) {
            Ok(fd) => {
                let stat = rustix::fs::fstat(&fd)
                    .map_err(|errno| system_error("inspect the lock file", errno).file(name))?;
                return Ok((fd, file_id(&stat)));
            }
            // Another process has created it meanwhile.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(system_error("create the lock file", errno).file(name)),
        }
    }
}

fn file_id(stat: &rustix::fs::Stat) -> FileId {
    (u64::try_from(stat.st_dev).unwrap_or(0), stat.st_ino.into())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LockKind {
    Write,
    Read,
    Unlock,
}

/// Length of a writer's lock. It conflicts with every lock of the whole file, and its length shows
/// that the writer informs followers.
const ANNOUNCED: libc::off_t = libc::off_t::MAX;

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no safe wrapper supports open file description locks"
)]
fn set_lock(fd: BorrowedFd<'_>, lock: LockKind) -> std::result::Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let kind = match lock {
        LockKind::Write => libc::F_WRLCK,
        LockKind::Read => libc::F_RDLCK,
        LockKind::Unlock => libc::F_UNLCK,
    };
    let whole_file = libc::flock {
        l_type: libc::c_short::try_from(kind).unwrap_or(0),
        l_whence: 0,
        l_start: 0,
        l_len: if lock == LockKind::Write {
            ANNOUNCED
        } else {
            0
        },
        l_pid: 0,
    };
    loop {
        // SAFETY: the descriptor is open, and the structure, which the call only reads, is
        // complete.
        let result =
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole_file) };
        if result == 0 {
            return Ok(());
        }
        let errno = std::io::Error::last_os_error();
        match Errno::from_io_error(&errno) {
            Some(Errno::INTR) => {}
            // A system without them (Linux before 3.15, some sandboxes).
            Some(Errno::INVAL) => return set_record_lock(fd, lock),
            other => return Err(other.unwrap_or(Errno::IO)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn set_lock(fd: BorrowedFd<'_>, kind: LockKind) -> std::result::Result<(), Errno> {
    set_record_lock(fd, kind)
}

/// An ordinary record lock. It belongs to the process and is lost when the process closes any
/// descriptor of the file, which is why none is opened twice.
fn set_record_lock(fd: BorrowedFd<'_>, kind: LockKind) -> std::result::Result<(), Errno> {
    use rustix::fs::FlockOperation;
    let operation = match kind {
        LockKind::Write => FlockOperation::NonBlockingLockExclusive,
        LockKind::Read => FlockOperation::NonBlockingLockShared,
        LockKind::Unlock => FlockOperation::NonBlockingUnlock,
    };
    rustix::fs::fcntl_lock(fd, operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once, a file opened before its removal could be locked afterwards, along with its successor.
    #[test]
    fn a_removed_lock_file_is_no_lock() {
        let temp = tempfile::tempdir().unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = rustix::fs::openat(rustix::fs::CWD, temp.path(), flags, Mode::empty()).unwrap();
        let (dir, mode) = (dir.as_fd(), Mode::RUSR | Mode::WUSR);
        let kinds = [LockKind::Write, LockKind::Read];
        for kind in kinds {
            let early = open_or_create(dir, "LOCK", mode).unwrap();
            let destroyer = acquire(dir, "LOCK", mode).unwrap();
            rustix::fs::unlinkat(dir, "LOCK", AtFlags::empty()).unwrap();
            drop(destroyer);
            let taken = held().take(dir, "LOCK", early, kind).unwrap();
            assert!(taken.is_none(), "the file has no name");
            let early = open_or_create(dir, "LOCK", mode).unwrap();
            rustix::fs::unlinkat(dir, "LOCK", AtFlags::empty()).unwrap();
            let owner = acquire(dir, "LOCK", mode).unwrap();
            let taken = held().take(dir, "LOCK", early, kind).unwrap();
            assert!(taken.is_none(), "the name belongs to its successor");
            drop(owner);
        }
        assert!(acquire(dir, "LOCK", mode).is_ok());
    }

    /// Once, the child waited forever for a lock that a thread of the parent held at the fork.
    #[test]
    #[cfg(not(miri))]
    #[expect(
        unsafe_code,
        reason = "code runs in a child only between fork and exec"
    )]
    fn a_child_opens_while_a_thread_of_the_parent_was_opening_at_the_fork() {
        use std::os::unix::process::CommandExt;
        let temp = tempfile::tempdir().unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = rustix::fs::openat(rustix::fs::CWD, temp.path(), flags, Mode::empty()).unwrap();
        let opening = held();
        let mut command = std::process::Command::new("true");
        let take = move || {
            // SAFETY: sets a timer in the child, which kills it if it waits forever.
            unsafe { libc::alarm(20) };
            let lock = acquire(dir.as_fd(), "LOCK", Mode::RUSR | Mode::WUSR);
            lock.map(drop).map_err(std::io::Error::other)
        };
        // SAFETY: the closure takes no lock that a thread of this process could hold at the fork,
        // which this tests; the C library handles the lock of the allocator.
        unsafe { command.pre_exec(take) };
        assert!(command.status().unwrap().success());
        drop(opening);
    }

    #[test]
    fn a_lock_that_another_process_took_is_inherited() {
        let temp = tempfile::tempdir().unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = rustix::fs::openat(rustix::fs::CWD, temp.path(), flags, Mode::empty()).unwrap();
        let mut lock = acquire(dir.as_fd(), "LOCK", Mode::RUSR | Mode::WUSR).unwrap();
        assert!(!lock.is_inherited());
        lock.owner = Origin::elsewhere();
        assert!(lock.is_inherited());
    }
}
