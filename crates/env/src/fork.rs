//! Whether the process that made something is the one that asks.
//!
//! After `fork` a child has a handle's memory and descriptors and none of its threads, and shares with the
//! parent what is mapped of the log: a write of the child would be stored over the parent's next record.
//! So each write asks [`Origin::is_here`], which costs one load: a counter that the system's own hook for
//! forks raises in the child. Asking the system for the process number with each put, 50 ns and more, lost;
//! so did a page that the kernel wipes at a fork, which is as cheap but known to Linux alone.
//!
//! A child that was made by a bare system call, past the C library, is found by [`Origin::check`] only,
//! which compares process numbers too, at the next segment, sync, flush or close.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use cairndb_base::{Error, ErrorKind, Result};

/// Forks between the first process and this one, since the first [`Origin`] was made.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process something was made in.
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

    /// Forks between the first process and this one, as far as the C library made them.
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

    /// Whether this is the process still, as far as one load can tell.
    #[inline]
    pub fn is_here(&self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.forks
    }

    /// Refuses what came over `fork`, however it was made.
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

/// What is said to a child that uses its parent's handle.
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

    /// Runs in the child, before anything else there: an atomic store is all that is allowed.
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn install() {
        static ONCE: Once = Once::new();
        // Where there is no memory for one more hook, process numbers are compared all the same.
        // SAFETY: the one function given is of the program, lives as long as it, and does nothing but add to
        // a static atomic, which a child of a process with threads may do.
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
