//! The database: what it has besides reads.

pub(crate) mod transaction;

use std::ops;
use std::sync::{Arc, Mutex};

use cairndb::{Db, Result, destroy};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{Bytes, DurabilityName, PathArgument, write_options};
use crate::batch::Batch;
use crate::boundary::{Report, detached, watched};
use crate::errors::raised;
use crate::handle::Handle;
use crate::options::{self, Components, Flag};
use crate::reader::{Moment, Reader, pair};

/// An open database. `cairndb.Database` derives from it.
#[pyclass(frozen, subclass, extends = Reader, name = "Database", module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct Store;

impl Store {
    pub(crate) fn snapshot_of(py: Python<'_>, store: &Bound<'_, Store>) -> PyResult<Reader> {
        let handle = store.as_super().get().handle();
        let db = handle.open_db().map_err(|error| raised(py, &error))?;
        let snapshot = detached(py, || Ok(db.snapshot()))?;
        let moment = Moment::Then(Mutex::new(Some(Arc::new(snapshot))));
        Ok(Reader::new(Arc::clone(handle), moment))
    }
}

/// Calls the database of `store` without the interpreter's lock.
#[inline]
fn call<T: Send>(
    store: &Bound<'_, Store>,
    call: impl FnOnce(&Db) -> Result<T> + Send,
) -> PyResult<T> {
    let handle = &**store.as_super().get().handle();
    detached(store.py(), || call(handle.db()?))
}

/// Makes a call that may take long, as [`call`] does otherwise.
fn call_watched(
    store: &Bound<'_, Store>,
    progress: Option<Report>,
    call: impl FnOnce(&Db) -> Result<()> + Send,
) -> PyResult<()> {
    let handle = &**store.as_super().get().handle();
    watched(store.py(), progress, || call(handle.db()?))
}

/// Returns the range from `start`, included, to `stop`, excluded.
fn range<'a>(
    start: Option<&'a Bytes<'_, '_>>,
    stop: Option<&'a Bytes<'_, '_>>,
) -> (ops::Bound<&'a [u8]>, ops::Bound<&'a [u8]>) {
    let start = start.map_or(ops::Bound::Unbounded, |key| ops::Bound::Included(&**key));
    let stop = stop.map_or(ops::Bound::Unbounded, |key| ops::Bound::Excluded(&**key));
    (start, stop)
}

