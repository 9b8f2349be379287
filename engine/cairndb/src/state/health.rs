//! Health of a database handle: whether it may still read and write.
//!
//! Two conditions stop writes permanently. A handle is *poisoned* when a sync failed, so that the
//! contents of the disk are unknown until the database is reopened, or when a job produced output
//! that must not reach the disk, such as tables out of order. From then on no file is deleted. A
//! handle is *closed* by `close`.
//!
//! A background job that failed for another reason (a full disk, an unreadable page) leaves its
//! error here until a later attempt succeeds. Writes return that error only if they need what
//! the job would have freed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::Mutex;

const HEALTHY: u8 = 0;
const POISONED: u8 = 1;
/// Each read first looks for what another process has written.
const FOLLOWING: u8 = 2;
/// From here on, reads are refused.
const CLOSED: u8 = 3;
const FAILED: u8 = 4;

#[derive(Debug)]
pub(crate) struct Health {
    /// Directory of the database, added to the cause.
    path: Arc<Path>,
    state: AtomicU8,
    cause: Mutex<Option<Error>>,
    background: Mutex<Option<Error>>,
}

impl Health {
    /// Returns the health of an open handle to the database at `path`, which follows another
    /// process or not.
    pub(crate) fn new(path: Arc<Path>, follows: bool) -> Health {
        Health {
            path,
            state: AtomicU8::new(if follows { FOLLOWING } else { HEALTHY }),
            cause: Mutex::default(),
            background: Mutex::default(),
        }
    }

    /// Returns a health in which reads report `error`.
    pub(crate) fn failed(path: Arc<Path>, error: Error) -> Health {
        Health {
            state: AtomicU8::new(FAILED),
            cause: Mutex::new(Some(error)),
            ..Health::new(path, false)
        }
    }

    /// Returns whether a read needs no preparation.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.state.load(Ordering::Relaxed) == HEALTHY
    }

    /// Returns `Ok` while writes are allowed.
    #[inline]
    pub(crate) fn check_write(&self) -> Result<()> {
        // Relaxed: a write that races with the failure is ordered by the commit lock, which the
        // failing thread takes before it acknowledges anything.
        if self.state.load(Ordering::Relaxed) == HEALTHY {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    /// Returns `Ok` until the handle is closed.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        if self.state.load(Ordering::Relaxed) >= CLOSED {
            Err(self.error())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn error(&self) -> Error {
        if self.state.load(Ordering::Acquire) == CLOSED {
            return Error::new(ErrorKind::Closed, "the database handle was closed");
        }
        let cause = self.cause.lock().clone();
        if self.state.load(Ordering::Acquire) == FAILED
            && let Some(error) = cause
        {
            return error;
        }
        let message = match cause.as_ref().map(Error::kind) {
            None | Some(ErrorKind::Io | ErrorKind::NoSpace) => {
                "a sync failed earlier, so writes are refused; reopen the database"
            }
            Some(_) => {
                "an earlier failure (see the cause) may have left this handle in a bad state, so \
                 writes are refused; reopen the database"
            }
        };
        let error = Error::new(ErrorKind::Poisoned, message);
        match cause {
            Some(cause) => error.source_error(cause),
            None => error,
        }
    }

    /// Stops writes permanently, and returns the error that the caller should report.
    pub(crate) fn poison(&self, cause: Error) -> Error {
        let mut slot = self.cause.lock();
        if slot.is_none() {
            *slot = Some(cause.directory(&self.path));
        }
        drop(slot);
        let _ = self
            .state
            .compare_exchange(HEALTHY, POISONED, Ordering::AcqRel, Ordering::Acquire);
        self.error()
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.state.load(Ordering::Acquire) == POISONED
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Closes the handle. A poisoned handle keeps its cause.
    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// Records the error of a background job, which will be retried, or clears it (`None`).
    pub(crate) fn set_background(&self, error: Option<Error>) {
        *self.background.lock() = error;
    }

    /// Returns whether the last background job ran out of disk space.
    pub(crate) fn lacks_space(&self) -> bool {
        let background = self.background.lock();
        background
            .as_ref()
            .is_some_and(|error| error.kind() == ErrorKind::NoSpace)
    }

    /// Returns the error of the last background job, unless one has succeeded since.
    pub(crate) fn background(&self) -> Option<Error> {
        self.background.lock().clone()
    }
}
