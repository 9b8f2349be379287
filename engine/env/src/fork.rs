//! Fork detection: whether the current process is the one that created a handle.
//!
//! After `fork` a child has the memory and descriptors of a handle but none of its threads, and
//! shares the log's mapping with the parent: a write of the child would overwrite the parent's next
//! record. So each write calls [`Origin::is_here`], which costs one load of a counter that the
//! system's fork hook increments in the child. Rejected: asking the system for the process ID on
//! each put, because of its cost; and a page that the kernel wipes on fork, which is as cheap but
//! exists only on Linux.
//!
//! A child created by a bare system call, bypassing the C library, is only detected by
//! [`Origin::check`], which also compares process IDs, at the next segment, sync, flush or close.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use cairndb_base::{Error, ErrorKind, Result};

/// Number of forks between the first process and this one, counted since the first [`Origin`] was
/// created.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that created an object.
///
/// ```
/// use cairndb_env::Origin;
/// let origin = Origin::here();
/// assert!(origin.is_here());
/// origin.check()?;
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    forks: u32,
    process: u32,
}

impl Origin {
    /// Returns the current process.
    pub fn here() -> Origin {
        hook::install();
        Origin {
            // Relaxed: a forked child has a single thread when it increments the counter.
            forks: FORKS.load(Ordering::Relaxed),
            process: process::id(),
        }
    }

    /// Returns the number of forks between the first process and this one that went through the C
    /// library.
    pub(crate) fn forks(self) -> u32 {
        self.forks
    }

    /// Returns the current number of forks, of which an origin holds the number at its creation.
    /// For owners of many handles, which keep this number instead of an origin each. It is counted
    /// once [`Origin::here`] has been called.
    #[inline]
    pub fn forks_now() -> u32 {
        FORKS.load(Ordering::Relaxed)
    }

    /// Returns a process other than the current one.
    #[cfg(test)]
    pub(crate) fn elsewhere() -> Origin {
        let here = Origin::here();
        Origin {
            process: here.process + 1,
            ..here
        }
    }

    /// Returns whether this is the current process, as far as one load can determine.
    #[inline]
    pub fn is_here(&self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.forks
    }

    /// Returns an error in any other process, however it was forked.
    ///
    /// # Errors
    /// `Forked`.
    pub fn check(&self) -> Result<()> {
        if self.is_here() && self.process == process::id() {
            Ok(())
        } else {
            Err(forked())
        }
    }
}

/// The error for a child that uses its parent's handle.
#[cold]
pub fn forked() -> Error {
    Error::new(
        ErrorKind::Forked,
        "the handle belongs to the process that opened it; open the database in the child",
    )
}

#[cfg(all(unix, not(miri)))]
mod hook {
    use std::sync::Once;
    use std::sync::atomic::Ordering;

    use super::FORKS;

    /// Runs in the child, before anything else there; only an atomic store is allowed.
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn install() {
        static ONCE: Once = Once::new();
        // If there is no memory for another hook, process IDs are still compared. SAFETY: the
        // function is part of the program, lives as long as the program, and only increments a
        // static atomic, which a child of a multithreaded process may do.
        #[expect(unsafe_code, reason = "the hook for forks has no safe wrapper")]
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(count));
        });
    }
}

#[cfg(not(all(unix, not(miri))))]
mod hook {
    pub(super) fn install() {}
}
