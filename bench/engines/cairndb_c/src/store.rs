//! An open database, one thread's session, and its cursor.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use bench_core::engine::{self, Durability, Quiet, Role};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use engine_capi::path_text;

use crate::sys::Api;

const DURABILITY_OS: u32 = 2;
const DURABILITY_SYNC: u32 = 3;
/// Room for the values of most workloads; a longer one takes a second call.
const BUFFER_BYTES: usize = 64 << 10;

/// An open database.
#[derive(Debug)]
pub struct Store<'e> {
    api: &'e Api,
    db: *mut c_void,
    asked: Settings,
}

// SAFETY: all threads may use a database's handle.
unsafe impl Sync for Store<'_> {}

impl<'e> Store<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let name = path_text(dir)?;
        let budget = usize::try_from(settings.memory.total_bytes)
            .map_err(|_| Fault::new("more memory than can be addressed"))?;
        // SAFETY: takes no arguments, returns an owned object that is destroyed below.
        let options = unsafe { (api.options_create)() };
        // SAFETY: the options are live, here and in the setters below.
        unsafe { (api.options_set_create_if_missing)(options, true) };
        // SAFETY: as above.
        unsafe { (api.options_set_memory_budget)(options, budget) };
        // SAFETY: as above.
        unsafe { (api.options_set_compression)(options, settings.compression.into()) };
        if let Some(bits) = settings.bloom_bits {
            // SAFETY: as above.
            unsafe { (api.options_set_filter_bits_per_key)(options, bits) };
        }
        let mut db = null_mut();
        // SAFETY: the options are live and the name is a string.
        let error = unsafe { (api.open)(options, name.as_ptr(), &raw mut db) };
        // SAFETY: the database has its own copy.
        unsafe { (api.options_destroy)(options) };
        api.outcome(error)?;
        Ok(Self {
            api,
            db,
            asked: *settings,
        })
    }

    fn figure(&self, property: &str, field: &str) -> Option<u64> {
        let (property, field) = (CString::new(property).ok()?, CString::new(field).ok()?);
        let mut number = 0;
        let number_at = &raw mut number;
        // SAFETY: both are strings; the database's handle is checked.
        let error =
            unsafe { (self.api.figure)(self.db, property.as_ptr(), field.as_ptr(), number_at) };
        self.api.outcome(error).ok()?;
        Some(number)
    }
}

impl Drop for Store<'_> {
    fn drop(&mut self) {
        if !self.db.is_null() {
            // SAFETY: takes any handle.
            let error = unsafe { (self.api.close)(self.db) };
            let _ = self.api.outcome(error);
        }
    }
}

impl engine::Store for Store<'_> {
    type Session<'s>
        = Session<'s>
    where
        Self: 's;

    fn session(&self, role: Role) -> Result<Session<'_>, Fault> {
        let mut batch = null_mut();
        // SAFETY: the address is that of a handle.
        let error = unsafe { (self.api.batch_create)(&raw mut batch) };
        self.api.outcome(error)?;
        Ok(Session {
            api: self.api,
            db: self.db,
            batch,
            buffer: vec![0; BUFFER_BYTES],
            durability: match role.durability {
                Durability::Os => DURABILITY_OS,
                Durability::Sync => DURABILITY_SYNC,
            },
        })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        // SAFETY: null ends mean the whole range.
        let error = unsafe { (self.api.compact_range)(self.db, null(), 0, null(), 0) };
        self.api.outcome(error)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.flush)(self.db) };
        self.api.outcome(error)
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        let mut done = false;
        // SAFETY: the address is that of a truth value.
        let error = unsafe { (self.api.wait_idle)(self.db, u64::MAX, &raw mut done) };
        self.api.outcome(error)?;
        Ok(Quiet::Known)
    }

    fn property(&self, name: &str) -> Option<String> {
        let name = match name {
            "statistics" => "cairndb.stats",
            name => name,
        };
        let name = CString::new(name).ok()?;
        let mut text = null_mut();
        // SAFETY: the name is a string.
        let error = unsafe { (self.api.property)(self.db, name.as_ptr(), &raw mut text) };
        self.api.outcome(error).ok()?;
        self.api.text(text)
    }

    fn bytes_written(&self) -> Option<u64> {
        self.figure("cairndb.stats", "written_bytes")
    }

    fn options(&self) -> Vec<(String, String)> {
        let budget = self.figure("cairndb.memory", "budget");
        let budget = budget.map(|bytes| ("memory_budget".to_owned(), bytes.to_string()));
        let compression = if self.asked.compression {
            "fast"
        } else {
            "none"
        };
        let compression = ("compression".to_owned(), compression.to_owned());
        let all = budget.into_iter().chain([compression]);
        all.chain(self.asked.unused()).collect()
    }

    fn close(mut self) -> Result<(), Fault> {
        let db = std::mem::replace(&mut self.db, null_mut());
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.close)(db) };
        self.api.outcome(error)
    }
}

/// One thread's session in an open database.
#[derive(Debug)]
pub struct Session<'s> {
    api: &'s Api,
    db: *mut c_void,
    batch: *mut c_void,
    buffer: Vec<u8>,
    durability: u32,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.batch_destroy)(self.batch) };
        let _ = self.api.outcome(error);
    }
}

