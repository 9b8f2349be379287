//! Snapshots.

use pyo3::prelude::*;

use crate::reader::Reader;

/// The reads of a snapshot. `cairndb.Snapshot` derives from it.
#[pyclass(frozen, subclass, extends = Reader, name = "Snapshot", module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct SnapshotReader;

#[pymethods]
impl SnapshotReader {
    /// Takes a snapshot of the database of `store`.
    #[new]
    fn new(
        py: Python<'_>,
        store: Bound<'_, crate::store::Store>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let reader = crate::store::Store::snapshot_of(py, &store)?;
        Ok(PyClassInitializer::from(reader).add_subclass(SnapshotReader))
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
