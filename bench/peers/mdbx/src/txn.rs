//! Transactions and cursors, safe to call: borrows keep bytes of the map from outliving the
//! transaction that they are read in.

#![expect(unsafe_code, reason = "calls libmdbx, a C library")]

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::{NonNull, null, null_mut};

use bench_core::fault::Fault;
use mdbx_sys as sys;

use crate::env::{Env, check};

/// A view of no bytes.
const EMPTY: sys::MDBX_val = sys::MDBX_val {
    iov_base: null_mut(),
    iov_len: 0,
};

/// Creates a view of bytes that the library only reads.
#[inline]
const fn view(bytes: &[u8]) -> sys::MDBX_val {
    sys::MDBX_val {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

/// Returns the bytes of a view.
///
/// # Safety
/// The library must have filled the view, and its transaction must neither end nor change the entry
/// during `'v`.
#[inline]
const unsafe fn bytes<'v>(view: sys::MDBX_val) -> &'v [u8] {
    if view.iov_len == 0 {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(view.iov_base.cast::<u8>(), view.iov_len) }
}

fn begin(env: &Env, flags: sys::MDBX_txn_flags_t) -> Result<NonNull<sys::MDBX_txn>, Fault> {
    let mut raw = null_mut();
    // SAFETY: the environment is open and the output location is live.
    check(unsafe {
        sys::mdbx_txn_begin_ex(env.as_ptr(), null_mut(), flags, &raw mut raw, null_mut())
    })?;
    NonNull::new(raw).ok_or_else(|| Fault::new("no transaction"))
}

/// A read transaction that has not begun, or was reset.
#[derive(Debug)]
pub(crate) struct Reader<'e> {
    raw: NonNull<sys::MDBX_txn>,
    env: PhantomData<&'e Env>,
}

impl<'e> Reader<'e> {
    pub(crate) fn new(env: &'e Env) -> Result<Self, Fault> {
        Ok(Self {
            raw: begin(env, sys::MDBX_TXN_RDONLY_PREPARE)?,
            env: PhantomData,
        })
    }

    /// Begins the transaction, which ends with the returned value.
    #[inline]
    pub(crate) fn renew(&mut self) -> Result<Reading<'_>, Fault> {
        // SAFETY: live, and not begun.
        check(unsafe { sys::mdbx_txn_renew(self.raw.as_ptr()) })?;
        Ok(Reading {
            raw: self.raw,
            reader: PhantomData,
        })
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // SAFETY: live, and not used again; the environment is still open.
        unsafe { sys::mdbx_txn_abort_ex(self.raw.as_ptr(), null_mut()) };
    }
}

/// A read transaction that has begun.
#[derive(Debug)]
pub(crate) struct Reading<'r> {
    raw: NonNull<sys::MDBX_txn>,
    reader: PhantomData<&'r mut ()>,
}

impl<'r> Reading<'r> {
    /// Returns the value of `key`.
    #[inline]
    pub(crate) fn get(&self, dbi: sys::MDBX_dbi, key: &[u8]) -> Result<Option<&[u8]>, Fault> {
        let (key, mut value) = (view(key), EMPTY);
        // SAFETY: the transaction is live; the library only reads the key.
        let got = unsafe { sys::mdbx_get(self.raw.as_ptr(), dbi, &raw const key, &raw mut value) };
        if got == sys::MDBX_NOTFOUND {
            return Ok(None);
        }
        check(got)?;
        // SAFETY: filled by the library; the snapshot does not change until the transaction ends,
        // which the borrow prevents.
        Ok(Some(unsafe { bytes(value) }))
    }

    /// Starts a scan, which ends the transaction.
    #[inline]
    pub(crate) fn scan(
        self,
        cursor: &'r mut Cursor,
        dbi: sys::MDBX_dbi,
    ) -> Result<Scan<'r>, Fault> {
        Ok(Scan {
            place: Place::new(self.raw, cursor, dbi)?,
            _reading: self,
        })
    }
}

impl Drop for Reading<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: live, and begun by `renew`; its bytes are borrowed from this value.
        unsafe { sys::mdbx_txn_reset(self.raw.as_ptr()) };
    }
}

/// A transaction of its own, which is aborted unless it is committed.
#[derive(Debug)]
pub(crate) struct Txn<'e> {
    raw: NonNull<sys::MDBX_txn>,
    env: PhantomData<&'e Env>,
}

