//! The open database that all Python objects of it share.
//!
//! Invariant: every handle that is not closed is in [`OPEN`], so that [`close_all`] finds it when
//! the interpreter exits. It must be closed before the interpreter is finalized, because a
//! background thread may need the interpreter for a comparator or a merge operator.

mod this_thread;
pub(crate) mod transaction;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cairndb::env::{Origin, forked};
use cairndb::{Db, Error, ErrorKind, Options, Result};
use pyo3::prelude::*;

use crate::boundary::detached;
pub(crate) use this_thread::this_thread;

/// The handles of this process, and of its parent if it was forked. Locked only by threads that are
/// attached, as the one is that forks, so that the child never inherits it locked.
static OPEN: Mutex<Vec<Weak<Handle>>> = Mutex::new(Vec::new());

/// An open database.
#[derive(Debug)]
pub(crate) struct Handle {
    db: Db,
    origin: Origin,
    /// Opened with flag 'r', or to follow.
    read_only: bool,
    closed: AtomicBool,
}

impl Handle {
    /// Opens a database.
    ///
    /// # Errors
    /// Those of `Options::open`.
    pub(crate) fn open(options: &Options, path: &Path, read_only: bool) -> Result<Arc<Handle>> {
        let handle = Arc::new(Handle {
            origin: Origin::here(),
            db: options.open(path)?,
            read_only,
            closed: AtomicBool::new(false),
        });
        Python::attach(|_| {
            let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|handle| handle.strong_count() > 0);
            open.push(Arc::downgrade(&handle));
        });
        Ok(handle)
    }

    /// Returns the database, in the process that opened it.
    ///
    /// # Errors
    /// `Forked`. Whether the database is closed is left to the call.
    #[inline]
    pub(crate) fn db(&self) -> Result<&Db> {
        if self.origin.is_here() {
            Ok(&self.db)
        } else {
            Err(forked())
        }
    }

    /// Returns the database if it is open.
    ///
    /// # Errors
    /// `Forked`, `Closed`.
    #[inline]
    pub(crate) fn open_db(&self) -> Result<&Db> {
        if self.is_closed() {
            return Err(closed());
        }
        self.db()
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: the flag orders nothing; the store itself refuses calls once it is closed.
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns whether the database was opened for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns the path as given.
    pub(crate) fn path(&self) -> &Path {
        self.db.path()
    }

    /// Closes the database. The first call returns the store's error, later ones succeed.
    ///
    /// # Errors
    /// Those of `Db::close`; `Forked`.
    pub(crate) fn close(&self) -> Result<()> {
        let db = self.db()?;
        let again = self.closed.swap(true, Ordering::Relaxed);
        let closed = db.close();
        if again { Ok(()) } else { closed }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.is_closed() || !self.origin.is_here() {
            return;
        }
        // The last object of a database that the program did not close. Closing waits for
        // background threads, which may wait for the interpreter.
        let close = || drop(self.db.close());
        if Python::try_attach(|py| py.detach(close)).is_none() {
            drop(self.db.close());
        }
    }
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the database was closed")
}

fn live(_py: Python<'_>) -> Vec<Arc<Handle>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let handles = open.iter().filter_map(Weak::upgrade);
    handles
        .filter(|handle| handle.origin.is_here() && !handle.is_closed())
        .collect()
}

/// Closes every open database of this process. The package calls it when the interpreter exits.
#[pyfunction]
#[pyo3(name = "_close_all")]
pub(crate) fn close_all(py: Python<'_>) -> PyResult<()> {
    let handles = live(py);
    detached(py, || {
        for handle in handles {
            // At exit nobody can receive the error. The next open recovers what was acknowledged.
            drop(handle.close());
        }
        Ok(())
    })
}

/// Returns the number of open databases of this process, for tests.
#[pyfunction]
#[pyo3(name = "_open_databases")]
pub(crate) fn open_databases(py: Python<'_>) -> usize {
    live(py).len()
}
