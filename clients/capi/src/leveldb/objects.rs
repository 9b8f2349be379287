//! Objects that options refer to: comparators, filter policies, caches, environments. And the
//! functions without an object.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use cairndb::env::{Env, RealEnv};
use cairndb::{FILTER_BITS_MAX, Result};

use crate::boundary::{guarded, keep, or_keep};
use crate::callbacks::CallbackState;
use crate::callbacks::comparator::{CallerOrder, Compare, Name};
use crate::memory;

/// A comparator of the caller.
pub struct leveldb_comparator_t(pub(crate) Arc<CallerOrder>);

/// A filter policy: a number of bits, or functions of the caller, which are never called.
pub struct leveldb_filterpolicy_t {
    /// `None` for a policy of the caller.
    pub(crate) bits: Option<u32>,
    _state: Option<CallbackState>,
}

/// A cache, which is a number of bytes here.
pub struct leveldb_cache_t {
    pub(crate) capacity: usize,
}

/// The default environment.
pub struct leveldb_env_t {
    _not_empty: u8,
}

macro_rules! debug_by_name {
    ($($name:ident)*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

debug_by_name!(leveldb_comparator_t leveldb_filterpolicy_t leveldb_cache_t leveldb_env_t);

/// Moves `object` to where the caller's pointer refers to it.
pub(crate) fn give<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Drops an object of [`give`]; does nothing for NULL.
///
/// # Safety
/// `object` must be NULL or a pointer of [`give`] that nothing uses any more.
pub(crate) unsafe fn take_back<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// Makes a comparator of the caller's functions. The destructor runs once the comparator has been
/// destroyed and no options and no database use it. NULL if `compare` or `name` is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_comparator_create(
    state: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    compare: Option<Compare>,
    name: Option<Name>,
) -> *mut leveldb_comparator_t {
    match CallerOrder::new(CallbackState::new(state, destructor), compare, name) {
        Ok(order) => give(leveldb_comparator_t(Arc::new(order))),
        Err(error) => {
            keep(error);
            null_mut()
        }
    }
}

/// Destroys a comparator. Databases that use it keep its functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_comparator_destroy(comparator: *mut leveldb_comparator_t) {
    // SAFETY: the header requires NULL or a live comparator.
    unsafe { take_back(comparator) };
}

/// Builds a filter; part of a policy that is never consulted.
type CreateFilter = unsafe extern "C" fn(
    *mut c_void,
    *const *const c_char,
    *const usize,
    c_int,
    *mut usize,
) -> *mut c_char;
/// Consults a filter; part of a policy that is never consulted.
type KeyMayMatch =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> u8;

/// Makes a filter policy of the caller's functions. Tables have a filter of their own, so only the
/// destructor is ever called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_filterpolicy_create(
    state: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    _create_filter: Option<CreateFilter>,
    _key_may_match: Option<KeyMayMatch>,
    _name: Option<Name>,
) -> *mut leveldb_filterpolicy_t {
    give(leveldb_filterpolicy_t {
        bits: None,
        _state: Some(CallbackState::new(state, destructor)),
    })
}

/// Makes a policy of this many filter bits per key: 1 to 100; other numbers become the nearest.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_filterpolicy_create_bloom(
    bits_per_key: c_int,
) -> *mut leveldb_filterpolicy_t {
    let bits = u32::try_from(bits_per_key).unwrap_or(0);
    give(leveldb_filterpolicy_t {
        bits: Some(bits.clamp(1, FILTER_BITS_MAX)),
        _state: None,
    })
}

/// Destroys a filter policy and calls its destructor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_filterpolicy_destroy(policy: *mut leveldb_filterpolicy_t) {
    // SAFETY: the header requires NULL or a live policy.
    unsafe { take_back(policy) };
}

/// Makes a cache of `capacity` bytes, which each database that is opened with it may use.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_cache_create_lru(capacity: usize) -> *mut leveldb_cache_t {
    give(leveldb_cache_t { capacity })
}

/// Destroys a cache. Databases opened with it keep their memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_cache_destroy(cache: *mut leveldb_cache_t) {
    // SAFETY: the header requires NULL or a live cache.
    unsafe { take_back(cache) };
}

/// Returns the default environment, the operating system.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_create_default_env() -> *mut leveldb_env_t {
    give(leveldb_env_t { _not_empty: 0 })
}

/// Destroys an environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_env_destroy(env: *mut leveldb_env_t) {
    // SAFETY: the header requires NULL or a live environment.
    unsafe { take_back(env) };
}

/// Returns a directory for tests, which exists, as memory that the caller frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_env_get_test_directory(_env: *mut leveldb_env_t) -> *mut c_char {
    or_keep(guarded(test_directory), null_mut())
}

/// Returns `$TEST_TMPDIR` or, as LevelDB does, a directory of the user in `/tmp`.
fn test_directory() -> Result<*mut c_char> {
    use std::os::unix::ffi::OsStringExt;
    let path = std::env::var_os("TEST_TMPDIR").filter(|path| !path.is_empty());
    let path = path.unwrap_or_else(|| {
        let user = rustix::process::geteuid().as_raw();
        format!("/tmp/leveldbtest-{user}").into()
    });
    RealEnv::new().open_dir(path.as_ref(), true)?;
    let text = CString::new(path.into_vec()).unwrap_or_default();
    memory::copy(text.as_bytes_with_nul())
}

/// Frees memory that a function of the library returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_free(memory: *mut c_void) {
    // SAFETY: the header requires NULL or memory that a function of the library returned.
    unsafe { memory::free(memory) };
}

/// Returns 1: the interface is that of LevelDB 1.23.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_major_version() -> c_int {
    1
}

/// Returns 23: the interface is that of LevelDB 1.23.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_minor_version() -> c_int {
    23
}