#[pymethods]
impl Store {
    /// Opens a database. `settings` has every key of `Settings`.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathArgument,
        flag: Flag,
        comparator: Option<Bound<'_, PyAny>>,
        merge_operator: Option<Bound<'_, PyAny>>,
        settings: Bound<'_, PyDict>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let components = Components::new(comparator.as_ref(), merge_operator.as_ref())?;
        let options = options::settings(&settings, components.options, flag)?;
        let order = components.order;
        let progress = options::item(&settings, "progress")?;
        let handle = watched(py, progress, || {
            if flag == Flag::New {
                destroy(&path.0, &options)?;
            }
            Handle::open(&options, order, &path.0, flag == Flag::Read)
        })?;
        let reader = Reader::new(handle, Moment::Now);
        Ok(PyClassInitializer::from(reader).add_subclass(Store))
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        value: Bytes<'_, '_>,
    ) -> PyResult<()> {
        let (key, value) = (&*key, &*value);
        call(slf, |db| db.put(key, value))
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: Bytes<'_, '_>) -> PyResult<()> {
        let bytes = &*key;
        let found = call(slf, |db| {
            let found = db.contains(bytes)?;
            if found {
                db.delete(bytes)?;
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
        call(slf, |db| {
            db.put_with(key, value, &write_options(durability))
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
        call(slf, |db| db.delete_with(key, &write_options(durability)))
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
        call(slf, |db| {
            db.merge_with(key, operand, &write_options(durability))
        })
    }

    /// Sets `key` to `new`, or removes it if that is None, if its value is `expected`, where None
    /// stands for no value. Returns whether it was. No other write comes in between.
    ///
    /// >>> db.compare_and_set(b"lock", None, b"worker 7")
    /// True
    /// >>> db.compare_and_set(b"lock", None, b"worker 8")
    /// False
    /// >>> db.compare_and_set(b"lock", b"worker 7", None)
    /// True
    fn compare_and_set(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        expected: Option<Bytes<'_, '_>>,
        new: Option<Bytes<'_, '_>>,
    ) -> PyResult<bool> {
        let (key, expected, new) = (&*key, expected.as_deref(), new.as_deref());
        call(slf, |db| db.compare_and_set(key, expected, new))
    }

    /// Removes the first entry and returns it as a pair, or returns None if there is none. Threads
    /// that do this at the same time get different entries, so a database can be a queue.
    ///
    /// >>> db.update({b"job 1": b"sweep", b"job 2": b"polish"})
    /// >>> db.pop_first(), db.pop_last(), db.pop_first()
    /// ((b'job 1', b'sweep'), (b'job 2', b'polish'), None)
    fn pop_first<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        pair(slf.py(), call(slf, Db::pop_first)?)
    }

    /// Removes the last entry and returns it as a pair, or returns None if there is none.
    fn pop_last<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        pair(slf.py(), call(slf, Db::pop_last)?)
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
        let handle = slf.as_super().get().handle();
        handle.open_db().map_err(|error| raised(slf.py(), &error))?;
        Ok(Batch::new(handle, durability))
    }

    /// Writes all memtables to tables, durably, also writes of durability "none".
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        call_watched(slf, None, Db::flush)
    }

    /// Makes every logged write so far durable, as one of durability "sync" would. Many writes of
    /// durability "os" and then this call cost one sync. Does nothing if the database was opened
    /// for reading, or was closed, which has made everything durable.
    ///
    /// >>> for number in range(100):
    /// ...     db[b"%d" % number] = b"in the log"
    /// >>> db.sync()  # and now on the disk
    fn sync(slf: &Bound<'_, Self>) -> PyResult<()> {
        // Both have nothing to sync. `shelve` calls this whenever it closes a database, also one
        // that it only reads, and when a shelf is collected whose database was closed.
        let handle = slf.as_super().get().handle();
        if handle.is_read_only() || handle.is_closed() {
            return call(slf, |_| Ok(()));
        }
        call(slf, Db::sync)
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
        call_watched(slf, progress, |db| db.compact_range(range))
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
        call(slf, |db| db.approximate_size(start..stop))
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
        call(slf, |db| db.estimate_count(range))
    }

    /// Copies the database, as it is now, into a new one at `path`, which must be missing or empty.
    /// Files are hard links where the file system has them, so this takes little time and space.
    ///
    /// `progress`, if given, is called as that of `cairndb.verify`. If it raises, or a signal
    /// arrives, the call ends, and there is nothing at `path`.
    ///
    /// >>> db[b"k"] = b"v"
    /// >>> db.checkpoint(path + ".backup")
    /// >>> with cairndb.open(path + ".backup", "r") as backup:
    /// ...     backup[b"k"]
    /// b'v'
    #[pyo3(signature = (path, *, progress=None))]
    fn checkpoint(
        slf: &Bound<'_, Self>,
        path: PathArgument,
        progress: Option<Report>,
    ) -> PyResult<()> {
        call_watched(slf, progress, |db| db.checkpoint(&path.0))
    }

    /// Returns a property as text, or None for an unknown name. See also `stats`.
    ///
    /// >>> db.property("leveldb.num-files-at-level0")
    /// '0'
    fn property(slf: &Bound<'_, Self>, name: &str) -> PyResult<Option<String>> {
        let handle = slf.as_super().get().handle();
        handle.open_db().map_err(|error| raised(slf.py(), &error))?;
        call(slf, |db| Ok(db.property(name)))
    }

    /// What the open found, as a dictionary.
    fn _open_report<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let report = call(slf, |db| Ok(db.open_report().clone()))?;
        let dict = PyDict::new(slf.py());
        dict.set_item("created", report.created)?;
        dict.set_item("clean", report.clean)?;
        dict.set_item("replayed_entries", report.replayed_entries)?;
        let cut = report.log_cut.map(|cut| (cut.file, cut.offset, cut.reason));
        dict.set_item("log_cut", cut)?;
        let skipped = report
            .skipped
            .into_iter()
            .map(|file| (file.file, file.reason));
        dict.set_item("skipped", skipped.collect::<Vec<_>>())?;
        Ok(dict)
    }

    /// Closes the database: makes everything durable and unlocks the directory. Iterators,
    /// snapshots and batches of it raise `ClosedError` from then on; views of values stay valid.
    /// Closing again does nothing.
    ///
    /// >>> db.close()
    /// >>> db.closed
    /// True
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let handle = &**slf.as_super().get().handle();
        detached(slf.py(), || handle.close())
    }
}
