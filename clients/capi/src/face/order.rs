//! Comparators: orders of keys.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use crate::boundary::keep;
use crate::callbacks::CallbackState;
use crate::callbacks::comparator::CallerOrder;
use crate::leveldb::objects::{give, take_back};

/// An order of keys. Destroy it with `cairndb_comparator_destroy`; options and databases keep it.
#[derive(Debug)]
pub struct cairndb_comparator(pub(crate) Arc<CallerOrder>);

/// Returns an order of keys.
///
/// `compare` returns a negative number, 0 or a positive one, as memcmp does; the order must be
/// total and must never change. `name` returns a string, of at most 255 bytes of UTF-8, that lives
/// as long as `state`. `destructor` may be NULL; it is called with `state` once the comparator was
/// destroyed and no options and no database use it. Returns NULL if `compare` or `name` is NULL.
///
/// `equality_is_identity` declares that keys which compare equal always have the same bytes. It
/// allows filters for this order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_comparator_create(
    state: *mut c_void,
    destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    compare: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            a: *const c_char,
            a_len: usize,
            b: *const c_char,
            b_len: usize,
        ) -> c_int,
    >,
    name: Option<unsafe extern "C" fn(state: *mut c_void) -> *const c_char>,
    equality_is_identity: bool,
) -> *mut cairndb_comparator {
    match CallerOrder::new(CallbackState::new(state, destructor), compare, name) {
        Ok(order) => give(cairndb_comparator(Arc::new(
            order.with_identity(equality_is_identity),
        ))),
        Err(error) => {
            keep(error);
            null_mut()
        }
    }
}

/// Destroys a comparator; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_comparator_destroy(comparator: *mut cairndb_comparator) {
    // SAFETY: the header requires NULL or a live comparator.
    unsafe { take_back(comparator) };
}
