//! Comparators of the caller.

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::sync::Arc;

use cairndb::{Comparator, Error, Result};

use crate::bytes::text;
use crate::callbacks::CallbackState;

/// Compares two keys: negative, zero or positive, as `memcmp`.
pub(crate) type Compare =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;
/// Returns the name of an order, a string that lives as long as the state.
pub(crate) type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of a comparator.
pub(crate) struct CallerOrder {
    state: CallbackState,
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
    pub(crate) fn new(
        state: CallbackState,
        compare: Option<Compare>,
        name: Option<Name>,
    ) -> Result<Self> {
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
        Ok(self.with_name(name))
    }

    /// Same as [`CallerOrder::named`], but takes any name, as LevelDB does. One that the database
    /// cannot store is shortened; see [`storable_name`].
    ///
    /// # Errors
    /// `InvalidArgument` if the name is NULL.
    pub(crate) fn named_freely(self: &Arc<Self>) -> Result<Arc<dyn Comparator>> {
        // SAFETY: the caller passed the function for this state.
        let name = unsafe { (self.name)(self.state.pointer()) };
        if name.is_null() {
            return Err(Error::invalid("the comparator's name is NULL"));
        }
        // SAFETY: the header requires a string that lives as long as the state.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(self.with_name(storable_name(name.to_bytes())))
    }

    fn with_name(self: &Arc<Self>, name: String) -> Arc<dyn Comparator> {
        Arc::new(NamedOrder {
            order: Arc::clone(self),
            name,
        })
    }
}

/// Longest name that a database stores, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Returns a name that the database can store: `name` itself if it is short UTF-8. Otherwise its
/// start and a hash of all of it, so that different names stay different.
fn storable_name(name: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(name)
        && text.len() <= NAME_BYTES_MAX
    {
        return text.to_owned();
    }
    // FNV-1a: stored on disk, so it must not change with a library's version.
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let start: String = name.iter().take(64).copied().map(plain).collect();
    format!("{start}#{hash:016x}")
}

fn plain(byte: u8) -> char {
    if byte.is_ascii_graphic() {
        char::from(byte)
    } else {
        '?'
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

#[cfg(test)]
mod tests {
    use super::{NAME_BYTES_MAX, storable_name};

    #[test]
    fn names_that_cannot_be_stored_are_shortened_and_stay_different() {
        assert_eq!(storable_name(b"idb_cmp1"), "idb_cmp1");
        let longest = "n".repeat(NAME_BYTES_MAX);
        assert_eq!(storable_name(longest.as_bytes()), longest);
        let names = [
            storable_name(format!("{longest}a").as_bytes()),
            storable_name(format!("{longest}b").as_bytes()),
            storable_name(b"not\xff text"),
            storable_name(b"not\xfe text"),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() <= NAME_BYTES_MAX, "{name}");
            assert!(!names[..at].contains(name), "{name}");
        }
        assert_eq!(names[2], "not??text#f80d29bd6a93baa6");
    }
}