impl Session<'_> {
    /// Reads a value that is longer than the buffer, where it lies.
    #[inline(never)]
    fn get_in_place<R>(
        &self,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        let mut value = null_mut();
        // SAFETY: the length belongs to a live slice.
        let error =
            unsafe { (self.api.get)(self.db, null_mut(), key.as_ptr(), key.len(), &raw mut value) };
        self.api.outcome(error)?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: the value is live.
        let (data, len) = (unsafe { (self.api.value_data)(value) }, unsafe {
            (self.api.value_len)(value)
        });
        // SAFETY: the value has these bytes until it is destroyed.
        let result = found(unsafe { std::slice::from_raw_parts(data, len) });
        // SAFETY: the value is not used any more.
        unsafe { (self.api.value_destroy)(value) };
        Ok(Some(result))
    }
}

impl engine::Session for Session<'_> {
    type Cursor<'c>
        = Cursor<'c>
    where
        Self: 'c;

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (key_at, value_at) = (key.as_ptr(), value.as_ptr());
        // SAFETY: lengths belong to live slices, which the library copies.
        let error = unsafe {
            (self.api.put)(
                self.db,
                key_at,
                key.len(),
                value_at,
                value.len(),
                self.durability,
            )
        };
        self.api.outcome(error)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the length belongs to a live slice.
        let error = unsafe { (self.api.delete)(self.db, key.as_ptr(), key.len(), self.durability) };
        self.api.outcome(error)
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let (mut len, mut there) = (0, false);
        let (len_at, there_at) = (&raw mut len, &raw mut there);
        let (to, room) = (self.buffer.as_mut_ptr(), self.buffer.len());
        // SAFETY: the length belongs to a live slice, and the buffer has that much room.
        let error = unsafe {
            (self.api.get_into)(
                self.db,
                null_mut(),
                key.as_ptr(),
                key.len(),
                to,
                room,
                len_at,
                there_at,
            )
        };
        self.api.outcome(error)?;
        if !there {
            return Ok(None);
        }
        match self.buffer.get(..len) {
            Some(value) => Ok(Some(found(value))),
            None => self.get_in_place(key, found),
        }
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (key_at, value_at) = (key.as_ptr(), value.as_ptr());
        // SAFETY: lengths belong to live slices, which the library copies.
        let error =
            unsafe { (self.api.batch_put)(self.batch, key_at, key.len(), value_at, value.len()) };
        self.api.outcome(error)
    }

    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: takes any handle; the length belongs to a live slice, which the library copies.
        let error = unsafe { (self.api.batch_delete)(self.batch, key.as_ptr(), key.len()) };
        self.api.outcome(error)
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        // SAFETY: takes any handles.
        let error = unsafe { (self.api.write)(self.db, self.batch, self.durability) };
        // SAFETY: takes any handle.
        let cleared = unsafe { (self.api.batch_clear)(self.batch) };
        self.api.outcome(error).and(self.api.outcome(cleared))
    }

    fn cursor(&mut self) -> Result<Cursor<'_>, Fault> {
        let mut iter = null_mut();
        // SAFETY: the address is that of a handle.
        let error = unsafe { (self.api.iter_create)(self.db, null_mut(), &raw mut iter) };
        self.api.outcome(error)?;
        Ok(Cursor {
            api: self.api,
            iter,
        })
    }
}

/// An iterator of the library.
#[derive(Debug)]
pub struct Cursor<'c> {
    api: &'c Api,
    iter: *mut c_void,
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.iter_destroy)(self.iter) };
        let _ = self.api.outcome(error);
    }
}

impl engine::Cursor for Cursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.iter_seek_to_first)(self.iter) };
        self.api.outcome(error)
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.iter_seek_to_last)(self.iter) };
        self.api.outcome(error)
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the length belongs to a live slice.
        let error = unsafe { (self.api.iter_seek)(self.iter, key.as_ptr(), key.len()) };
        self.api.outcome(error)
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.iter_next)(self.iter) };
        self.api.outcome(error)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        // SAFETY: takes any handle.
        let error = unsafe { (self.api.iter_prev)(self.iter) };
        self.api.outcome(error)
    }

    #[inline]
    fn valid(&self) -> bool {
        // SAFETY: takes any handle.
        unsafe { (self.api.iter_valid)(self.iter) }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        debug_assert!(self.valid(), "a key without an entry");
        let mut len = 0;
        // SAFETY: the address is that of a length.
        let bytes = unsafe { (self.api.iter_key)(self.iter, &raw mut len) };
        // SAFETY: the bytes stay valid until the next move, which needs this cursor unborrowed.
        unsafe { std::slice::from_raw_parts(bytes, len) }
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        debug_assert!(self.valid(), "a value without an entry");
        let mut len = 0;
        // SAFETY: the address is that of a length.
        let bytes = unsafe { (self.api.iter_value)(self.iter, &raw mut len) };
        // SAFETY: as for the key.
        Ok(unsafe { std::slice::from_raw_parts(bytes, len) })
    }

    fn check(&self) -> Result<(), Fault> {
        // Every move has reported its own error.
        Ok(())
    }
}
