//! RocksDB through its C interface: column families, snapshots and bounded iterators.

#![expect(unsafe_code, reason = "functions of a C library, looked up by name")]

use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null_mut, slice_from_raw_parts, slice_from_raw_parts_mut};

use engine_capi::{api, functions};

use crate::{Change, Effect, FAMILIES, Range};

const NAMES: &[&str] = &["librocksdb.so.7.8", "librocksdb.so.7", "librocksdb.so"];

type ErrorPointer = *mut *mut c_char;
type Compare = extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
type FullMerge = extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const u8,
    usize,
    *const *const u8,
    *const usize,
    c_int,
    *mut c_uchar,
    *mut usize,
) -> *mut u8;
type PartialMerge = extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const *const u8,
    *const usize,
    c_int,
    *mut c_uchar,
    *mut usize,
) -> *mut u8;
type Delete = extern "C" fn(*mut c_void, *mut u8, usize);
type NameOf = extern "C" fn(*mut c_void) -> *const c_char;
type Destroy = extern "C" fn(*mut c_void);

// The types are those of RocksDB's c.h of 7.8, which later versions keep.
functions! {
    "RocksDB", "rocksdb_";
    open_column_families: fn(*mut c_void, *const c_char, c_int, *const *const c_char, *const *mut c_void, *mut *mut c_void, ErrorPointer) -> *mut c_void;
    close: fn(*mut c_void);
    create_column_family: fn(*mut c_void, *mut c_void, *const c_char, ErrorPointer) -> *mut c_void;
    drop_column_family: fn(*mut c_void, *mut c_void, ErrorPointer);
    column_family_handle_destroy: fn(*mut c_void);
    options_create: fn() -> *mut c_void;
    options_set_create_if_missing: fn(*mut c_void, c_uchar);
    options_set_create_missing_column_families: fn(*mut c_void, c_uchar);
    options_set_merge_operator: fn(*mut c_void, *mut c_void);
    options_set_comparator: fn(*mut c_void, *mut c_void);
    mergeoperator_create: fn(*mut c_void, Destroy, FullMerge, PartialMerge, Delete, NameOf) -> *mut c_void;
    comparator_create: fn(*mut c_void, Destroy, Compare, NameOf) -> *mut c_void;
    writeoptions_create: fn() -> *mut c_void;
    writebatch_create: fn() -> *mut c_void;
    writebatch_destroy: fn(*mut c_void);
    writebatch_put_cf: fn(*mut c_void, *mut c_void, *const u8, usize, *const u8, usize);
    writebatch_merge_cf: fn(*mut c_void, *mut c_void, *const u8, usize, *const u8, usize);
    writebatch_delete_cf: fn(*mut c_void, *mut c_void, *const u8, usize);
    writebatch_delete_range_cf: fn(*mut c_void, *mut c_void, *const u8, usize, *const u8, usize);
    write: fn(*mut c_void, *mut c_void, *mut c_void, ErrorPointer);
    readoptions_create: fn() -> *mut c_void;
    readoptions_destroy: fn(*mut c_void);
    readoptions_set_snapshot: fn(*mut c_void, *const c_void);
    readoptions_set_iterate_lower_bound: fn(*mut c_void, *const u8, usize);
    readoptions_set_iterate_upper_bound: fn(*mut c_void, *const u8, usize);
    create_snapshot: fn(*mut c_void) -> *const c_void;
    release_snapshot: fn(*mut c_void, *const c_void);
    get_cf: fn(*mut c_void, *mut c_void, *mut c_void, *const u8, usize, *mut usize, ErrorPointer) -> *mut u8;
    create_iterator_cf: fn(*mut c_void, *mut c_void, *mut c_void) -> *mut c_void;
    iter_destroy: fn(*mut c_void);
    iter_valid: fn(*mut c_void) -> c_uchar;
    iter_seek_to_first: fn(*mut c_void);
    iter_seek_to_last: fn(*mut c_void);
    iter_seek: fn(*mut c_void, *const u8, usize);
    iter_seek_for_prev: fn(*mut c_void, *const u8, usize);
    iter_next: fn(*mut c_void);
    iter_prev: fn(*mut c_void);
    iter_key: fn(*mut c_void, *mut usize) -> *const u8;
    iter_value: fn(*mut c_void, *mut usize) -> *const u8;
    iter_get_error: fn(*mut c_void, ErrorPointer);
    flushoptions_create: fn() -> *mut c_void;
    flush_cf: fn(*mut c_void, *mut c_void, *mut c_void, ErrorPointer);
    compact_range_cf: fn(*mut c_void, *mut c_void, *const u8, usize, *const u8, usize);
    free: fn(*mut c_void);
}

api! { NAMES, "librocksdb7.8", library; }

/// Calls a function of the library.
macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),*)) => {
        // SAFETY: the type is the one that the header declares. Objects are live: only `Drop`
        // destroys them, and slices last until the call returns.
        unsafe { ($api.$name)($($argument),*) }
    };
}

