//! Batches: writes that are applied together.

use std::sync::{Arc, Mutex, MutexGuard};

use cairndb::{Durability, Keyspace, WriteBatch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;

use crate::arguments::{Bytes, DurabilityName, range, write_options};
use crate::boundary::{Looks, detached};
use crate::errors::{broken_lock, raised};
use crate::handle::Handle;
use crate::reader::Reader;

/// Writes that are applied together, or not at all. Made by `Database.batch`.
#[pyclass(frozen, module = "cairndb")]
#[derive(Debug)]
pub(crate) struct Batch {
    handle: Arc<Handle>,
    /// That of writes which name none.
    keyspace: Keyspace,
    durability: Option<Durability>,
    writes: Mutex<WriteBatch>,
}

impl Batch {
    pub(crate) fn new(reader: &Reader, durability: Option<DurabilityName>) -> Batch {
        Batch {
            handle: Arc::clone(reader.handle()),
            keyspace: reader.keyspace().clone(),
            durability: durability.map(|name| name.0),
            writes: Mutex::new(WriteBatch::new()),
        }
    }

    /// Returns the keyspace of a write.
    fn target<'a>(&'a self, keyspace: Option<&'a Bound<'_, Reader>>) -> &'a Keyspace {
        keyspace.map_or(&self.keyspace, |it| it.get().keyspace())
    }

    #[inline]
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, WriteBatch>> {
        if let Err(error) = self.handle.open_db() {
            return Err(raised(py, &error));
        }
        self.lock_any(py)
    }

    /// Locks the writes, also once the database is closed. Not to be called in a forked child: the
    /// parent may have forked while another thread held the lock.
    #[inline]
    fn lock_any(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, WriteBatch>> {
        self.writes.lock_py_attached(py).map_err(|_| broken_lock())
    }
}

#[pymethods]
impl Batch {
    /// Sets `key` to `value`, in `keyspace`, if that is given, or else where the batch was made.
    ///
    /// >>> users = db.create_keyspace("users")
    /// >>> with db.batch() as batch:
    /// ...     batch.put(b"users", b"1")
    /// ...     batch.put(b"ada", b"1815", keyspace=users)
    /// >>> db[b"users"], users[b"ada"]
    /// (b'1', b'1815')
    #[pyo3(signature = (key, value, *, keyspace=None))]
    fn put(
        &self,
        py: Python<'_>,
        key: Bytes<'_, '_>,
        value: Bytes<'_, '_>,
        keyspace: Option<Bound<'_, Reader>>,
    ) -> PyResult<()> {
        let keyspace = self.target(keyspace.as_ref());
        self.lock(py)?.put_in(keyspace, &key, &value);
        Ok(())
    }

