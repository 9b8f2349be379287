//! Loads a store's library: from the given path, or the first of its names that the system's loader
//! finds.
//!
//! A library stays loaded until the process ends: some have threads and thread-local values whose
//! destructors run after the last store is closed.

#![expect(unsafe_code, reason = "loading a library runs its constructors")]

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::fault::Fault;

fn open(name: &OsStr) -> Result<Library, libloading::Error> {
    let flags = RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE;
    // SAFETY: loading runs the library's constructors, which the user requested by naming it.
    unsafe { Library::open(Some(name), flags) }
}

/// Loads the library at `path`, or the first of `names` that is found; Debian's `package` contains
/// one.
///
/// # Errors
/// The loader's error for `path`, or that none of `names` was found.
pub fn load(path: Option<&Path>, names: &[&str], package: &str) -> Result<Library, Fault> {
    if let Some(path) = path {
        return open(path.as_os_str()).map_err(|error| {
            let said = error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string);
            Fault::new(format!("{}: {said}", path.display()))
        });
    }
    let found = names.iter().find_map(|name| open(name.as_ref()).ok());
    found.ok_or_else(|| {
        let names = names.join(", ");
        Fault::new(format!("none of {names} was found; install {package}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let error = load(None, &["libnosuch.so.1", "libnosuch.so"], "libnosuch1").unwrap_err();
        let said = error.to_string();
        assert_eq!(
            said,
            "none of libnosuch.so.1, libnosuch.so was found; install libnosuch1"
        );
        let error = load(Some(Path::new("/no/such.so")), &[], "").unwrap_err();
        assert!(error.to_string().starts_with("/no/such.so: "), "{error}");
    }
}
