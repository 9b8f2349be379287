//! A heap profile, from an allocator that has a heap profiler.
//!
//! The full tcmalloc library has one, enabled by `HEAPPROFILE` in the environment; `--allocator`
//! preloads it into the process. Nothing is linked: the functions are looked up when they are
//! needed.

#![expect(
    unsafe_code,
    reason = "functions of an allocator that may or may not have been preloaded"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use super::directory::with_ending;

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoProfile {
    /// No allocator in this process has a heap profiler.
    NoAllocator,
    /// The allocator has a heap profiler, but it is not running.
    Off,
    /// The profile could not be written.
    Write(String),
}

impl NoProfile {
    /// Returns the message for the user; it starts like LevelDB's.
    pub(crate) fn sentence(&self) -> String {
        let why = match self {
            Self::NoAllocator => {
                "no allocator here keeps a profile; --allocator=libtcmalloc.so.4 with HEAPPROFILE=PREFIX set does"
            }
            Self::Off => "the allocator's profiler is off; set HEAPPROFILE=PREFIX",
            Self::Write(error) => error,
        };
        format!("heap profiling not supported: {why}\n")
    }
}

/// Returns the address of a function in this process, from any loaded library.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is NUL-terminated; a lookup has no side effects.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Returns the text of the allocator's profile.
fn profile() -> Result<Vec<u8>, NoProfile> {
    let (Some(running), Some(get)) = (symbol(c"IsHeapProfilerRunning"), symbol(c"GetHeapProfile"))
    else {
        return Err(NoProfile::NoAllocator);
    };
    // SAFETY: gperftools declares `int IsHeapProfilerRunning(void)`.
    let running = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> c_int>(running) };
    if running() == 0 {
        return Err(NoProfile::Off);
    }
    // SAFETY: gperftools declares `char* GetHeapProfile()`.
    let get = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> *mut c_char>(get) };
    let text = get();
    if text.is_null() {
        return Err(NoProfile::Off);
    }
    // SAFETY: the text is NUL-terminated and owned by the caller.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes().to_vec();
    // SAFETY: it was allocated by this process's `malloc` and is not used again.
    unsafe { libc::free(text.cast()) };
    Ok(bytes)
}

/// Writes profile `number` next to a database, where a fresh fill does not remove it. Returns its
/// path.
pub(crate) fn write(db: &Path, number: u32) -> Result<PathBuf, NoProfile> {
    let bytes = profile()?;
    let path = with_ending(db, &format!(".heap-{number:04}"));
    match std::fs::write(&path, bytes) {
        Ok(()) => Ok(path),
        Err(error) => Err(NoProfile::Write(format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_such_an_allocator_no_file_is_made() {
        let home = tempfile::tempdir().expect("a directory");
        let refused = write(&home.path().join("db"), 1).expect_err("no profiler in tests");
        assert_eq!(refused, NoProfile::NoAllocator);
        assert!(
            refused
                .sentence()
                .starts_with("heap profiling not supported: ")
        );
        let left = std::fs::read_dir(home.path()).expect("there").count();
        assert_eq!(left, 0);
    }
}
