//! Whether the handle may still write.
//!
//! Two conditions stop writes. *Poisoned* is for ever: a sync failed, so nobody knows what is on
//! disk, and only a reopening can find out; or a job made what must not reach the disk, tables out
//! of order. No file is deleted from then on. *Closed* is the
//! handle's end. A background job that failed for another reason (a full disk, an unreadable page)
//! leaves its error here until a later attempt succeeds; writes meet it only when they need the
//! room that job would have made.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::Mutex;

const HEALTHY: u8 = 0;
const POISONED: u8 = 1;
const CLOSED: u8 = 2;

#[derive(Debug)]
pub(crate) struct Health {
    /// Where the database is, for what it says of a cause.
    path: Arc<Path>,
    state: AtomicU8,
    cause: Mutex<Option<Error>>,
    background: Mutex<Option<Error>>,
}

impl Health {
    /// That of a handle on the database at `path`, open and well.
    pub(crate) fn new(path: Arc<Path>) -> Health {
        Health {
            path,
            state: AtomicU8::new(HEALTHY),
            cause: Mutex::default(),
            background: Mutex::default(),
        }
    }

    /// `Ok` while writes are allowed.
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

    /// `Ok` while reads are allowed: always, but after closing.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        if self.state.load(Ordering::Relaxed) == CLOSED {
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
        let message = match cause.as_ref().map(Error::kind) {
            None | Some(ErrorKind::Io | ErrorKind::NoSpace) => {
                "a sync failed earlier, so writes are refused; reopen the database"
            }
            Some(_) => {
                "something went wrong earlier that was not kept, as the cause says, so writes are \
                 refused; reopen the database"
            }
        };
        let error = Error::new(ErrorKind::Poisoned, message);
        match cause {
            Some(cause) => error.source_error(cause),
            None => error,
        }
    }

    /// Stops writes for ever; returns the error the caller should report.
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

    /// Ends the handle; a poisoned one stays poisoned in its cause.
    pub(crate) fn close(&self) {
        self.state.store(CLOSED, Ordering::Release);
    }

    /// Notes that a background job failed; it will be tried again.
    pub(crate) fn set_background(&self, error: Option<Error>) {
        *self.background.lock() = error;
    }

    /// Whether the last background job found no room.
    pub(crate) fn lacks_space(&self) -> bool {
        let background = self.background.lock();
        background
            .as_ref()
            .is_some_and(|it| it.kind() == ErrorKind::NoSpace)
    }

    /// The error of the last background job, unless one has succeeded since.
    pub(crate) fn background(&self) -> Option<Error> {
        self.background.lock().clone()
    }
}