impl<'e> Txn<'e> {
    /// Begins a transaction that reads and writes; waits for the end of another one.
    #[inline]
    pub(crate) fn write(env: &'e Env) -> Result<Self, Fault> {
        Ok(Self {
            raw: begin(env, sys::MDBX_TXN_READWRITE)?,
            env: PhantomData,
        })
    }

    /// Begins a transaction that only reads.
    pub(crate) fn read(env: &'e Env) -> Result<Self, Fault> {
        Ok(Self {
            raw: begin(env, sys::MDBX_TXN_RDONLY)?,
            env: PhantomData,
        })
    }

    /// Opens a database, which stays open after the commit; `None` if there is none of that name.
    /// No name means the unnamed one.
    pub(crate) fn open(
        &mut self,
        name: Option<&CStr>,
        flags: sys::MDBX_db_flags_t,
    ) -> Result<Option<sys::MDBX_dbi>, Fault> {
        let name = name.map_or(null(), CStr::as_ptr);
        let mut dbi = 0;
        // SAFETY: the transaction is live; the name is null or NUL-terminated.
        let opened = unsafe { sys::mdbx_dbi_open(self.raw.as_ptr(), name, flags, &raw mut dbi) };
        if opened == sys::MDBX_NOTFOUND {
            return Ok(None);
        }
        check(opened).map(|()| Some(dbi))
    }

    /// Deletes a database.
    pub(crate) fn drop_database(&mut self, dbi: sys::MDBX_dbi) -> Result<(), Fault> {
        // SAFETY: the transaction is live; an unknown number is an error.
        check(unsafe { sys::mdbx_drop(self.raw.as_ptr(), dbi, true) })
    }

    #[inline]
    pub(crate) fn put(
        &mut self,
        dbi: sys::MDBX_dbi,
        key: &[u8],
        value: &[u8],
        flags: sys::MDBX_put_flags_t,
    ) -> Result<(), Fault> {
        let (key, mut value) = (view(key), view(value));
        // SAFETY: the transaction is live; without flags that return a value, the library reads the
        // bytes and copies them.
        check(unsafe {
            sys::mdbx_put(
                self.raw.as_ptr(),
                dbi,
                &raw const key,
                &raw mut value,
                flags,
            )
        })
    }

    /// Deletes a key, whether or not it is present.
    #[inline]
    pub(crate) fn delete(&mut self, dbi: sys::MDBX_dbi, key: &[u8]) -> Result<(), Fault> {
        let key = view(key);
        // SAFETY: the transaction is live; the library only reads the key.
        let deleted = unsafe { sys::mdbx_del(self.raw.as_ptr(), dbi, &raw const key, null()) };
        if deleted == sys::MDBX_NOTFOUND {
            return Ok(());
        }
        check(deleted)
    }

    /// Starts changes with a cursor.
    #[inline]
    pub(crate) fn edit<'t>(
        &'t mut self,
        cursor: &'t mut Cursor,
        dbi: sys::MDBX_dbi,
    ) -> Result<Edit<'t>, Fault> {
        Ok(Edit {
            place: Place::new(self.raw, cursor, dbi)?,
        })
    }

    /// Deletes the keys from `from` to before `to`.
    pub(crate) fn delete_range(
        &mut self,
        dbi: sys::MDBX_dbi,
        (begin, from): (&mut Cursor, &[u8]),
        (end, to): (&mut Cursor, &[u8]),
    ) -> Result<(), Fault> {
        let mut begin = Place::new(self.raw, begin, dbi)?;
        begin.seek(from)?;
        if !begin.valid || begin.key() >= to {
            return Ok(());
        }
        let mut end = Place::new(self.raw, end, dbi)?;
        end.seek(to)?;
        let end = if end.valid { end.raw } else { null_mut() };
        let (included, mut count) = (false, 0);
        // SAFETY: both cursors are bound to the live transaction; null means up to the last entry.
        check(unsafe { sys::mdbx_cursor_delete_range(begin.raw, end, included, &raw mut count) })
    }

    #[inline]
    pub(crate) fn commit(self) -> Result<(), Fault> {
        let raw = self.raw.as_ptr();
        std::mem::forget(self);
        // SAFETY: live; the library frees it whatever the result.
        check(unsafe { sys::mdbx_txn_commit_ex(raw, null_mut()) })
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        // SAFETY: live, and not used again.
        unsafe { sys::mdbx_txn_abort_ex(self.raw.as_ptr(), null_mut()) };
    }
}

