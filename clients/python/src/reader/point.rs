//! What reads are about: a keyspace, as of some time.

use std::sync::{Arc, Mutex, PoisonError};

use cairndb::{Cursor, Error, ErrorKind, Keyspace, Result, Snapshot};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::boundary::detached;
use crate::errors::raised;
use crate::handle::Handle;
use crate::handle::transaction::OpenTransaction;
use crate::scan::{Bounds, Rest, Scan, What};
use crate::values::{ValueSource, ValueView};

/// The time of reads.
#[derive(Clone, Debug)]
pub(crate) enum Moment {
    /// The database as it is.
    Now,
    /// A snapshot; `None` once it was released.
    Then(Arc<Mutex<Option<Arc<Snapshot>>>>),
    /// What a transaction sees.
    Within(Arc<OpenTransaction>),
}

/// A keyspace of a database, and when it is read. The object that reads shares it with its ranges.
#[derive(Debug)]
pub(crate) struct ReadPoint {
    handle: Arc<Handle>,
    keyspace: Keyspace,
    moment: Moment,
}

impl ReadPoint {
    pub(crate) fn new(handle: Arc<Handle>, keyspace: Keyspace, moment: Moment) -> ReadPoint {
        ReadPoint {
            handle,
            keyspace,
            moment,
        }
    }

    #[inline]
    pub(crate) fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    pub(crate) fn moment(&self) -> &Moment {
        &self.moment
    }

    #[inline]
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Returns the snapshot that is read.
    ///
    /// # Errors
    /// `Closed` if there is none any more.
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>> {
        match &self.moment {
            Moment::Then(snapshot) => live(snapshot),
            Moment::Now | Moment::Within(_) => Err(Error::invalid("a snapshot is required")),
        }
    }

    /// Releases the snapshot.
    pub(crate) fn release(&self) {
        if let Moment::Then(snapshot) = &self.moment {
            let snapshot = snapshot
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            drop(snapshot);
        }
    }

    /// Passes the source of the reads to `read`.
    ///
    /// # Errors
    /// `Forked`; `Closed` if the snapshot was released; those of `read`.
    #[inline]
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(ValueSource<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.handle.db().map_err(|error| raised(py, &error))?;
        let at = |view| ValueSource {
            keyspace: &self.keyspace,
            view,
        };
        match &self.moment {
            Moment::Now => read(at(ValueView::Now)),
            Moment::Then(snapshot) => {
                let snapshot = live(snapshot).map_err(|error| raised(py, &error))?;
                read(at(ValueView::Then(&snapshot)))
            }
            Moment::Within(transaction) => {
                // Own writes would be found without the database.
                self.handle.open_db().map_err(|error| raised(py, &error))?;
                read(at(ValueView::Within(transaction)))
            }
        }
    }

    /// Returns a cursor over a database or a snapshot.
    ///
    /// # Errors
    /// Those of [`ReadPoint::with`].
    pub(crate) fn cursor(&self, py: Python<'_>) -> PyResult<Cursor> {
        let none = || PyTypeError::new_err("a database or a snapshot is required");
        self.with(py, |source| {
            // A follower looks for new writes first, and may wait for another thread that does.
            detached(py, || source.cursor())?.ok_or_else(none)
        })
    }

    /// Begins an iteration.
    ///
    /// # Errors
    /// `Forked`, `Closed`.
    pub(crate) fn scan(&self, py: Python<'_>, bounds: Bounds, what: What) -> PyResult<Scan> {
        self.handle.open_db().map_err(|error| raised(py, &error))?;
        if let Moment::Within(transaction) = &self.moment {
            let rest = Rest::new(transaction, &self.keyspace, bounds);
            return Scan::within(py, &self.handle, rest, what);
        }
        Scan::new(py, &self.handle, self.cursor(py)?, bounds, what)
    }

    /// Returns whether the database or the snapshot was closed, or the transaction has ended.
    pub(crate) fn is_closed(&self, py: Python<'_>) -> bool {
        let released = match &self.moment {
            Moment::Now => false,
            Moment::Then(snapshot) => live(snapshot).is_err(),
            Moment::Within(_) => self.has_ended(py),
        };
        released || self.handle.is_closed()
    }

    /// Returns whether the reads are of a transaction that has ended. False in a forked child,
    /// which may have been forked during a call of another thread, and so waits for no lock.
    pub(crate) fn has_ended(&self, py: Python<'_>) -> bool {
        match &self.moment {
            Moment::Within(transaction) if self.handle.db().is_ok() => {
                py.detach(|| transaction.has_ended())
            }
            _ => false,
        }
    }
}

fn live(snapshot: &Mutex<Option<Arc<Snapshot>>>) -> Result<Arc<Snapshot>> {
    // Never held across a call, so waiting for it is short.
    let snapshot = snapshot.lock().unwrap_or_else(PoisonError::into_inner);
    let released = || Error::new(ErrorKind::Closed, "the snapshot was closed");
    snapshot.clone().ok_or_else(released)
}
