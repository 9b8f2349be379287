//! One thread's session and its cursor.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, c_int};

use bench_core::engine::Session;
use bench_core::fault::Fault;

use crate::connection::{Connection, OwnedSession, TABLE};
use crate::cursor::TigerCursor;
use crate::item::{set_key, set_value, shown, stored};
use crate::structs::{Cursor, Item, Session as Raw};
use crate::sys::{NOTFOUND, ROLLBACK, open_cursor, step};

/// Maximum number of retries of a write that conflicts with another one.
const TRIES: u32 = 10_000;

/// One thread's session in an open table.
#[derive(Debug)]
pub struct TigerSession<'s> {
    connection: &'s Connection<'s>,
    /// Whether keys and values are NUL-terminated strings.
    zero_ended: bool,
    /// The cursor for all operations, closed with the session.
    cursor: *mut Cursor,
    /// Whether `cursor` is a bulk cursor, which can only insert.
    is_bulk: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    batch: Batch,
    session: OwnedSession,
}

/// Changes of a pending transaction: contiguous keys and values, and their end offsets.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The ends of each key and, unless the key is deleted, of its value.
    ends: Vec<(usize, Option<usize>)>,
}

impl Batch {
    #[inline]
    fn push(&mut self, key: &[u8], value: Option<&[u8]>, zero_ended: bool) {
        let zero: &[u8] = if zero_ended { b"\0" } else { b"" };
        let mut append = |part: &[u8]| {
            self.bytes.extend_from_slice(part);
            self.bytes.extend_from_slice(zero);
            self.bytes.len()
        };
        let middle = append(key);
        let end = value.map(append);
        self.ends.push((middle, end));
    }

