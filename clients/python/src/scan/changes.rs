//! The feed of changes of a database.
//!
//! A wait ends after a while and goes on, so that signals are looked for and other threads have
//! their turn.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use cairndb::{
    BatchEntry, Change, ChangeKind, Changes, ChangesOptions, Durability, Error, ErrorKind, Result,
    Snapshot,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::TURN_MAX;
use super::turn::TurnCell;
use crate::arguments::{DurabilityName, Seconds};
use crate::boundary::detached;
use crate::errors::raised;
use crate::handle::Handle;
use crate::store::{Store, handle_of};

/// Time for other threads between two parts of a wait.
const GIVE_WAY: Duration = Duration::from_millis(1);

/// The changes of a database, each as a whole and in order, as `Change` objects. Made by
/// `Database.changes` and `Database.snapshot_and_changes`.
///
/// As an iterator it waits for the next change, without the interpreter's lock; Ctrl-C ends the
/// wait. Close it, or use it in a `with` statement: what it has not returned is kept.
#[pyclass(frozen, name = "Changes", module = "cairndb")]
pub(crate) struct Feed {
    handle: Arc<Handle>,
    /// Makes the object that a step returns.
    make: Py<PyAny>,
    /// `None` once it was closed.
    position: TurnCell<Option<Changes>>,
    /// What `Database.snapshot_and_changes` has yet to take.
    snapshot: Mutex<Option<Snapshot>>,
}

impl Feed {
    /// Returns the snapshot that was taken with the feed, once.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none.
    pub(crate) fn take_snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let none = || Error::invalid("the feed has no snapshot");
        snapshot.take().ok_or_else(none)
    }

    /// Calls the feed without the interpreter's lock.
    fn call<T: Send>(
        &self,
        object: &Bound<'_, PyAny>,
        call: impl FnOnce(&mut Changes) -> Result<T> + Send,
    ) -> PyResult<T> {
        let py = object.py();
        let failed = |error| raised(py, &error);
        self.handle.open_db().map_err(failed)?;
        let done = self.position.with(object, |feed| {
            let closed = || Error::new(ErrorKind::Closed, "the feed was closed");
            let feed = feed.as_mut().ok_or_else(closed)?;
            self.position.detached(py, || call(feed))
        });
        done.flatten().map_err(failed)
    }

    /// Returns the next change; waits for it, but not longer than `limit`.
    #[expect(
        clippy::disallowed_methods,
        reason = "when to look for a signal, and to let other threads run, is Python's affair"
    )]
    fn wait<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        limit: Option<Duration>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let begun = Instant::now();
        loop {
            // While no thread uses the feed, which the handler may use.
            object.py().check_signals()?;
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            let part = left.map_or(TURN_MAX, |left| left.min(TURN_MAX));
            let found = self.call(object, |feed| match part {
                Duration::ZERO => feed.try_next(),
                part => feed.next_within(part),
            })?;
            if found.is_some() || left == Some(part) {
                return found.map(|it| self.made(object.py(), &it)).transpose();
            }
            // Another thread, such as one that closes the feed, has its turn only if it gets the
            // interpreter's lock before the next part.
            object.py().detach(|| thread::sleep(GIVE_WAY));
        }
    }

    fn made<'py>(&self, py: Python<'py>, change: &Change) -> PyResult<Bound<'py, PyAny>> {
        let since = change
            .time
            .and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let ms = since.and_then(|it| u64::try_from(it.as_millis()).ok());
        let durability = match change.durability {
            Durability::Sync => "sync",
            _ => "os",
        };
        let mut entries = Vec::new();
        let (kind, keyspace, unlogged) = match &change.kind {
            ChangeKind::Batch(batch) => {
                let made = batch.iter().map(|(keyspace, entry)| {
                    let (operation, key, value) = parts(entry);
                    let value = value.map(|value| PyBytes::new(py, value));
                    (operation, keyspace, PyBytes::new(py, key), value)
                });
                entries.extend(made);
                ("batch", None, 0)
            }
            ChangeKind::Unlogged { entries } => ("unlogged", None, *entries),
            ChangeKind::KeyspaceCreated { name } => ("keyspace_created", Some(&**name), 0),
            ChangeKind::KeyspaceDropped { name } => ("keyspace_dropped", Some(&**name), 0),
            _ => ("unknown", None, 0),
        };
        let place = change.place.to_string();
        let arguments = (place, ms, durability, kind, entries, keyspace, unlogged);
        self.make.bind(py).call1(arguments)
    }
}