    /// Removes `key`. Removing an absent key is not an error.
    #[pyo3(signature = (key, *, keyspace=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key: Bytes<'_, '_>,
        keyspace: Option<Bound<'_, Reader>>,
    ) -> PyResult<()> {
        let keyspace = self.target(keyspace.as_ref());
        self.lock(py)?.delete_in(keyspace, &key);
        Ok(())
    }

    /// Removes the keys from `start` to `stop`, as in a database, and what earlier writes of the
    /// batch put there.
    #[pyo3(signature = (start=None, stop=None, *, keyspace=None))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
        keyspace: Option<Bound<'_, Reader>>,
    ) -> PyResult<()> {
        let range = range(start.as_ref(), stop.as_ref());
        let keyspace = self.target(keyspace.as_ref());
        self.lock(py)?.delete_range_in(keyspace, range);
        Ok(())
    }

    /// Removes the keys that start with `prefix`, as `delete_range`. With a comparator, `write`
    /// raises `InvalidArgumentError`.
    #[pyo3(signature = (prefix, *, keyspace=None))]
    fn delete_prefix(
        &self,
        py: Python<'_>,
        prefix: Bytes<'_, '_>,
        keyspace: Option<Bound<'_, Reader>>,
    ) -> PyResult<()> {
        let keyspace = self.target(keyspace.as_ref());
        self.lock(py)?.delete_prefix_in(keyspace, &prefix);
        Ok(())
    }

    /// Adds `operand` to `key`, to be folded by the merge operator of its keyspace.
    #[pyo3(signature = (key, operand, *, keyspace=None))]
    fn merge(
        &self,
        py: Python<'_>,
        key: Bytes<'_, '_>,
        operand: Bytes<'_, '_>,
        keyspace: Option<Bound<'_, Reader>>,
    ) -> PyResult<()> {
        let keyspace = self.target(keyspace.as_ref());
        self.lock(py)?.merge_in(keyspace, &key, &operand);
        Ok(())
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: Bytes<'_, '_>,
        value: Bytes<'_, '_>,
    ) -> PyResult<()> {
        self.put(py, key, value, None)
    }

    fn __delitem__(&self, py: Python<'_>, key: Bytes<'_, '_>) -> PyResult<()> {
        self.delete(py, key, None)
    }

    /// Puts the entries of a mapping, or of an iterable of pairs.
    fn update(&self, py: Python<'_>, entries: Bound<'_, PyAny>) -> PyResult<()> {
        // Not locked while arguments are read: a copy of one that is not `bytes` may start a
        // garbage collection, which runs other code, and the iterable may be a generator over this
        // batch.
        let looks = Looks::default();
        if let Ok(dict) = entries.cast::<PyDict>() {
            for (key, value) in dict.iter() {
                looks.entry(py)?;
                self.put(py, key.extract()?, value.extract()?, None)?;
            }
            return Ok(());
        }
        let pairs = if entries.hasattr("keys")? {
            pairs_of(&entries)?
        } else {
            entries
        };
        for pair in pairs.try_iter()? {
            looks.entry(py)?;
            let pair = pair?;
            let mut parts = pair.try_iter()?;
            let (Some(key), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
                return Err(PyValueError::new_err(
                    "an entry is a pair of a key and a value",
                ));
            };
            let (key, value) = (key?, value?);
            self.put(py, key.extract()?, value.extract()?, None)?;
        }
        Ok(())
    }

    /// Removes all writes from the batch.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.clear();
        Ok(())
    }

    /// Applies the writes, all or none, and empties the batch. After an error the batch is as it
    /// was.
    #[pyo3(signature = (*, durability=None))]
    fn write(&self, py: Python<'_>, durability: Option<DurabilityName>) -> PyResult<()> {
        let durability = durability.or(self.durability.map(DurabilityName));
        let mut batch = self.lock(py)?;
        let (batch, handle) = (&mut *batch, &*self.handle);
        detached(py, || {
            handle.db()?.write_with(batch, &write_options(durability))?;
            batch.clear();
            Ok(())
        })
    }

    /// Applies the writes and keeps them, as plyvel does.
    fn _write_and_keep(&self, py: Python<'_>) -> PyResult<()> {
        let durability = self.durability.map(DurabilityName);
        let batch = self.lock(py)?;
        let (batch, handle) = (&*batch, &*self.handle);
        detached(py, || {
            handle.db()?.write_with(batch, &write_options(durability))
        })
    }

    /// Adds the writes of `source`.
    fn _append(&self, py: Python<'_>, source: &Batch) -> PyResult<()> {
        // Copied first: the two may be one batch, and two threads may append each to the other.
        let writes = source.lock(py)?.clone();
        self.lock(py)?.append(&writes);
        Ok(())
    }

    /// The size of the writes in bytes, as they are stored.
    #[getter]
    fn byte_len(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.byte_len())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.len())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind=None, _exception=None, _traceback=None))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        _exception: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if kind.is_none() {
            return self.write(py, None);
        }
        // The block raised: the writes are dropped. The database may be closed, which is no reason
        // to hide the block's exception. A forked child can use the batch no more.
        if self.handle.db().is_ok() {
            self.lock_any(py)?.clear();
        }
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if self.handle.db().is_err() {
            return Ok("<cairndb.Batch of the parent process>".to_owned());
        }
        let batch = self.lock_any(py)?;
        Ok(format!(
            "<cairndb.Batch of {} writes, {} bytes>",
            batch.len(),
            batch.byte_len()
        ))
    }
}

/// Returns the pairs of a mapping that is not a `dict`.
fn pairs_of<'py>(mapping: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if mapping.hasattr("items")? {
        return mapping.call_method0("items");
    }
    let keys = mapping.call_method0("keys")?;
    let mut pairs = Vec::new();
    let looks = Looks::default();
    for key in keys.try_iter()? {
        looks.entry(mapping.py())?;
        let key = key?;
        let value = mapping.get_item(&key)?;
        pairs.push((key, value));
    }
    Ok(pairs.into_pyobject(mapping.py())?.into_any())
}
