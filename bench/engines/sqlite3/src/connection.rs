//! A connection and the rules for its use.
//!
//! The store has one connection, with `locking_mode=EXCLUSIVE`, which all threads of a writing row
//! share. It is opened without SQLite's own mutex, which would be locked several times per
//! operation; instead, a thread holds [`ConnectionTurn`] for a whole operation, or from
//! the first entry of a batch to its commit. If several threads read and none writes, each also has
//! its own connection and takes no turns. Every method of a [`ConnectionTurn`] is called by the
//! thread that holds it.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bench_core::fault::Fault;
use engine_capi::path_text;

use crate::sys::{
    Api, CHECKPOINT_TRUNCATE, DONE, OK, OPEN_CREATE, OPEN_NOMUTEX, OPEN_READONLY, OPEN_READWRITE,
    PREPARE_PERSISTENT, ROW,
};

/// The processes that may use a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// This process.
    One,
    /// This process, which writes, and others, which read.
    Writer,
    /// This process, which reads, and one that writes.
    Reader,
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Connection<'e> {
    api: &'e Api,
    db: *mut c_void,
    turn: Mutex<()>,
}

// SAFETY: the connection is used only by the thread that holds its turn or by the one session that
// owns it.
unsafe impl Sync for Connection<'_> {}

/// The right to use the connection.
#[derive(Debug)]
pub(crate) struct ConnectionTurn<'t> {
    api: &'t Api,
    db: *mut c_void,
    /// `None` if one session owns the connection.
    _guard: Option<MutexGuard<'t, ()>>,
}

/// A prepared statement. It is finalized by its owner, within a turn, before the connection closes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statement(*mut c_void);

/// The bytes of a column, valid until the statement is stepped, reset or finalized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    start: *const u8,
    length: usize,
}

impl Column {
    pub(crate) const EMPTY: Self = Self {
        start: null(),
        length: 0,
    };

    /// Returns the bytes.
    ///
    /// # Safety
    /// The statement must not have been stepped, reset or finalized since.
    #[inline]
    pub(crate) const unsafe fn bytes<'b>(self) -> &'b [u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the library returned this many bytes, and the caller guarantees that they are
        // still valid.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl<'e> Connection<'e> {
    /// Opens the database in `file`, or creates an empty one to write to.
    pub(crate) fn open(api: &'e Api, file: &Path, users: Users) -> Result<Self, Fault> {
        let path = path_text(file)?;
        let mut connection = Self {
            api,
            db: null_mut(),
            turn: Mutex::new(()),
        };
        let flags = OPEN_NOMUTEX
            | match users {
                Users::One | Users::Writer => OPEN_READWRITE | OPEN_CREATE,
                Users::Reader => OPEN_READONLY,
            };
        let place = &raw mut connection.db;
        let layer = match users {
            // For exclusive use by one process: connections share the log's index in its memory.
            Users::One => c"unix-excl",
            Users::Writer | Users::Reader => c"unix",
        };
        // SAFETY: the strings are NUL-terminated; the output location is local.
        let opened = unsafe { (api.open_v2)(path.as_ptr(), place, flags, layer.as_ptr()) };
        connection.turn().check(opened)?;
        Ok(connection)
    }

    /// Waits for the right to use the connection.
    #[inline]
    pub(crate) fn turn(&self) -> ConnectionTurn<'_> {
        ConnectionTurn {
            api: self.api,
            db: self.db,
            _guard: Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Returns the right to use a connection that one session owns.
    ///
    /// # Safety
    /// No other thread may use the connection, and it must outlive the returned turn.
    #[inline]
    pub(crate) const unsafe fn own(&self) -> ConnectionTurn<'e> {
        ConnectionTurn {
            api: self.api,
            db: self.db,
            _guard: None,
        }
    }

    /// Returns whether no thread has the turn.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        self.turn.try_lock().is_ok()
    }

    /// Closes the connection; SQLite then checkpoints its log.
    pub(crate) fn close(mut self) -> Result<(), Fault> {
        // SAFETY: open, or null, for which the call does nothing; no statement is left.
        let closed = unsafe { (self.api.close)(self.db) };
        self.turn().check(closed)?;
        self.db = null_mut();
        Ok(())
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // SAFETY: open, or null, for which the call does nothing; no other user is left.
        unsafe { (self.api.close)(self.db) };
    }
}

