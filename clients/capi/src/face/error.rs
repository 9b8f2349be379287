//! Errors as objects.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use cairndb::{Error, ErrorKind, Result};

use crate::boundary::take_last;
use crate::leveldb::objects::{give, take_back};

/// The kind of an error, which determines what a program can do: one of `CAIRNDB_ERROR_*`. Later
/// versions may add kinds.
pub type cairndb_error_kind = u32;

/// No error: the kind of a NULL error.
pub const CAIRNDB_ERROR_NONE: u32 = 0;
/// The operating system refused an operation; retrying may help once the cause is removed.
pub const CAIRNDB_ERROR_IO: u32 = 1;
/// Bytes on disk differ from what was written, or a file is missing.
pub const CAIRNDB_ERROR_CORRUPTION: u32 = 2;
/// The call is invalid: a limit was exceeded, a handle is NULL, the comparator differs.
pub const CAIRNDB_ERROR_INVALID_ARGUMENT: u32 = 3;
/// This version or platform does not support the operation.
pub const CAIRNDB_ERROR_NOT_SUPPORTED: u32 = 4;
/// The disk is full, or there is no memory for the result; free some and repeat the call.
pub const CAIRNDB_ERROR_NO_SPACE: u32 = 5;
/// A conflicting transaction committed first. Not returned yet.
pub const CAIRNDB_ERROR_CONFLICT: u32 = 6;
/// Another handle or process has the database open.
pub const CAIRNDB_ERROR_LOCKED: u32 = 7;
/// The handle, or its database, was closed or destroyed before.
pub const CAIRNDB_ERROR_CLOSED: u32 = 8;
/// An earlier call failed in a way that makes the handle unusable, for writes or at all.
pub const CAIRNDB_ERROR_POISONED: u32 = 9;
/// The handle was inherited from the parent process; open the database in the child.
pub const CAIRNDB_ERROR_FORKED: u32 = 10;
/// A newer version wrote the files; nothing was changed.
pub const CAIRNDB_ERROR_FORMAT_TOO_NEW: u32 = 11;
/// The database was opened read-only, or to follow.
pub const CAIRNDB_ERROR_READ_ONLY: u32 = 12;
/// The path holds no database.
pub const CAIRNDB_ERROR_NOT_FOUND: u32 = 13;
/// The watcher of `cairndb_watch` stopped the call; the database is consistent.
pub const CAIRNDB_ERROR_INTERRUPTED: u32 = 14;
/// The process that writes has removed files that an old view of a follower needs.
pub const CAIRNDB_ERROR_REVOKED: u32 = 15;
/// A kind that this version of the header does not name.
pub const CAIRNDB_ERROR_OTHER: u32 = 99;

/// The offset of an error that names none.
pub const CAIRNDB_NO_OFFSET: u64 = u64::MAX;

/// An error. A function that can fail returns one, or NULL for success; destroy it with
/// `cairndb_error_destroy`.
#[derive(Debug)]
pub struct cairndb_error {
    kind: u32,
    message: CString,
    file: Option<CString>,
    offset: Option<u64>,
}

fn number(kind: ErrorKind) -> u32 {
    match kind {
        ErrorKind::Io => CAIRNDB_ERROR_IO,
        ErrorKind::Corruption => CAIRNDB_ERROR_CORRUPTION,
        ErrorKind::InvalidArgument => CAIRNDB_ERROR_INVALID_ARGUMENT,
        ErrorKind::NotSupported => CAIRNDB_ERROR_NOT_SUPPORTED,
        ErrorKind::NoSpace => CAIRNDB_ERROR_NO_SPACE,
        ErrorKind::Conflict => CAIRNDB_ERROR_CONFLICT,
        ErrorKind::Locked => CAIRNDB_ERROR_LOCKED,
        ErrorKind::Closed => CAIRNDB_ERROR_CLOSED,
        ErrorKind::Poisoned => CAIRNDB_ERROR_POISONED,
        ErrorKind::Forked => CAIRNDB_ERROR_FORKED,
        ErrorKind::FormatTooNew => CAIRNDB_ERROR_FORMAT_TOO_NEW,
        ErrorKind::ReadOnly => CAIRNDB_ERROR_READ_ONLY,
        ErrorKind::NotFound => CAIRNDB_ERROR_NOT_FOUND,
        ErrorKind::Interrupted => CAIRNDB_ERROR_INTERRUPTED,
        ErrorKind::Revoked => CAIRNDB_ERROR_REVOKED,
        _ => CAIRNDB_ERROR_OTHER,
    }
}