/// Returns the name of an operation, the key or first key, and the value, operand or end.
fn parts(entry: BatchEntry<'_>) -> (&'static str, &[u8], Option<&[u8]>) {
    match entry {
        BatchEntry::Put { key, value } => ("put", key, Some(value)),
        BatchEntry::Delete { key } => ("delete", key, None),
        BatchEntry::Merge { key, operand } => ("merge", key, Some(operand)),
        BatchEntry::DeleteRange { from, to } => ("delete_range", from, to),
        _ => ("unknown", &[], None),
    }
}

#[pymethods]
impl Feed {
    #[new]
    fn new(
        py: Python<'_>,
        db: Bound<'_, Store>,
        make: Py<PyAny>,
        after: Option<&str>,
        lease: Option<&str>,
        bytes_max: u64,
        durability: DurabilityName,
        sync_interval: Seconds,
        snapshot: bool,
    ) -> PyResult<Self> {
        let handle = Arc::clone(handle_of(&db));
        let mut options = ChangesOptions::new()
            .bytes_max(bytes_max)
            .durability(durability.0)
            .sync_interval(sync_interval.0);
        if let Some(name) = lease {
            options = options.lease(name);
        }
        let (snapshot, changes) = detached(py, || {
            let db = handle.open_db()?;
            if snapshot {
                let (snapshot, changes) = db.snapshot_and_changes(&options)?;
                return Ok((Some(snapshot), changes));
            }
            if let Some(place) = after {
                options = options.after(place.parse()?);
            }
            Ok((None, db.changes(&options)?))
        })?;
        Ok(Feed {
            handle,
            make,
            position: TurnCell::new(Some(changes)),
            snapshot: Mutex::new(snapshot),
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        slf.get().wait(slf.as_any(), None)
    }

    /// Returns the next change, or None if there is none to return now.
    ///
    /// Raises `RevokedError` if the consumer fell off; `ClosedError`, also if another thread closes
    /// the database; `CorruptionError`, `IoError`, `PoisonedError`.
    fn try_next<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        slf.get().wait(slf.as_any(), Some(Duration::ZERO))
    }

    /// Returns the next change, or None if there is none within that many seconds. Ctrl-C ends the
    /// wait. Raises the same as `try_next`.
    fn next_within<'py>(
        slf: &Bound<'py, Self>,
        seconds: Seconds,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        slf.get().wait(slf.as_any(), Some(seconds.0))
    }

    /// The place after the last change.
    #[getter]
    fn place(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.get()
            .call(slf.as_any(), |feed| Ok(feed.place().to_string()))
    }

    /// Records that what was made of the changes up to `place` is stored: the lease keeps only what
    /// follows. Without a lease, each change is done with when the next one is asked for.
    ///
    /// The lease is durable after some time, so store the place as well, with what was made of the
    /// changes. Costs a sync if log is freed, otherwise nothing. Raises `InvalidArgumentError` or
    /// `RevokedError` for a place that was not returned, and the same as `flush`.
    fn acknowledge(slf: &Bound<'_, Self>, place: &str) -> PyResult<()> {
        slf.get()
            .call(slf.as_any(), |feed| feed.acknowledge(place.parse()?))
    }

    /// Ends the feed, so that nothing is kept for it but what its lease holds. Further calls raise
    /// `ClosedError`. Closing again does nothing.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let feed = slf.get();
        let handles = std::slice::from_ref(&feed.handle);
        let ended = feed.position.end(slf.as_any(), handles, Option::take);
        ended.map(drop)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: Bound<'_, PyAny>) -> PyResult<()> {
        Feed::close(slf)
    }
}
