//! Fork detection: whether this is still the process that made something.
//!
//! After `fork` a child has the memory and descriptors of a handle but none of its threads, and
//! shares the log's mapping with the parent: a write of the child would overwrite the parent's next
//! record. So each write calls [`Origin::is_here`], which costs one load of a counter that the
//! system's fork hook increments in the child. Asking the system for the process number with each
//! put lost because of its cost. A page that the kernel wipes at a fork lost because only Linux has
//! it; it is as cheap.
//!
//! A child created by a bare system call, bypassing the C library, is only detected by
//! [`Origin::check`], which also compares process numbers, at the next segment, sync, flush or
//! close.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use cairndb_base::{Error, ErrorKind, Result};

/// Forks between the first process and this one, counted since the first [`Origin`] was made.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which something was made.
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
    /// This process.
    pub fn here() -> Origin {
        hook::install();
        Origin {
            // Relaxed: a fork has one thread when it counts itself.
            forks: FORKS.load(Ordering::Relaxed),
            process: process::id(),
        }
    }

    /// Forks between the first process and this one, as far as they went through the C library.
    pub(crate) fn forks(self) -> u32 {
        self.forks
    }

    /// Another process.
    #[cfg(test)]
    pub(crate) fn elsewhere() -> Origin {
        let here = Origin::here();
        Origin {
            process: here.process + 1,
            ..here
        }
    }

    /// Whether this is still that process, as far as one load can tell.
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
        // Without memory for another hook, process numbers are still compared. SAFETY: the function
        // is part of the program, lives as long as it, and only adds to a static atomic, which a
        // child of a process with threads may do.
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
