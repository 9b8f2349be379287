//! An open environment, safe to call.

#![expect(unsafe_code, reason = "calls libmdbx, a C library")]

use std::ffi::{CStr, CString, c_int};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Once;

use bench_core::fault::Fault;
use mdbx_sys as sys;

/// Converts a return code to a result.
#[inline]
pub(crate) fn check(code: c_int) -> Result<(), Fault> {
    if code == sys::MDBX_SUCCESS {
        Ok(())
    } else {
        Err(fault(code))
    }
}

#[cold]
fn fault(code: c_int) -> Fault {
    // SAFETY: takes any number; returns null, a static string, or one that stays valid until the
    // thread's next call.
    let text = unsafe { sys::mdbx_strerror(code) };
    if text.is_null() {
        return Fault::new(format!("libmdbx error {code}"));
    }
    // SAFETY: not null, so NUL-terminated, and copied before the next call.
    let text = unsafe { CStr::from_ptr(text) };
    Fault::new(text.to_string_lossy().into_owned())
}

/// Returns the library's version.
pub(crate) fn version() -> String {
    // SAFETY: a constant of the library.
    let version = unsafe { &sys::mdbx_version };
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

/// Keeps the library from writing notices to the standard error, one for each growth of the file.
fn log_only_errors() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // SAFETY: takes numbers; without a function of ours, messages go to the standard error.
        unsafe { sys::mdbx_setup_debug(sys::MDBX_LOG_ERROR, sys::MDBX_DBG_DONTCHANGE, None) };
    });
}

/// What an environment is opened with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) flags: sys::MDBX_env_flags_t,
    /// Upper bound of the file size.
    pub(crate) upper_bytes: isize,
    pub(crate) readers: u32,
    /// Number of named databases.
    pub(crate) databases: usize,
}

/// An open environment.
#[derive(Debug)]
pub(crate) struct Env {
    raw: NonNull<sys::MDBX_env>,
}

// SAFETY: the library allows calls with an environment from any thread; transactions, which are
// bound to a thread, are types of their own.
unsafe impl Sync for Env {}

impl Env {
    /// Opens the environment in the folder `dir`.
    pub(crate) fn open(dir: &Path, options: &Options) -> Result<Self, Fault> {
        const FILE_MODE: sys::mdbx_mode_t = 0o644;
        const DEFAULT: isize = -1;
        let path = CString::new(dir.as_os_str().as_bytes())
            .map_err(|_| Fault::new("the directory's name contains a NUL byte"))?;
        log_only_errors();
        let mut raw = null_mut();
        // SAFETY: the output location is live.
        check(unsafe { sys::mdbx_env_create(&raw mut raw) })?;
        let raw = NonNull::new(raw).ok_or_else(|| Fault::new("no environment"))?;
        // From here on, the drop closes the environment.
        let env = Self { raw };
        if options.flags & sys::MDBX_RDONLY == 0 {
            let upper = options.upper_bytes;
            // SAFETY: the environment is live and not open yet.
            let set = unsafe {
                sys::mdbx_env_set_geometry(
                    raw.as_ptr(),
                    DEFAULT,
                    DEFAULT,
                    upper,
                    DEFAULT,
                    DEFAULT,
                    DEFAULT,
                )
            };
            check(set)?;
        }
        env.set(sys::MDBX_opt_max_readers, u64::from(options.readers))?;
        env.set(sys::MDBX_opt_max_db, options.databases as u64)?;
        // SAFETY: the environment is live and not open yet; the path is NUL-terminated.
        check(unsafe {
            sys::mdbx_env_open(raw.as_ptr(), path.as_ptr(), options.flags, FILE_MODE)
        })?;
        Ok(env)
    }

    fn set(&self, option: sys::MDBX_option_t, value: u64) -> Result<(), Fault> {
        // SAFETY: the environment is live.
        check(unsafe { sys::mdbx_env_set_option(self.as_ptr(), option, value) })
    }

    /// Returns the pointer, which is valid for the lifetime of `self`.
    #[inline]
    pub(crate) const fn as_ptr(&self) -> *mut sys::MDBX_env {
        self.raw.as_ptr()
    }

    /// Writes to the disk what has not been written yet.
    pub(crate) fn sync(&self) -> Result<(), Fault> {
        let (force, without_waiting) = (true, false);
        // SAFETY: the environment is open.
        let synced = unsafe { sys::mdbx_env_sync_ex(self.as_ptr(), force, without_waiting) };
        // "True": there was nothing to write.
        if synced == sys::MDBX_RESULT_TRUE {
            return Ok(());
        }
        check(synced)
    }

    /// Writes a compacted copy to a file.
    pub(crate) fn copy_to(&self, file: &File) -> Result<(), Fault> {
        let descriptor = file.as_raw_fd();
        // SAFETY: the environment is open, and so is the file during the call.
        check(unsafe { sys::mdbx_env_copy2fd(self.as_ptr(), descriptor, sys::MDBX_CP_COMPACT) })
    }

    /// Returns the numbers of the environment.
    pub(crate) fn info(&self) -> Option<sys::MDBX_envinfo> {
        // SAFETY: made of numbers alone, for which zero is a value.
        let mut info: sys::MDBX_envinfo = unsafe { std::mem::zeroed() };
        let bytes = size_of_val(&info);
        // SAFETY: the environment is open; the output location is live and has that size.
        let status = unsafe { sys::mdbx_env_info_ex(self.as_ptr(), null(), &raw mut info, bytes) };
        (status == sys::MDBX_SUCCESS).then_some(info)
    }

    /// Returns the numbers of the unnamed database.
    pub(crate) fn stat(&self) -> Option<sys::MDBX_stat> {
        // SAFETY: made of numbers alone, for which zero is a value.
        let mut stat: sys::MDBX_stat = unsafe { std::mem::zeroed() };
        let bytes = size_of_val(&stat);
        // SAFETY: the environment is open; the output location is live and has that size.
        let status = unsafe { sys::mdbx_env_stat_ex(self.as_ptr(), null(), &raw mut stat, bytes) };
        (status == sys::MDBX_SUCCESS).then_some(stat)
    }

    /// Closes the environment as its users do, which also writes to the disk what has not been
    /// written yet.
    pub(crate) fn close(self) -> Result<(), Fault> {
        let raw = self.raw.as_ptr();
        std::mem::forget(self);
        // SAFETY: live, and not used again; transactions borrow it, so none exists.
        check(unsafe { sys::mdbx_env_close_ex(raw, false) })
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        // SAFETY: live, and not used again; transactions borrow it, so none exists.
        unsafe { sys::mdbx_env_close_ex(self.as_ptr(), false) };
    }
}
