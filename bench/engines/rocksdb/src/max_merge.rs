//! The merge operator of the benchmark: keeps the greater value in byte order.
//!
//! The library copies what an operator returns before it continues, so the winner is returned in
//! place: nothing is allocated, and nothing has to be freed.

#![expect(
    unsafe_code,
    reason = "called by the library with pointers and lengths"
)]

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr::{null, null_mut};

use crate::sys::Api;

/// Creates an operator object, which is owned by the options to which it is passed.
pub(crate) fn operator(api: &Api) -> *mut c_void {
    // SAFETY: the five functions have the types that the library requires and need no state.
    unsafe { (api.mergeoperator_create)(null_mut(), ignore, full, partial, keep, name) }
}

const unsafe extern "C" fn ignore(_state: *mut c_void) {}

const unsafe extern "C" fn keep(_state: *mut c_void, _value: *const u8, _length: usize) {}

const unsafe extern "C" fn name(_state: *mut c_void) -> *const c_char {
    c"db_bench.Greater".as_ptr()
}

/// Returns the greatest of the operands and `best`.
///
/// # Safety
/// `operands` and `lengths` must each contain `count` elements that describe live bytes.
unsafe fn greatest(
    mut best: Option<&[u8]>,
    operands: *const *const u8,
    lengths: *const usize,
    count: c_int,
) -> Option<&[u8]> {
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: within the count, as guaranteed by the caller.
        let start = unsafe { operands.add(at) };
        // SAFETY: as above.
        let start = unsafe { *start };
        // SAFETY: as above.
        let length = unsafe { lengths.add(at) };
        // SAFETY: as above.
        let length = unsafe { *length };
        // SAFETY: live bytes, as guaranteed by the caller.
        let operand = unsafe { std::slice::from_raw_parts(start, length) };
        if best.is_none_or(|best| operand > best) {
            best = Some(operand);
        }
    }
    best
}

/// Passes the result to the library.
///
/// # Safety
/// Both output locations must be live.
unsafe fn answer(value: Option<&[u8]>, success: *mut c_uchar, length: *mut usize) -> *const u8 {
    // SAFETY: guaranteed by the caller.
    unsafe { *success = value.is_some().into() };
    // SAFETY: as above.
    unsafe { *length = value.map_or(0, <[u8]>::len) };
    value.map_or(null(), <[u8]>::as_ptr)
}

unsafe extern "C" fn full(
    _state: *mut c_void,
    _key: *const u8,
    _key_length: usize,
    base: *const u8,
    base_length: usize,
    operands: *const *const u8,
    lengths: *const usize,
    count: c_int,
    success: *mut c_uchar,
    length: *mut usize,
) -> *const u8 {
    let base = (!base.is_null()).then(|| {
        // SAFETY: the library passes the stored value, or null.
        unsafe { std::slice::from_raw_parts(base, base_length) }
    });
    // SAFETY: the library passes `count` operands.
    let value = unsafe { greatest(base, operands, lengths, count) };
    // SAFETY: the library passes two live output locations.
    unsafe { answer(value, success, length) }
}

unsafe extern "C" fn partial(
    _state: *mut c_void,
    _key: *const u8,
    _key_length: usize,
    operands: *const *const u8,
    lengths: *const usize,
    count: c_int,
    success: *mut c_uchar,
    length: *mut usize,
) -> *const u8 {
    // SAFETY: the library passes `count` operands.
    let value = unsafe { greatest(None, operands, lengths, count) };
    // SAFETY: the library passes two live output locations.
    unsafe { answer(value, success, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the full merge, or the partial merge without a base.
    fn merged(base: Option<&[u8]>, operands: &[&[u8]], whole: bool) -> Option<Vec<u8>> {
        let starts: Vec<*const u8> = operands.iter().map(|bytes| bytes.as_ptr()).collect();
        let lengths: Vec<usize> = operands.iter().map(|bytes| bytes.len()).collect();
        let count = c_int::try_from(operands.len()).expect("small");
        let (mut success, mut length) = (9, 9);
        let (at, len) = (starts.as_ptr(), lengths.as_ptr());
        let (ok, out) = (&raw mut success, &raw mut length);
        let state = null_mut();
        let start = if whole {
            let place = base.map_or(null(), <[u8]>::as_ptr);
            let base_length = base.map_or(0, <[u8]>::len);
            // SAFETY: every pointer is to a live vector or variable of this function.
            unsafe {
                full(
                    state,
                    null(),
                    0,
                    place,
                    base_length,
                    at,
                    len,
                    count,
                    ok,
                    out,
                )
            }
        } else {
            // SAFETY: as above.
            unsafe { partial(state, null(), 0, at, len, count, ok, out) }
        };
        (success == 1).then(|| {
            // SAFETY: the winner is in one of the slices.
            unsafe { std::slice::from_raw_parts(start, length) }.to_vec()
        })
    }

    #[test]
    fn the_greatest_in_byte_order_stays() {
        let operands: [&[u8]; 4] = [b"b", b"ba", b"", b"a\xff"];
        assert_eq!(merged(None, &operands, true).as_deref(), Some(&b"ba"[..]));
        assert_eq!(merged(None, &operands, false).as_deref(), Some(&b"ba"[..]));
        assert_eq!(
            merged(Some(b"c"), &operands, true).as_deref(),
            Some(&b"c"[..])
        );
        assert_eq!(merged(Some(b""), &[b""], true).as_deref(), Some(&b""[..]));
        assert_eq!(merged(None, &[], true), None);
    }
}
