//! The version that the library itself reports.
//!
//! RocksDB's C interface has no such call, only the C++ interface, `GetRocksVersionAsString`, whose
//! result is a `std::string`. Its first two words have been the address and the length of the
//! string in every release of the C++ library since 2015, and a result of its size is returned in
//! memory under both the C and the C++ calling convention.

#![expect(
    unsafe_code,
    reason = "one C++ function whose result has a known layout"
)]

use crate::sys::Api;

/// `std::string GetRocksVersionAsString(bool with_patch)`.
const SYMBOL: &[u8] = b"_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
const UNKNOWN: &str = "of unknown number";
/// Maximum length of a string that is stored inline.
const INSIDE_MAX: usize = 15;

/// `std::string`. A short string is stored in `inside`; `_start` then points to where the callee
/// wrote the object and is stale after a move, so it is never followed.
#[repr(C)]
struct CppString {
    _start: *const u8,
    length: usize,
    inside: [u8; INSIDE_MAX + 1],
}

impl Api {
    /// Returns the version in three numbers, if the library reports it.
    pub(crate) fn version_text(&self) -> String {
        type Tell = unsafe extern "C" fn(bool) -> CppString;
        // SAFETY: the symbol's name spells out its types.
        let Ok(version_of) = (unsafe { self.library.get::<Tell>(SYMBOL) }) else {
            return UNKNOWN.to_owned();
        };
        // SAFETY: takes a flag and has no side effects; a version of more than fifteen characters
        // would leak a few bytes once.
        let text = unsafe { version_of(true) };
        text.inside[..INSIDE_MAX]
            .get(..text.length)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or(UNKNOWN)
            .to_owned()
    }
}