/// Calls a function that may report an error in its last argument.
macro_rules! checked {
    ($api:expr, $name:ident($($argument:expr),*)) => {{
        let mut error = null_mut();
        let result = call!($api, $name($($argument,)* &raw mut error));
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { engine_capi::outcome(error, $api.free) }.unwrap();
        result
    }};
}

/// Returns `len` bytes from `start`, which the library passes.
fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: callers pass what the library does, and copy the result at once.
    unsafe { &*slice_from_raw_parts(start, len) }
}

extern "C" fn compare(
    _: *mut c_void,
    a: *const u8,
    alen: usize,
    b: *const u8,
    blen: usize,
) -> c_int {
    bytes(b, blen).cmp(bytes(a, alen)) as c_int
}

extern "C" fn full_merge(
    _: *mut c_void,
    _key: *const u8,
    _key_len: usize,
    base: *const u8,
    base_len: usize,
    operands: *const *const u8,
    lengths: *const usize,
    count: c_int,
    success: *mut c_uchar,
    len: *mut usize,
) -> *mut u8 {
    let mut joined = bytes(base, base_len).to_vec();
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the library passes `count` operands.
    let operands = unsafe { &*slice_from_raw_parts(operands, count) };
    // SAFETY: the library passes as many lengths.
    let lengths = unsafe { &*slice_from_raw_parts(lengths, count) };
    for (start, len) in operands.iter().zip(lengths) {
        joined.extend_from_slice(bytes(*start, *len));
    }
    let joined = joined.into_boxed_slice();
    // SAFETY: the library passes a variable.
    unsafe { *success = 1 };
    // SAFETY: as above.
    unsafe { *len = joined.len() };
    Box::into_raw(joined).cast()
}

extern "C" fn partial_merge(
    state: *mut c_void,
    key: *const u8,
    key_len: usize,
    operands: *const *const u8,
    lengths: *const usize,
    count: c_int,
    success: *mut c_uchar,
    len: *mut usize,
) -> *mut u8 {
    let (base, base_len) = (std::ptr::null(), 0);
    full_merge(
        state, key, key_len, base, base_len, operands, lengths, count, success, len,
    )
}

extern "C" fn delete(_: *mut c_void, value: *mut u8, len: usize) {
    // SAFETY: `full_merge` has made it.
    drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(value, len)) });
}

extern "C" fn name(_: *mut c_void) -> *const c_char {
    c"test".as_ptr()
}

extern "C" fn destroy(_: *mut c_void) {}

/// An open database with the families of [`FAMILIES`]; the last is in reverse order.
pub(crate) struct Rocks {
    api: &'static Api,
    db: *mut c_void,
    families: [*mut c_void; FAMILIES.len()],
    options: [*mut c_void; FAMILIES.len()],
    writing: *mut c_void,
}

fn c_string(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap()
}

