//! Merge operators of the caller.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::ptr::null;

use cairndb::{Error, MergeOperator, Result};

use crate::bytes::text;
use crate::callbacks::CallbackState;
use crate::face::handles::cairndb_buffer;

type Merge = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    usize,
    *mut cairndb_buffer,
) -> bool;
type Combine = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    usize,
    *mut cairndb_buffer,
) -> bool;
type Check = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> bool;

/// The functions of a merge operator.
pub(crate) struct CallerOperator {
    state: CallbackState,
    name: String,
    merge: Merge,
    combine: Option<Combine>,
    check: Option<Check>,
}

impl CallerOperator {
    /// # Errors
    /// `InvalidArgument` if the name or the function `merge` is missing, or the name is not UTF-8.
    ///
    /// # Safety
    /// `name` must be NULL or a string.
    pub(crate) unsafe fn new(
        state: CallbackState,
        name: *const c_char,
        merge: Option<Merge>,
        combine: Option<Combine>,
        check: Option<Check>,
    ) -> Result<CallerOperator> {
        // SAFETY: guaranteed by the caller.
        let name = unsafe { text(name, "the merge operator's name") }?.to_owned();
        let Some(merge) = merge else {
            return Err(Error::invalid("the merge operator lacks its function"));
        };
        Ok(CallerOperator {
            state,
            name,
            merge,
            combine,
            check,
        })
    }
}

impl fmt::Debug for CallerOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerOperator")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Addresses and lengths of operands, as two arrays.
struct Operands {
    starts: Vec<*const c_char>,
    lens: Vec<usize>,
}

impl Operands {
    fn of(operands: &[&[u8]]) -> Operands {
        Operands {
            starts: operands
                .iter()
                .map(|operand| operand.as_ptr().cast())
                .collect(),
            lens: operands.iter().map(|operand| operand.len()).collect(),
        }
    }
}

impl MergeOperator for CallerOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, operand: &[u8]) -> Result<()> {
        let Some(check) = self.check else {
            return Ok(());
        };
        // SAFETY: the caller passed the function for this state; the length is the slice's.
        if unsafe { check(self.state.pointer(), operand.as_ptr().cast(), operand.len()) } {
            return Ok(());
        }
        Err(Error::invalid("the merge operator refuses the operand").found(operand.len()))
    }

    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let mut result = cairndb_buffer(Vec::new());
        let list = Operands::of(operands);
        let base_start = base.map_or(null(), |base| base.as_ptr().cast());
        // SAFETY: the caller passed the function for this state; all addresses and lengths are
        // those of slices that live during the call.
        let folded = unsafe {
            (self.merge)(
                self.state.pointer(),
                key.as_ptr().cast(),
                key.len(),
                base_start,
                base.map_or(0, <[u8]>::len),
                list.starts.as_ptr(),
                list.lens.as_ptr(),
                operands.len(),
                &raw mut result,
            )
        };
        if folded {
            return Ok(result.0);
        }
        Err(Error::invalid("the merge operator cannot fold the operands").key(key))
    }

    fn combine(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let combine = self.combine?;
        let mut result = cairndb_buffer(Vec::new());
        let list = Operands::of(operands);
        // SAFETY: as in `merge`.
        let combined = unsafe {
            combine(
                self.state.pointer(),
                key.as_ptr().cast(),
                key.len(),
                list.starts.as_ptr(),
                list.lens.as_ptr(),
                operands.len(),
                &raw mut result,
            )
        };
        combined.then_some(result.0)
    }
}
