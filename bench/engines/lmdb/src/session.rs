//! One thread's session in an open LMDB environment.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;

use bench_core::engine::{End, Role, Session};
use bench_core::fault::Fault;

use crate::cursor::LmdbCursor;
use crate::edit::Edit;
use crate::sys::{APPEND, Api, Bytes, CURSOR_FIRST, CURSOR_LAST, CURSOR_NEXT, NOTFOUND, RDONLY};

/// One thread's session in an open environment.
#[derive(Debug)]
pub struct LmdbSession<'s> {
    api: &'s Api,
    env: *mut c_void,
    databases: &'s [c_uint],
    /// The database of the next call.
    dbi: c_uint,
    /// The database that the cursor is in.
    scanned: c_uint,
    /// A read-only transaction: reset between reads, renewed for each.
    reader: *mut c_void,
    /// The reader's cursor, renewed for each scan.
    cursor: *mut c_void,
    /// The transaction of the batch being built, or null.
    writer: *mut c_void,
    put_flags: c_uint,
    /// The environment stays open for the lifetime of the session.
    store: PhantomData<&'s ()>,
}

impl Drop for LmdbSession<'_> {
    fn drop(&mut self) {
        if !self.writer.is_null() {
            // SAFETY: live, and not used again.
            unsafe { (self.api.txn_abort)(self.writer) };
        }
        if !self.cursor.is_null() {
            // SAFETY: live, and not used again; a reader's cursor is closed by its owner alone.
            unsafe { (self.api.cursor_close)(self.cursor) };
        }
        // SAFETY: live, and not used again.
        unsafe { (self.api.txn_abort)(self.reader) };
    }
}

impl<'s> LmdbSession<'s> {
    /// Opens a session for the calling thread, which must have no other.
    ///
    /// # Safety
    /// `env` must be an open environment of the library of `api`, `databases` open in it, at least
    /// one, and all must stay open during the lifetime of the session.
    pub(crate) unsafe fn new(
        api: &'s Api,
        env: *mut c_void,
        databases: &'s [c_uint],
        role: Role,
    ) -> Result<Self, Fault> {
        let mut reader = null_mut();
        // SAFETY: guaranteed by the caller; each thread has one session and so one reader.
        let begun = unsafe { (api.txn_begin)(env, null_mut(), RDONLY, &raw mut reader) };
        api.check(begun)?;
        let mut session = Self {
            api,
            env,
            databases,
            dbi: databases[0],
            scanned: databases[0],
            reader,
            cursor: null_mut(),
            writer: null_mut(),
            put_flags: if role.appending { APPEND } else { 0 },
            store: PhantomData,
        };
        // SAFETY: the transaction is live.
        let opened = unsafe { (api.cursor_open)(reader, session.dbi, &raw mut session.cursor) };
        // SAFETY: the transaction is live; it is renewed for each read, and the cursor for each
        // scan.
        unsafe { (api.txn_reset)(reader) };
        api.check(opened)?;
        Ok(session)
    }

    #[inline]
    fn renew(&mut self) -> Result<(), Fault> {
        // SAFETY: the reader is live and was reset.
        let renewed = unsafe { (self.api.txn_renew)(self.reader) };
        self.api.check(renewed)
    }

    #[inline]
    fn reset(&mut self) {
        // SAFETY: the reader is live.
        unsafe { (self.api.txn_reset)(self.reader) };
    }

    /// Replaces the cursor by one in the database of the next call.
    #[cold]
    fn reopen_cursor(&mut self) -> Result<(), Fault> {
        self.renew()?;
        // SAFETY: live, and not used again; a reader's cursor is closed by its owner alone.
        unsafe { (self.api.cursor_close)(self.cursor) };
        self.cursor = null_mut();
        // SAFETY: the transaction is live.
        let opened = unsafe { (self.api.cursor_open)(self.reader, self.dbi, &raw mut self.cursor) };
        self.reset();
        self.scanned = self.dbi;
        self.api.check(opened)
    }

    /// Returns the value of `key` in the renewed reader.
    #[inline]
    fn find(&self, key: &[u8]) -> Result<Option<&[u8]>, Fault> {
        let (mut key, mut value) = (Bytes::of(key), Bytes::EMPTY);
        // SAFETY: the reader is live; the library only reads the key.
        let got = unsafe { (self.api.get)(self.reader, self.dbi, &raw mut key, &raw mut value) };
        if got == 0 {
            // SAFETY: the library filled the view; its bytes stay valid until the reader is reset,
            // which borrows the session again.
            let bytes =
                unsafe { std::slice::from_raw_parts(value.start.cast::<u8>(), value.length) };
            Ok(Some(bytes))
        } else if got == NOTFOUND {
            Ok(None)
        } else {
            self.api.check(got).map(|()| None)
        }
    }

