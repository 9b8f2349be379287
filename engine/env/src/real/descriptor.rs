//! Safe opens relative to a descriptor: the first step for every file, lock and log of the real
//! environment.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use cairndb_base::{Error, ErrorKind, Result};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Converts a system error to an [`Error`]; a name that does not exist becomes `NotFound`.
#[cold]
pub(super) fn system_error(operation: &'static str, errno: Errno) -> Error {
    let error = Error::io(operation, std::io::Error::from(errno));
    match errno {
        Errno::NOENT => error.with_kind(ErrorKind::NotFound),
        _ => error,
    }
}

/// Opens an existing regular file of a directory and returns it with its metadata. `NONBLOCK` keeps
/// a FIFO in its place from blocking the caller; regular files ignore it. Errors name the file,
/// here and below; the caller adds the directory.
pub(super) fn open_regular(
    dir: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
) -> Result<(OwnedFd, Stat)> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty());
    let fd = match opened.and_then(above_stdio) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => {
            return Err(Error::new(ErrorKind::NotFound, "the file does not exist").file(name));
        }
        Err(Errno::LOOP) => return Err(not_regular(name)),
        Err(errno) => return Err(system_error("open the file", errno).file(name)),
    };
    let stat = rustix::fs::fstat(&fd)
        .map_err(|errno| system_error("inspect the open file", errno).file(name))?;
    regular_size(&stat, name)?;
    Ok((fd, stat))
}

/// Moves a descriptor above the standard three, which a print or a child process could reach.
pub(super) fn above_stdio(fd: OwnedFd) -> std::result::Result<OwnedFd, Errno> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    rustix::io::fcntl_dupfd_cloexec(&fd, 3)
}

/// Converts permission bits to the system's type.
pub(super) fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits.try_into().unwrap_or(0o600))
}

/// Returns the length of a file, which must be a regular file.
pub(super) fn regular_size(stat: &Stat, name: &str) -> Result<u64> {
    if FileType::from_raw_mode(stat.st_mode.into()) != FileType::RegularFile {
        return Err(not_regular(name));
    }
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

#[cold]
fn not_regular(name: &str) -> Error {
    Error::new(ErrorKind::Io, "not a regular file; links are not followed").file(name)
}

/// Returns an error unless the name is a single path component.
pub(super) fn check_name(name: &str) -> Result<()> {
    let component = !name.is_empty() && name != "." && name != ".." && name.len() <= 255;
    if component && !name.bytes().any(|byte| byte == b'/' || byte == 0) {
        return Ok(());
    }
    Err(Error::invalid("a file name must be one path component")
        .file(name.escape_debug().to_string()))
}
