//! Merge operators: functions that fold operands into a value.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use cairndb::{Add, Append, Max, MergeOperator};

use crate::boundary::keep;
use crate::callbacks::CallbackState;
use crate::callbacks::merge_operator::CallerOperator;
use crate::face::handles::cairndb_buffer;
use crate::leveldb::objects::{give, take_back};

/// Folds merge operands. Destroy it with `cairndb_merge_operator_destroy`; options and databases
/// keep it.
#[derive(Debug)]
pub struct cairndb_merge_operator(pub(crate) Arc<dyn MergeOperator>);

/// Returns a merge operator.
///
/// `name` is stored in the database: at most 255 bytes of UTF-8; it is copied. `merge` appends the
/// value of `key` after applying the operands, the oldest first, to `base`, which is NULL if the
/// key has none, and returns true. If it returns false, the read fails with an error that names the
/// key, and compactions keep the operands. `combine` may be NULL; it appends one operand that has
/// the same effect as at least two in turn, and returns true, or returns false if there is none.
/// `check` may be NULL; it returns whether `merge` can fold an operand, before it is written.
/// `destructor` may be NULL; it is called with `state` once the operator was destroyed and no
/// options and no database use it. The functions must not write to the database, nor flush or close
/// it. Returns NULL if `name` is NULL or not UTF-8, or `merge` is NULL; `cairndb_last_error` has
/// the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_merge_operator_create(
    state: *mut c_void,
    destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    name: *const c_char,
    merge: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            key: *const c_char,
            key_len: usize,
            base: *const c_char,
            base_len: usize,
            operands: *const *const c_char,
            operand_lens: *const usize,
            operand_count: usize,
            result: *mut cairndb_buffer,
        ) -> bool,
    >,
    combine: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            key: *const c_char,
            key_len: usize,
            operands: *const *const c_char,
            operand_lens: *const usize,
            operand_count: usize,
            result: *mut cairndb_buffer,
        ) -> bool,
    >,
    check: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            operand: *const c_char,
            operand_len: usize,
        ) -> bool,
    >,
) -> *mut cairndb_merge_operator {
    let state = CallbackState::new(state, destructor);
    // SAFETY: the header requires NULL or a string.
    match unsafe { CallerOperator::new(state, name, merge, combine, check) } {
        Ok(operator) => give(cairndb_merge_operator(Arc::new(operator))),
        Err(error) => {
            keep(error);
            null_mut()
        }
    }
}

/// Returns the operator that adds little-endian numbers of up to 8 bytes, with wraparound.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_merge_operator_add() -> *mut cairndb_merge_operator {
    give(cairndb_merge_operator(Arc::new(Add)))
}

/// Returns the operator that appends operands to the value.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_merge_operator_append() -> *mut cairndb_merge_operator {
    give(cairndb_merge_operator(Arc::new(Append)))
}

/// Returns the operator that keeps the largest of little-endian numbers of up to 8 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_merge_operator_max() -> *mut cairndb_merge_operator {
    give(cairndb_merge_operator(Arc::new(Max)))
}

/// Destroys a merge operator; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_merge_operator_destroy(
    merge_operator: *mut cairndb_merge_operator,
) {
    // SAFETY: the header requires NULL or a live operator.
    unsafe { take_back(merge_operator) };
}