    #[inline]
    fn begin(&mut self) -> Result<(), Fault> {
        // SAFETY: the environment is open and this thread has no other write transaction.
        let begun = unsafe { (self.api.txn_begin)(self.env, null_mut(), 0, &raw mut self.writer) };
        self.api.check(begun)
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Fault> {
        // SAFETY: live; the library frees it whatever the result.
        let committed = unsafe { (self.api.txn_commit)(self.writer) };
        self.writer = null_mut();
        self.api.check(committed)
    }

    #[inline]
    fn put_in(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (mut key, mut value) = (Bytes::of(key), Bytes::of(value));
        // SAFETY: the transaction is live; the library reads the bytes and copies them.
        let put = unsafe {
            (self.api.put)(
                self.writer,
                self.dbi,
                &raw mut key,
                &raw mut value,
                self.put_flags,
            )
        };
        self.api.check(put)
    }

    #[inline]
    fn delete_in(&mut self, key: &[u8]) -> Result<(), Fault> {
        let mut key = Bytes::of(key);
        let deleted: c_int =
            // SAFETY: the transaction is live; the library only reads the key.
            unsafe { (self.api.del)(self.writer, self.dbi, &raw mut key, null_mut()) };
        if deleted == NOTFOUND {
            return Ok(());
        }
        self.api.check(deleted)
    }

    /// Runs changes with a cursor in a transaction, which an error aborts.
    #[inline]
    fn edit<R>(
        &mut self,
        change: impl FnOnce(&mut Edit<'_>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        self.begin()?;
        // The cursor is closed before the transaction ends.
        let changed =
            Edit::new(self.api, self.writer, self.dbi).and_then(|mut edit| change(&mut edit));
        match changed {
            Ok(result) => self.commit().map(|()| result),
            Err(fault) => {
                // SAFETY: live, and not used again.
                unsafe { (self.api.txn_abort)(self.writer) };
                self.writer = null_mut();
                Err(fault)
            }
        }
    }
}

impl Session for LmdbSession<'_> {
    type Cursor<'c>
        = LmdbCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.dbi = self.databases[keyspace as usize];
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.begin()?;
        self.put_in(key, value)?;
        self.commit()
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.begin()?;
        self.delete_in(key)?;
        self.commit()
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        self.renew()?;
        let result = self.find(key).map(|value| value.map(found));
        self.reset();
        result
    }

    /// Reads all keys in one read transaction.
    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        self.renew()?;
        let mut keys = keys.iter().enumerate();
        let result = keys.try_for_each(|(index, key)| {
            each(index, self.find(key)?);
            Ok(())
        });
        self.reset();
        result
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        if self.writer.is_null() {
            self.begin()?;
        }
        self.put_in(key, value)
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        if self.writer.is_null() {
            self.begin()?;
        }
        self.delete_in(key)
    }

    /// Writes the dirty pages of the map.
    fn sync(&mut self) -> Result<(), Fault> {
        self.api.sync(self.env)
    }

    #[inline]
    fn pop<R>(
        &mut self,
        end: End,
        popped: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        self.edit(|edit| {
            let operation = match end {
                End::First => CURSOR_FIRST,
                End::Last => CURSOR_LAST,
            };
            if !edit.go(operation)? {
                return Ok(None);
            }
            let (key, value) = edit.entry();
            let result = popped(key, value);
            edit.delete()?;
            Ok(Some(result))
        })
    }

    fn extract(
        &mut self,
        (from, to): (&[u8], &[u8]),
        mut wanted: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Fault> {
        self.edit(|edit| {
            let mut found = edit.seek(from)?;
            while found {
                let (key, value) = edit.entry();
                if key >= to {
                    break;
                }
                if wanted(key, value) {
                    edit.delete()?;
                }
                found = edit.go(CURSOR_NEXT)?;
            }
            Ok(())
        })
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        if self.writer.is_null() {
            Ok(())
        } else {
            self.commit()
        }
    }

    #[inline]
    fn cursor(&mut self) -> Result<LmdbCursor<'_>, Fault> {
        if self.scanned != self.dbi {
            self.reopen_cursor()?;
        }
        LmdbCursor::new(self.api, self.reader, self.cursor)
    }
}
