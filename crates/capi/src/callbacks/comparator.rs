//! Comparators of the caller.

use std::cmp::Ordering;
use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::sync::Arc;

use cairndb::{Comparator, Error, Result};

use crate::bytes::text;
use crate::callbacks::State;

/// Compares two keys: negative, zero or positive, as `memcmp`.
pub(crate) type Compare =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;
/// Returns the name of an order, a string that lives as long as the state.
pub(crate) type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of a comparator.
pub(crate) struct CallerOrder {
    state: State,
    compare: Compare,
    name: Name,
    equality_is_identity: bool,
}

impl fmt::Debug for CallerOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerOrder")
    }
}

impl CallerOrder {
    /// # Errors
    /// `InvalidArgument` if a function is missing.
    pub(crate) fn new(state: State, compare: Option<Compare>, name: Option<Name>) -> Result<Self> {
        let (Some(compare), Some(name)) = (compare, name) else {
            return Err(Error::invalid("the comparator lacks a function"));
        };
        Ok(CallerOrder {
            state,
            compare,
            name,
            equality_is_identity: false,
        })
    }

    /// Sets whether keys that compare equal always have the same bytes.
    pub(crate) fn with_identity(self, equality_is_identity: bool) -> CallerOrder {
        CallerOrder {
            equality_is_identity,
            ..self
        }
    }

    /// Returns the comparator for an open. The name is requested and copied now.
    ///
    /// # Errors
    /// `InvalidArgument` if the name is NULL or not UTF-8.
    pub(crate) fn named(self: &Arc<Self>) -> Result<Arc<dyn Comparator>> {
        // SAFETY: the caller passed the function for this state.
        let name = unsafe { (self.name)(self.state.pointer()) };
        // SAFETY: the headers require a string that lives as long as the state.
        let name = unsafe { text(name, "the comparator's name") }?.to_owned();
        Ok(Arc::new(NamedOrder {
            order: Arc::clone(self),
            name,
        }))
    }
}

/// A comparator whose name is known.
struct NamedOrder {
    order: Arc<CallerOrder>,
    name: String,
}

impl fmt::Debug for NamedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedOrder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Comparator for NamedOrder {
    fn name(&self) -> &str {
        &self.name
    }

    fn equality_is_identity(&self) -> bool {
        self.order.equality_is_identity
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = &*self.order;
        let state = order.state.pointer();
        // SAFETY: the caller passed the function for this state, and promised that any thread may
        // call it; the lengths are those of the slices.
        let result = unsafe {
            (order.compare)(
                state,
                a.as_ptr().cast(),
                a.len(),
                b.as_ptr().cast(),
                b.len(),
            )
        };
        result.cmp(&0)
    }
}
