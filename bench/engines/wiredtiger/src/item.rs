//! Keys and values in WiredTiger's form.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use crate::structs::{Cursor, Item};

/// Returns the bytes as stored in the table: unchanged, or with a NUL byte appended in `buffer`.
#[inline]
pub(crate) fn stored<'b>(bytes: &'b [u8], buffer: &'b mut Vec<u8>, zero_ended: bool) -> Item {
    if zero_ended {
        buffer.clear();
        buffer.extend_from_slice(bytes);
        buffer.push(0);
        Item::of(buffer)
    } else {
        Item::of(bytes)
    }
}

/// Sets a cursor's key, which is read in place until the next operation on the cursor.
#[inline]
pub(crate) fn set_key(cursor: *mut Cursor, item: &Item) {
    // SAFETY: the cursor is live.
    let function = unsafe { (*cursor).set_key };
    // SAFETY: raw keys are items; the library copies the view, not the bytes.
    unsafe { function(cursor, std::ptr::from_ref(item)) };
}

#[inline]
pub(crate) fn set_value(cursor: *mut Cursor, item: &Item) {
    // SAFETY: the cursor is live.
    let function = unsafe { (*cursor).set_value };
    // SAFETY: raw values are items; the library copies the view, not the bytes.
    unsafe { function(cursor, std::ptr::from_ref(item)) };
}

/// Returns the bytes of a view, without a terminating NUL byte.
#[inline]
pub(crate) fn shown(item: &Item, zero_ended: bool) -> &[u8] {
    let length = item.size - usize::from(zero_ended);
    // SAFETY: only called with a view that the library filled, while its cursor is on the entry.
    unsafe { std::slice::from_raw_parts(item.data, length) }
}
