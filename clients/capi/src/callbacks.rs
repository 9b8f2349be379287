//! Functions of the caller that the store calls.
//!
//! Each is kept with a state pointer and a destructor for it. The objects are counted: the
//! destructor runs once the caller has destroyed its object and no options or database use it, on
//! the thread that drops the last of these.

pub(crate) mod comparator;
pub(crate) mod merge_operator;

use std::ffi::c_void;

/// A caller's state, and the function that destroys it.
pub(crate) struct CallbackState {
    pointer: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the headers require that the state may be used and destroyed by any thread.
unsafe impl Send for CallbackState {}
// SAFETY: as above.
unsafe impl Sync for CallbackState {}

impl CallbackState {
    pub(crate) fn new(
        pointer: *mut c_void,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> CallbackState {
        CallbackState {
            pointer,
            destructor,
        }
    }

    #[inline]
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }
}

impl Drop for CallbackState {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the caller passed the destructor for this state, which nothing uses any more.
            unsafe { destructor(self.pointer) };
        }
    }
}
