//! The writes of a keyspace, and of a database, whose own keys are its default keyspace.

use cairndb::{Keyspace, Result, WriteBatch};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{Bytes, DurabilityName, range, write_options};
use crate::batch::Batch;
use crate::boundary::{Report, detached, watched};
use crate::errors::raised;
use crate::reader::Reader;

/// The keys of a database or a keyspace. `cairndb.Keyspace` derives from it.
#[pyclass(frozen, subclass, extends = Reader, name = "Keyspace", module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct Writer;

/// Calls the keyspace of `slf` without the interpreter's lock.
#[inline]
fn call<T: Send>(
    slf: &Bound<'_, Writer>,
    call: impl FnOnce(&Keyspace) -> Result<T> + Send,
) -> PyResult<T> {
    let reader = slf.as_super().get();
    let (handle, keyspace) = (&**reader.handle(), reader.keyspace());
    detached(slf.py(), || handle.db().and_then(|_| call(keyspace)))
}

#[pymethods]
impl Writer {
    /// Opens the keyspace `name` of a database.
    #[new]
    fn new(
        py: Python<'_>,
        of: Bound<'_, Reader>,
        name: &str,
    ) -> PyResult<PyClassInitializer<Self>> {
        let reader = of.get().within(py, name)?;
        Ok(PyClassInitializer::from(reader).add_subclass(Writer))
    }

    /// The name of the keyspace; empty for the database itself.
    #[getter]
    fn name(slf: &Bound<'_, Self>) -> String {
        slf.as_super().get().keyspace().name().to_owned()
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        value: Bytes<'_, '_>,
    ) -> PyResult<()> {
        let (key, value) = (&*key, &*value);
        call(slf, |keys| keys.put(key, value))
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: Bytes<'_, '_>) -> PyResult<()> {
        let bytes = &*key;
        let found = call(slf, |keys| {
            let found = keys.contains(bytes)?;
            if found {
                keys.delete(bytes)?;
            }
            Ok(found)
        })?;
        if found {
            return Ok(());
        }
        Err(PyKeyError::new_err((
            PyBytes::new(slf.py(), bytes).unbind(),
        )))
    }

    /// Sets `key`, of at most 64 MiB, to `value`, of at most 1 GiB: `db[key] = value` with a
    /// durability.
    ///
    /// `durability` is what the write survives once the call has returned: "os" the death of the
    /// process, "sync" a power failure, "none" nothing until `flush` has returned. Without it, it
    /// is the database's.
    ///
    /// >>> db.put(b"k", b"v", durability="sync")
    #[pyo3(signature = (key, value, *, durability=None))]
    fn put(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        value: Bytes<'_, '_>,
        durability: Option<DurabilityName>,
    ) -> PyResult<()> {
        let (key, value) = (&*key, &*value);
        call(slf, |keys| {
            keys.put_with(key, value, &write_options(durability))
        })
    }

    /// Removes `key`. Removing an absent key is not an error, unlike with `del db[key]`, which
    /// looks first.
    ///
    /// >>> db.delete(b"absent")
    #[pyo3(signature = (key, *, durability=None))]
    fn delete(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        durability: Option<DurabilityName>,
    ) -> PyResult<()> {
        let key = &*key;
        call(slf, |keys| {
            keys.delete_with(key, &write_options(durability))
        })
    }

    /// Removes the keys from `start` to `stop`, in constant time. Without `start` it is the empty
    /// key, without `stop` there is no end. The space is freed in the background.
    ///
    /// >>> db.update({b"2026-11-28": b"", b"2026-11-29": b"", b"2026-11-30": b""})
    /// >>> db.delete_range(stop=b"2026-11-30")
    /// >>> list(db)
    /// [b'2026-11-30']
    #[pyo3(signature = (start=None, stop=None, *, durability=None))]
    fn delete_range(
        slf: &Bound<'_, Self>,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
        durability: Option<DurabilityName>,
    ) -> PyResult<()> {
        let range = range(start.as_ref(), stop.as_ref());
        call(slf, |keys| {
            keys.delete_range_with(range, &write_options(durability))
        })
    }