/// Returns `text` up to its first NUL byte, as a C string.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// Returns `error` as an object that the caller destroys.
#[cold]
pub(crate) fn give_error(error: &Error) -> *mut cairndb_error {
    give(cairndb_error {
        kind: number(error.kind()),
        message: c_string(&error.to_string()),
        file: error.file_name().map(c_string),
        offset: error.file_offset(),
    })
}

/// Returns NULL for success, and the error otherwise.
#[inline]
pub(crate) fn outcome(result: Result<()>) -> *mut cairndb_error {
    match result {
        Ok(()) => null_mut(),
        Err(error) => give_error(&error),
    }
}

/// Stores what `result` holds in `*place`, or `other` after an error, and returns the error.
///
/// # Safety
/// `place` must be NULL, which is an error, or writable.
#[inline]
pub(crate) unsafe fn outcome_in<T>(
    place: *mut T,
    other: T,
    result: Result<T>,
) -> *mut cairndb_error {
    let (value, error) = match result {
        Ok(_) if place.is_null() => return give_error(&no_place()),
        Ok(value) => (value, null_mut()),
        Err(error) => (other, give_error(&error)),
    };
    if !place.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { place.write(value) };
    }
    error
}

/// Makes a step, stores what it is at in `*place`, and in `*found` whether there is anything.
/// Returns the error.
///
/// # Safety
/// Each must be NULL, which is an error, or writable.
pub(crate) unsafe fn step_in<T>(
    place: *mut T,
    found: *mut bool,
    step: impl FnOnce() -> Result<Option<T>>,
) -> *mut cairndb_error {
    let stepped = if place.is_null() || found.is_null() {
        Err(no_place())
    } else {
        step()
    };
    let is_found = stepped.map(|stepped| {
        // SAFETY: guaranteed by the caller.
        stepped.map(|stepped| unsafe { place.write(stepped) })
    });
    // SAFETY: guaranteed by the caller.
    unsafe { outcome_in(found, false, is_found.map(|stored| stored.is_some())) }
}

/// Returns the error for a NULL address where a result is to be stored.
#[cold]
pub(crate) fn no_place() -> Error {
    Error::invalid("the address for the result is NULL")
}

/// Returns the last error of this thread in a function of "leveldb/c.h", and forgets it; NULL if
/// there was none since. Also for functions that report errors through `errptr`. Functions of this
/// header return their errors and leave the last error alone.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_last_error() -> *mut cairndb_error {
    take_last().map_or(null_mut(), |error| give_error(&error))
}

/// Returns the kind of the error: `CAIRNDB_ERROR_NONE` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_error_get_kind(error: *const cairndb_error) -> cairndb_error_kind {
    // SAFETY: the header requires NULL or a live error.
    unsafe { error.as_ref() }.map_or(CAIRNDB_ERROR_NONE, |error| error.kind)
}

/// Returns the error as one line of text: what happened, to which file or key, and what to do. It
/// lives as long as the error. An empty string for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_error_message(error: *const cairndb_error) -> *const c_char {
    // SAFETY: the header requires NULL or a live error.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Returns the file that the error names, its name in the database's directory or a path. NULL if
/// it names none. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_error_file(error: *const cairndb_error) -> *const c_char {
    // SAFETY: the header requires NULL or a live error.
    let file = unsafe { error.as_ref() }.and_then(|error| error.file.as_ref());
    file.map_or(null(), |file| file.as_ptr())
}

/// Returns the offset in the file that the error names: `CAIRNDB_NO_OFFSET` if it names none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_error_offset(error: *const cairndb_error) -> u64 {
    // SAFETY: the header requires NULL or a live error.
    let offset = unsafe { error.as_ref() }.and_then(|error| error.offset);
    offset.unwrap_or(CAIRNDB_NO_OFFSET)
}

/// Destroys an error; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_error_destroy(error: *mut cairndb_error) {
    // SAFETY: the header requires NULL or a live error.
    unsafe { take_back(error) };
}