impl Rocks {
    /// Loads the library; an error if it is not installed.
    pub(crate) fn load() -> Result<&'static Api, String> {
        let api = Api::load(None).map_err(|fault| fault.to_string())?;
        Ok(Box::leak(Box::new(api)))
    }

    /// Opens a database, and creates it and its families if they are missing.
    pub(crate) fn open(api: &'static Api, path: &Path) -> Rocks {
        let options = FAMILIES.map(|family| {
            let options = call!(api, options_create());
            call!(api, options_set_create_if_missing(options, 1));
            call!(api, options_set_create_missing_column_families(options, 1));
            let none = null_mut();
            let operator = call!(
                api,
                mergeoperator_create(none, destroy, full_merge, partial_merge, delete, name)
            );
            call!(api, options_set_merge_operator(options, operator));
            if Some(&family) == FAMILIES.last() {
                let comparator = call!(api, comparator_create(none, destroy, compare, name));
                call!(api, options_set_comparator(options, comparator));
            }
            options
        });
        let names = FAMILIES.map(|family| c_string(family.as_bytes()));
        let names = names.each_ref().map(|name| name.as_ptr());
        let mut families = [null_mut(); FAMILIES.len()];
        let path = c_string(path.as_os_str().as_bytes());
        let count = c_int::try_from(FAMILIES.len()).unwrap();
        let (first, each) = (options[0], options.as_ptr());
        let handles = families.as_mut_ptr();
        let db = checked!(
            api,
            open_column_families(first, path.as_ptr(), count, names.as_ptr(), each, handles)
        );
        let writing = call!(api, writeoptions_create());
        Rocks {
            api,
            db,
            families,
            options,
            writing,
        }
    }

    pub(crate) fn write(&self, changes: &[Change]) {
        let batch = call!(self.api, writebatch_create());
        for Change {
            family,
            key,
            effect,
        } in changes
        {
            let (family, start, len) = (self.families[*family], key.as_ptr(), key.len());
            let (add, value) = match effect {
                Effect::Delete => {
                    call!(self.api, writebatch_delete_cf(batch, family, start, len));
                    continue;
                }
                Effect::Put(value) => (self.api.writebatch_put_cf, value),
                Effect::Merge(operand) => (self.api.writebatch_merge_cf, operand),
                Effect::DeleteRange(end) => (self.api.writebatch_delete_range_cf, end),
            };
            // SAFETY: as in `call!`.
            unsafe { add(batch, family, start, len, value.as_ptr(), value.len()) };
        }
        checked!(self.api, write(self.db, self.writing, batch));
        call!(self.api, writebatch_destroy(batch));
    }

    fn reading(&self, snapshot: Option<&Snapshot>) -> *mut c_void {
        let options = call!(self.api, readoptions_create());
        if let Some(snapshot) = snapshot {
            call!(self.api, readoptions_set_snapshot(options, snapshot.0));
        }
        options
    }

    pub(crate) fn get(
        &self,
        family: usize,
        key: &[u8],
        snapshot: Option<&Snapshot>,
    ) -> Option<Vec<u8>> {
        let (reading, mut len) = (self.reading(snapshot), 0);
        let family = self.families[family];
        let found = checked!(
            self.api,
            get_cf(
                self.db,
                reading,
                family,
                key.as_ptr(),
                key.len(),
                &raw mut len
            )
        );
        call!(self.api, readoptions_destroy(reading));
        (!found.is_null()).then(|| {
            let value = bytes(found, len).to_vec();
            call!(self.api, free(found.cast()));
            value
        })
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(call!(self.api, create_snapshot(self.db)))
    }

    pub(crate) fn release(&self, snapshot: &Snapshot) {
        call!(self.api, release_snapshot(self.db, snapshot.0));
    }

    pub(crate) fn cursor(
        &self,
        family: usize,
        range: Range,
        snapshot: Option<&Snapshot>,
    ) -> Cursor {
        let reading = self.reading(snapshot);
        if let Some(low) = &range.0 {
            call!(
                self.api,
                readoptions_set_iterate_lower_bound(reading, low.as_ptr(), low.len())
            );
        }
        if let Some(high) = &range.1 {
            call!(
                self.api,
                readoptions_set_iterate_upper_bound(reading, high.as_ptr(), high.len())
            );
        }
        let family = self.families[family];
        Cursor {
            api: self.api,
            pointer: call!(self.api, create_iterator_cf(self.db, reading, family)),
            reading,
            _bounds: range,
        }
    }

    pub(crate) fn flush(&self, family: usize) {
        let options = call!(self.api, flushoptions_create());
        checked!(self.api, flush_cf(self.db, options, self.families[family]));
    }

    pub(crate) fn compact(&self, family: usize) {
        let (none, family) = (std::ptr::null(), self.families[family]);
        call!(
            self.api,
            compact_range_cf(self.db, family, none, 0, none, 0)
        );
    }

    /// Drops a family and creates it again.
    pub(crate) fn renew(&mut self, family: usize) {
        let old = self.families[family];
        checked!(self.api, drop_column_family(self.db, old));
        call!(self.api, column_family_handle_destroy(old));
        let name = c_string(FAMILIES[family].as_bytes());
        let options = self.options[family];
        self.families[family] = checked!(
            self.api,
            create_column_family(self.db, options, name.as_ptr())
        );
    }
}

impl Drop for Rocks {
    fn drop(&mut self) {
        for family in self.families {
            call!(self.api, column_family_handle_destroy(family));
        }
        call!(self.api, close(self.db));
    }
}

/// A snapshot, to be released before its database is closed.
pub(crate) struct Snapshot(*const c_void);

/// An iterator, to be dropped before its database is closed.
pub(crate) struct Cursor {
    api: &'static Api,
    pointer: *mut c_void,
    reading: *mut c_void,
    /// The library does not copy them.
    _bounds: Range,
}

impl Cursor {
    pub(crate) fn seek_to_first(&mut self) {
        call!(self.api, iter_seek_to_first(self.pointer));
    }

    pub(crate) fn seek_to_last(&mut self) {
        call!(self.api, iter_seek_to_last(self.pointer));
    }

    pub(crate) fn seek(&mut self, key: &[u8]) {
        call!(self.api, iter_seek(self.pointer, key.as_ptr(), key.len()));
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) {
        call!(
            self.api,
            iter_seek_for_prev(self.pointer, key.as_ptr(), key.len())
        );
    }

    /// Moves forward or back, from an entry.
    pub(crate) fn step(&mut self, back: bool) {
        if back {
            call!(self.api, iter_prev(self.pointer));
        } else {
            call!(self.api, iter_next(self.pointer));
        }
    }

    pub(crate) fn entry(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        if call!(self.api, iter_valid(self.pointer)) == 0 {
            checked!(self.api, iter_get_error(self.pointer));
            return None;
        }
        let (mut key_len, mut value_len) = (0, 0);
        let key = call!(self.api, iter_key(self.pointer, &raw mut key_len));
        let value = call!(self.api, iter_value(self.pointer, &raw mut value_len));
        Some((
            bytes(key, key_len).to_vec(),
            bytes(value, value_len).to_vec(),
        ))
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        call!(self.api, iter_destroy(self.pointer));
        call!(self.api, readoptions_destroy(self.reading));
    }
}