    fn changes(&self) -> impl Iterator<Item = (Item, Option<Item>)> {
        let mut start = 0;
        self.ends.iter().map(move |&(middle, end)| {
            let change = (
                Item::of(&self.bytes[start..middle]),
                end.map(|end| Item::of(&self.bytes[middle..end])),
            );
            start = end.unwrap_or(middle);
            change
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

impl<'s> TigerSession<'s> {
    pub(crate) fn new(
        connection: &'s Connection<'s>,
        zero_ended: bool,
        is_bulk: bool,
    ) -> Result<Self, Fault> {
        let session = connection.open_session()?;
        let config = if is_bulk { c"raw,bulk" } else { c"raw" };
        let cursor = open(connection, &session, config)?;
        Ok(Self {
            connection,
            zero_ended,
            cursor,
            is_bulk,
            key: Vec::new(),
            value: Vec::new(),
            batch: Batch::default(),
            session,
        })
    }

    #[inline]
    fn check(&self, result: c_int) -> Result<(), Fault> {
        self.connection.check(result)
    }

    /// Ensures that the cursor can do more than insert.
    #[inline]
    fn any_use(&mut self) -> Result<(), Fault> {
        if self.is_bulk {
            self.end_bulk()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn end_bulk(&mut self) -> Result<(), Fault> {
        self.is_bulk = false;
        let closed = step!(self.cursor, close);
        self.check(closed)?;
        self.cursor = open(self.connection, &self.session, c"raw")?;
        Ok(())
    }

    /// Retries a write that conflicts with that of another thread.
    #[cold]
    fn again(&self, mut write: impl FnMut() -> c_int) -> Result<(), Fault> {
        let mut result = ROLLBACK;
        for _ in 0..TRIES {
            std::thread::yield_now();
            result = write();
            if result != ROLLBACK {
                break;
            }
        }
        self.check(result)
    }

    /// Applies the batch in a transaction; if the result is not 0, the transaction was rolled back.
    fn commit(&self) -> c_int {
        let begun = self.act(|session| session.begin_transaction, c"");
        if begun != 0 {
            return begun;
        }
        for (key, value) in self.batch.changes() {
            set_key(self.cursor, &key);
            let changed = if let Some(value) = value {
                set_value(self.cursor, &value);
                step!(self.cursor, insert)
            } else {
                match step!(self.cursor, remove) {
                    NOTFOUND => 0,
                    removed => removed,
                }
            };
            if changed != 0 {
                // The first error is the one to report.
                let _ = self.act(|session| session.rollback_transaction, c"");
                return changed;
            }
        }
        // A commit that fails has rolled back.
        self.act(|session| session.commit_transaction, c"")
    }

    /// Calls a function of the session that takes settings.
    fn act(
        &self,
        function: impl FnOnce(&Raw) -> unsafe extern "C" fn(*mut Raw, *const std::ffi::c_char) -> c_int,
        settings: &CStr,
    ) -> c_int {
        // SAFETY: the session is live.
        let function = function(unsafe { &*self.session.0 });
        // SAFETY: as above.
        unsafe { function(self.session.0, settings.as_ptr()) }
    }
}

fn open(
    connection: &Connection<'_>,
    session: &OwnedSession,
    config: &CStr,
) -> Result<*mut Cursor, Fault> {
    open_cursor(session.0, TABLE, config).map_err(|result| {
        let reported = connection.check(result).err();
        reported.unwrap_or_else(|| Fault::new("the cursor was not opened"))
    })
}

impl Session for TigerSession<'_> {
    type Cursor<'c>
        = TigerCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (cursor, zero_ended) = (self.cursor, self.zero_ended);
        let key = stored(key, &mut self.key, zero_ended);
        let value = stored(value, &mut self.value, zero_ended);
        let insert = || {
            set_key(cursor, &key);
            set_value(cursor, &value);
            step!(cursor, insert)
        };
        match insert() {
            ROLLBACK => self.again(insert),
            result => self.check(result),
        }
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.any_use()?;
        let cursor = self.cursor;
        let key = stored(key, &mut self.key, self.zero_ended);
        let remove = || {
            set_key(cursor, &key);
            step!(cursor, remove)
        };
        match remove() {
            ROLLBACK => self.again(remove),
            NOTFOUND => Ok(()),
            result => self.check(result),
        }
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        self.any_use()?;
        let (cursor, zero_ended) = (self.cursor, self.zero_ended);
        set_key(cursor, &stored(key, &mut self.key, zero_ended));
        match step!(cursor, search) {
            0 => {}
            NOTFOUND => return Ok(None),
            result => return self.check(result).map(|()| None),
        }
        let mut value = Item::EMPTY;
        // SAFETY: the cursor is live.
        let get_value = unsafe { (*cursor).get_value };
        // SAFETY: the cursor is positioned on an entry; raw values are items.
        let got = unsafe { get_value(cursor, &raw mut value) };
        self.check(got)?;
        let result = found(shown(&value, zero_ended));
        // Releases the page, so that the cache may evict it.
        let reset = step!(cursor, reset);
        self.check(reset)?;
        Ok(Some(result))
    }

    /// Reads all keys in one transaction, which reads as of its first get.
    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        self.any_use()?;
        let begun = self.act(|session| session.begin_transaction, c"isolation=snapshot");
        self.check(begun)?;
        let result = self.get_each(keys, each);
        let ended = if result.is_ok() {
            self.act(|session| session.commit_transaction, c"")
        } else {
            self.act(|session| session.rollback_transaction, c"")
        };
        result.and_then(|()| self.check(ended))
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.batch.push(key, Some(value), self.zero_ended);
        Ok(())
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.batch.push(key, None, self.zero_ended);
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        self.any_use()?;
        let result = match self.commit() {
            ROLLBACK => self.again(|| self.commit()),
            result => self.check(result),
        };
        self.batch.clear();
        result
    }

    /// Returns the session's own cursor: it pins nothing between two uses, and a new one would only
    /// add cost.
    #[inline]
    fn cursor(&mut self) -> Result<TigerCursor<'_>, Fault> {
        self.any_use()?;
        Ok(TigerCursor::new(
            self.connection,
            self.zero_ended,
            self.cursor,
            &mut self.key,
        ))
    }
}
