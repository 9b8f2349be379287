//! The structures of `wiredtiger.h` 3.2 whose functions are called through pointers in them.
//!
//! Unused entries are untyped words. A test compares the offsets with those of a C compiler for the
//! header of 3.2.1.

use std::ffi::{c_char, c_int, c_void};

/// A pointer to a function that is not called here.
type Unused = *const c_void;
/// Settings as text, or null.
type Config = *const c_char;

/// `WT_ITEM`: bytes owned by the code that set them. The last three fields belong to the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) data: *const u8,
    pub(crate) size: usize,
    mem: *mut c_void,
    mem_size: usize,
    flags: u32,
}

impl Item {
    pub(crate) const EMPTY: Self = Self {
        data: std::ptr::null(),
        size: 0,
        mem: std::ptr::null_mut(),
        mem_size: 0,
        flags: 0,
    };

    /// Creates a view of bytes that the library only reads.
    #[inline]
    pub(crate) const fn of(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr(),
            size: bytes.len(),
            ..Self::EMPTY
        }
    }
}

type Step = unsafe extern "C" fn(*mut Cursor) -> c_int;

/// The first fields of `WT_CURSOR`, which is only used through a pointer.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Cursor {
    session: *mut Session,
    uri: *const c_char,
    key_format: *const c_char,
    value_format: *const c_char,
    pub(crate) get_key: unsafe extern "C" fn(*mut Self, ...) -> c_int,
    pub(crate) get_value: unsafe extern "C" fn(*mut Self, ...) -> c_int,
    pub(crate) set_key: unsafe extern "C" fn(*mut Self, ...),
    pub(crate) set_value: unsafe extern "C" fn(*mut Self, ...),
    compare: Unused,
    equals: Unused,
    pub(crate) next: Step,
    pub(crate) prev: Step,
    pub(crate) reset: Step,
    pub(crate) search: Step,
    pub(crate) search_near: unsafe extern "C" fn(*mut Self, *mut c_int) -> c_int,
    pub(crate) insert: Step,
    modify: Unused,
    update: Unused,
    pub(crate) remove: Step,
    reserve: Unused,
    pub(crate) close: Step,
}

type Act = unsafe extern "C" fn(*mut Session, Config) -> c_int;
type ActOn = unsafe extern "C" fn(*mut Session, *const c_char, Config) -> c_int;
type OpenCursor = unsafe extern "C" fn(
    *mut Session,
    *const c_char,
    *mut Cursor,
    Config,
    *mut *mut Cursor,
) -> c_int;

/// `WT_SESSION`, up to the last function used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Session {
    connection: *mut Connection,
    app_private: *mut c_void,
    pub(crate) close: Act,
    reconfigure: Unused,
    strerror: Unused,
    pub(crate) open_cursor: OpenCursor,
    alter: Unused,
    pub(crate) create: ActOn,
    import: Unused,
    pub(crate) compact: ActOn,
    drop: Unused,
    join: Unused,
    pub(crate) log_flush: Act,
    log_printf: Unused,
    rebalance: Unused,
    rename: Unused,
    reset: Unused,
    salvage: Unused,
    truncate: Unused,
    upgrade: Unused,
    verify: Unused,
    pub(crate) begin_transaction: Act,
    pub(crate) commit_transaction: Act,
    prepare_transaction: Unused,
    pub(crate) rollback_transaction: Act,
    timestamp_transaction: Unused,
    query_timestamp: Unused,
    pub(crate) checkpoint: Act,
}

type OpenSession =
    unsafe extern "C" fn(*mut Connection, *mut EventHandler, Config, *mut *mut Session) -> c_int;

/// `WT_CONNECTION`, up to the last function used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Connection {
    async_flush: Unused,
    async_new_op: Unused,
    pub(crate) close: unsafe extern "C" fn(*mut Self, Config) -> c_int,
    debug_info: Unused,
    reconfigure: Unused,
    get_home: Unused,
    configure_method: Unused,
    is_new: Unused,
    pub(crate) open_session: OpenSession,
}

type Message = unsafe extern "C" fn(*mut EventHandler, *mut Session, *const c_char) -> c_int;

/// `WT_EVENT_HANDLER`: the callbacks for errors.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct EventHandler {
    pub(crate) error: unsafe extern "C" fn(*mut Self, *mut Session, c_int, *const c_char) -> c_int,
    pub(crate) message: Message,
    pub(crate) progress: Unused,
    pub(crate) close: Unused,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_offsets_are_those_of_the_header() {
        let cursor = [
            offset_of!(Cursor, get_key),
            offset_of!(Cursor, set_key),
            offset_of!(Cursor, next),
            offset_of!(Cursor, prev),
            offset_of!(Cursor, reset),
            offset_of!(Cursor, search),
            offset_of!(Cursor, search_near),
            offset_of!(Cursor, insert),
            offset_of!(Cursor, remove),
            offset_of!(Cursor, close),
        ];
        assert_eq!(cursor, [32, 48, 80, 88, 96, 104, 112, 120, 144, 160]);
        let session = [
            offset_of!(Session, close),
            offset_of!(Session, open_cursor),
            offset_of!(Session, create),
            offset_of!(Session, compact),
            offset_of!(Session, log_flush),
            offset_of!(Session, begin_transaction),
            offset_of!(Session, commit_transaction),
            offset_of!(Session, rollback_transaction),
            offset_of!(Session, checkpoint),
        ];
        assert_eq!(session, [16, 40, 56, 72, 96, 168, 176, 192, 216]);
        assert_eq!(offset_of!(Connection, close), 16);
        assert_eq!(offset_of!(Connection, open_session), 64);
        assert_eq!(offset_of!(Item, size), 8);
        assert_eq!(size_of::<Item>(), 40);
        assert_eq!(offset_of!(EventHandler, close), 24);
    }
}