impl ConnectionTurn<'_> {
    #[inline]
    pub(crate) fn check(&self, code: c_int) -> Result<(), Fault> {
        if code == OK {
            Ok(())
        } else {
            // SAFETY: the thread that has the turn is the only user.
            Err(unsafe { self.api.fault(self.db) })
        }
    }

    /// Runs SQL and discards its result.
    pub(crate) fn run(&self, sql: &str) -> Result<(), Fault> {
        let sql = CString::new(sql).map_err(|_| Fault::new("a NUL byte in SQL"))?;
        // SAFETY: the string is NUL-terminated; null means no callback and no error message.
        let ran = unsafe { (self.api.exec)(self.db, sql.as_ptr(), null(), null_mut(), null_mut()) };
        self.check(ran)
    }

    /// Prepares a statement for repeated use.
    pub(crate) fn prepare(&self, sql: &CStr) -> Result<Statement, Fault> {
        let mut statement = null_mut();
        let place = &raw mut statement;
        // SAFETY: the string is NUL-terminated, as -1 requires; the output location is local.
        let prepared = unsafe {
            (self.api.prepare_v3)(
                self.db,
                sql.as_ptr(),
                -1,
                PREPARE_PERSISTENT,
                place,
                null_mut::<*const c_char>(),
            )
        };
        self.check(prepared)?;
        Ok(Statement(statement))
    }

    /// Finalizes a statement.
    pub(crate) fn finalize(&self, statement: Statement) {
        // SAFETY: prepared here; its owner does not use it again. The result only repeats an
        // earlier error.
        unsafe { (self.api.finalize)(statement.0) };
    }

    /// Binds parameter `at`, counted from 1.
    ///
    /// # Safety
    /// `bytes` must stay valid until the statement is reset.
    #[inline]
    pub(crate) unsafe fn bind(
        &self,
        statement: Statement,
        at: c_int,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let length = c_int::try_from(bytes.len()).map_err(|_| Fault::new("more than 2 GiB"))?;
        let start = bytes.as_ptr().cast();
        // SAFETY: the statement is live and not being stepped; a null destructor means that the
        // bytes stay valid.
        let bound = unsafe { (self.api.bind_blob)(statement.0, at, start, length, null()) };
        self.check(bound)
    }

    /// Steps to the next row, if there is one.
    #[inline]
    pub(crate) fn step(&self, statement: Statement) -> Result<bool, Fault> {
        // SAFETY: the statement is live and its parameters are set.
        match unsafe { (self.api.step)(statement.0) } {
            ROW => Ok(true),
            DONE => Ok(false),
            _ => {
                // SAFETY: the thread that has the turn is the only user.
                let fault = unsafe { self.api.fault(self.db) };
                self.reset(statement);
                Err(fault)
            }
        }
    }

    /// Resets a statement for its next use and releases its lock on the database.
    #[inline]
    pub(crate) fn reset(&self, statement: Statement) {
        // SAFETY: the statement is live. The result only repeats the error of the last step.
        unsafe { (self.api.reset)(statement.0) };
    }

    /// Runs a statement that returns no rows.
    #[inline]
    pub(crate) fn execute(&self, statement: Statement) -> Result<(), Fault> {
        self.step(statement)?;
        self.reset(statement);
        Ok(())
    }

    /// Returns column `at`, counted from 0, of the statement's current row.
    #[inline]
    pub(crate) fn column(&self, statement: Statement, at: c_int) -> Column {
        // SAFETY: the statement is positioned on a row that has this column.
        let start = unsafe { (self.api.column_blob)(statement.0, at) };
        // SAFETY: as above; called after `column_blob`, as required.
        let length = unsafe { (self.api.column_bytes)(statement.0, at) };
        Column {
            start,
            length: usize::try_from(length).unwrap_or(0),
        }
    }

    /// Returns the first column of the first row of a query.
    pub(crate) fn ask(&self, sql: &str) -> Result<Option<String>, Fault> {
        let sql = CString::new(sql).map_err(|_| Fault::new("a NUL byte in SQL"))?;
        let statement = self.prepare(&sql)?;
        let answer = self.step(statement).map(|row| {
            row.then(|| {
                // SAFETY: the statement is positioned on a row; the string is NUL-terminated.
                let text = unsafe { (self.api.column_text)(statement.0, 0) };
                // SAFETY: null, or a string that stays valid until the statement is finalized
                // below.
                unsafe { engine_capi::copy_text(text) }
            })
            .flatten()
        });
        self.finalize(statement);
        answer
    }

    /// Checkpoints the log and empties it.
    pub(crate) fn checkpoint(&self) -> Result<(), Fault> {
        let (frames, done) = (null_mut(), null_mut());
        // SAFETY: the connection is open; null means every database; null output locations are
        // allowed.
        let ended = unsafe {
            (self.api.wal_checkpoint_v2)(self.db, null(), CHECKPOINT_TRUNCATE, frames, done)
        };
        self.check(ended)
    }

    /// Returns one of the connection's counters.
    pub(crate) fn counter(&self, which: c_int) -> Option<c_int> {
        self.status(which, false)
    }

    /// Resets a counter if it counts events; a counter that measures a size is unchanged.
    pub(crate) fn reset_counter(&self, which: c_int) -> bool {
        self.status(which, true).is_some()
    }

    fn status(&self, which: c_int, reset: bool) -> Option<c_int> {
        let (mut now, mut highest) = (0, 0);
        let (now_at, highest_at) = (&raw mut now, &raw mut highest);
        // SAFETY: the connection is open; the output locations are local.
        let reported =
            unsafe { (self.api.db_status)(self.db, which, now_at, highest_at, c_int::from(reset)) };
        (reported == OK).then_some(now)
    }
}