    /// Removes the keys that start with `prefix`, as `delete_range`. Raises `InvalidArgumentError`
    /// with a comparator, whose order need not keep such keys together.
    ///
    /// >>> db.update({b"user/ada": b"1815", b"user/alan": b"1912", b"visits": b"2"})
    /// >>> db.delete_prefix(b"user/")
    /// >>> list(db)
    /// [b'visits']
    #[pyo3(signature = (prefix, *, durability=None))]
    fn delete_prefix(
        slf: &Bound<'_, Self>,
        prefix: Bytes<'_, '_>,
        durability: Option<DurabilityName>,
    ) -> PyResult<()> {
        let reader = slf.as_super().get();
        let handle = &**reader.handle();
        let mut batch = WriteBatch::new();
        batch.delete_prefix_in(reader.keyspace(), &prefix);
        detached(slf.py(), || {
            handle.db()?.write_with(&batch, &write_options(durability))
        })
    }

    /// Adds `operand` to `key`, without reading it. The database's merge operator folds it later.
    ///
    /// >>> with cairndb.open(path, merge_operator="add") as counters:
    /// ...     for _ in range(3):
    /// ...         counters.merge(b"visits", (1).to_bytes(8, "little"))
    /// ...     int.from_bytes(counters[b"visits"], "little")
    /// 3
    #[pyo3(signature = (key, operand, *, durability=None))]
    fn merge(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        operand: Bytes<'_, '_>,
        durability: Option<DurabilityName>,
    ) -> PyResult<()> {
        let (key, operand) = (&*key, &*operand);
        call(slf, |keys| {
            keys.merge_with(key, operand, &write_options(durability))
        })
    }

    /// Returns an empty batch. At the end of a `with` block it is written, all of it or nothing; if
    /// the block raises, it is dropped.
    ///
    /// >>> with db.batch(durability="sync") as batch:
    /// ...     batch[b"alice"] = b"90"
    /// ...     batch[b"bob"] = b"110"
    /// ...     del batch[b"pending"]
    /// >>> db.multi_get([b"alice", b"bob"])
    /// [b'90', b'110']
    #[pyo3(signature = (*, durability=None))]
    fn batch(slf: &Bound<'_, Self>, durability: Option<DurabilityName>) -> PyResult<Batch> {
        let reader = slf.as_super().get();
        let open = reader.handle().open_db();
        open.map_err(|error| raised(slf.py(), &error))?;
        Ok(Batch::new(reader, durability))
    }

    /// Compacts the keys from `start` to `stop`, all by default, into one sorted run. The store
    /// does this by itself when it is idle; the call is for a program that is about to read very
    /// much.
    ///
    /// `progress`, if given, is called as that of `cairndb.verify`. If it raises, or a signal
    /// arrives, the call ends; what it has compacted stays so.
    ///
    /// >>> db.compact()
    #[pyo3(signature = (start=None, stop=None, *, progress=None))]
    fn compact(
        slf: &Bound<'_, Self>,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
        progress: Option<Report>,
    ) -> PyResult<()> {
        let range = range(start.as_ref(), stop.as_ref());
        let reader = slf.as_super().get();
        let (handle, keyspace) = (&**reader.handle(), reader.keyspace());
        watched(slf.py(), progress, || {
            handle.db()?;
            keyspace.compact_range(range)
        })
    }

    /// Returns about how many bytes the keys from `start` to `stop` take on disk. What is still in
    /// memory is not counted.
    ///
    /// >>> db.approximate_size(b"a", b"b")
    /// 0
    fn approximate_size(
        slf: &Bound<'_, Self>,
        start: Bytes<'_, '_>,
        stop: Bytes<'_, '_>,
    ) -> PyResult<u64> {
        let (start, stop) = (&*start, &*stop);
        call(slf, |keys| keys.approximate_size(start..stop))
    }

    /// Returns about how many keys there are from `start` to `stop`, all by default, without a
    /// scan. After a compaction the result is usually within a few per cent; before it, keys that
    /// were written several times may be counted several times.
    ///
    /// >>> db.update({b"user/%03d" % number: b"" for number in range(1000)})
    /// >>> db.estimate_count(), db.estimate_count(b"user/100", b"user/200")
    /// (1000, 100)
    #[pyo3(signature = (start=None, stop=None))]
    fn estimate_count(
        slf: &Bound<'_, Self>,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
    ) -> PyResult<u64> {
        let range = range(start.as_ref(), stop.as_ref());
        call(slf, |keys| keys.estimate_count(range))
    }
}