/// A cursor, which is bound to a transaction for each use; the end of the transaction unbinds it.
#[derive(Debug)]
pub(crate) struct Cursor {
    raw: NonNull<sys::MDBX_cursor>,
}

impl Cursor {
    pub(crate) fn new() -> Result<Self, Fault> {
        // SAFETY: returns an owned cursor, or null without memory.
        let raw = unsafe { sys::mdbx_cursor_create(null_mut()) };
        let raw = NonNull::new(raw).ok_or_else(|| Fault::new("no memory for a cursor"))?;
        Ok(Self { raw })
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: live, and not used again; a transaction that it is bound to is live too.
        unsafe { sys::mdbx_cursor_close2(self.raw.as_ptr()) };
    }
}

/// A cursor in a live transaction.
#[derive(Debug)]
pub(crate) struct Place<'t> {
    raw: *mut sys::MDBX_cursor,
    key: sys::MDBX_val,
    value: sys::MDBX_val,
    valid: bool,
    cursor: PhantomData<&'t mut Cursor>,
}

impl<'t> Place<'t> {
    /// Binds a cursor to a transaction, which must be live during `'t`.
    #[inline]
    fn new(
        txn: NonNull<sys::MDBX_txn>,
        cursor: &'t mut Cursor,
        dbi: sys::MDBX_dbi,
    ) -> Result<Self, Fault> {
        let raw = cursor.raw.as_ptr();
        // SAFETY: the cursor and the transaction are live.
        check(unsafe { sys::mdbx_cursor_bind(txn.as_ptr(), raw, dbi) })?;
        Ok(Self {
            raw,
            key: EMPTY,
            value: EMPTY,
            valid: false,
            cursor: PhantomData,
        })
    }

    /// Moves the cursor. Only `seek` uses an operation that reads the key.
    #[inline]
    fn go(&mut self, operation: sys::MDBX_cursor_op) -> Result<(), Fault> {
        let (key, value) = (&raw mut self.key, &raw mut self.value);
        // SAFETY: the cursor and its transaction are live, and so are the output locations.
        let went = unsafe { sys::mdbx_cursor_get(self.raw, key, value, operation) };
        self.valid = went == sys::MDBX_SUCCESS;
        if went == sys::MDBX_NOTFOUND {
            return Ok(());
        }
        check(went)
    }

    /// Moves to the first entry at or after `key`.
    #[inline]
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.key = view(key);
        self.go(sys::MDBX_SET_RANGE)
    }

    #[inline]
    pub(crate) fn first(&mut self) -> Result<(), Fault> {
        self.go(sys::MDBX_FIRST)
    }

    #[inline]
    pub(crate) fn last(&mut self) -> Result<(), Fault> {
        self.go(sys::MDBX_LAST)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<(), Fault> {
        self.go(sys::MDBX_NEXT)
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<(), Fault> {
        self.go(sys::MDBX_PREV)
    }

    #[inline]
    pub(crate) const fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        assert!(self.valid, "a key without an entry");
        // SAFETY: filled by the library; the transaction lives, and only a call that borrows this
        // value mutably changes the entry.
        unsafe { bytes(self.key) }
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        assert!(self.valid, "a value without an entry");
        // SAFETY: as for the key.
        unsafe { bytes(self.value) }
    }
}

/// A cursor in a read transaction, which ends with it.
#[derive(Debug)]
pub(crate) struct Scan<'r> {
    pub(crate) place: Place<'r>,
    _reading: Reading<'r>,
}

/// A cursor in a write transaction.
#[derive(Debug)]
pub(crate) struct Edit<'t> {
    pub(crate) place: Place<'t>,
}

impl Edit<'_> {
    /// Deletes the current entry; the next step comes to the one after it.
    #[inline]
    pub(crate) fn delete(&mut self) -> Result<(), Fault> {
        self.place.valid = false;
        // SAFETY: the cursor is bound to a live write transaction.
        check(unsafe { sys::mdbx_cursor_del(self.place.raw, sys::MDBX_CURRENT) })
    }
}
