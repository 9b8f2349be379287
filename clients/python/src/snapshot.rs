//! Snapshots.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;

use crate::arguments::PathArgument;
use crate::boundary::{Report, guarded};
use crate::errors::raised;
use crate::reader::{Moment, Reader};
use crate::scan::changes::Feed;
use crate::store::{ForkCounts, fork};

/// The reads of a snapshot. `cairndb.Snapshot` derives from it.
#[pyclass(frozen, subclass, extends = Reader, name = "Snapshot", module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct SnapshotReader;

#[pymethods]
impl SnapshotReader {
    /// Takes a snapshot of a database or a keyspace, or that which was taken with `changes`; or,
    /// with `keyspace`, returns what a snapshot holds of that.
    #[new]
    #[pyo3(signature = (of, keyspace=None, changes=None))]
    fn new(
        py: Python<'_>,
        of: Bound<'_, Reader>,
        keyspace: Option<&str>,
        changes: Option<Bound<'_, Feed>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let of = of.get();
        let reader = if let Some(name) = keyspace {
            of.within(py, name)?
        } else {
            let handle = Arc::clone(of.handle());
            let snapshot = match changes {
                Some(feed) => feed.get().take_snapshot(),
                None => py.detach(|| guarded(|| Ok(handle.open_db()?.snapshot()))),
            };
            let snapshot = snapshot.map_err(|error| raised(py, &error))?;
            let moment = Moment::Then(Arc::new(Mutex::new(Some(Arc::new(snapshot)))));
            Reader::new(handle, of.keyspace().clone(), moment)
        };
        Ok(PyClassInitializer::from(reader).add_subclass(SnapshotReader))
    }

    #[pyo3(signature = (path, progress))]
    fn _fork(
        slf: &Bound<'_, Self>,
        path: PathArgument,
        progress: Option<Report>,
    ) -> PyResult<ForkCounts> {
        let snapshot = slf.as_super().get().snapshot(slf.py())?;
        fork(slf.py(), progress, || snapshot.fork(&path.0))
    }

    /// Releases the snapshot. Closing again does nothing.
    fn close(slf: &Bound<'_, Self>) {
        slf.as_super().get().release();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: Bound<'_, PyAny>) {
        Self::close(slf);
    }
}
