//! The database: what it has besides its keys.

pub(crate) mod transaction;
pub(crate) mod writer;

use std::sync::Arc;
use std::time::Duration;

use cairndb::{Db, ForkReport, Result, destroy};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Bytes, PathArgument, Seconds};
use crate::boundary::{Report, detached, watched};
use crate::errors::raised;
use crate::handle::Handle;
use crate::options::{self, Flag, Registered};
use crate::reader::{Moment, Reader, pair};
use crate::store::writer::Writer;

/// An open database. `cairndb.Database` derives from it.
#[pyclass(frozen, subclass, extends = Writer, name = "Database", module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct Store;

/// Returns the handle of a database.
#[inline]
pub(crate) fn handle_of<'a>(store: &'a Bound<'_, Store>) -> &'a Arc<Handle> {
    store.as_super().as_super().get().handle()
}

/// Calls the database of `store` without the interpreter's lock.
#[inline]
fn call<T: Send>(
    store: &Bound<'_, Store>,
    call: impl FnOnce(&Db) -> Result<T> + Send,
) -> PyResult<T> {
    let handle = &**handle_of(store);
    detached(store.py(), || call(handle.db()?))
}

/// Makes a call that may take long, as [`call`] does otherwise.
fn call_watched<T: Send>(
    store: &Bound<'_, Store>,
    progress: Option<Report>,
    call: impl FnOnce(&Db) -> Result<T> + Send,
) -> PyResult<T> {
    let handle = &**handle_of(store);
    watched(store.py(), progress, || call(handle.db()?))
}

/// The numbers of a `cairndb.ForkReport`.
pub(crate) type ForkCounts = (u64, u64, u64, u64);

/// Makes a fork, which may take long.
pub(crate) fn fork(
    py: Python<'_>,
    progress: Option<Report>,
    fork: impl FnOnce() -> Result<ForkReport> + Send,
) -> PyResult<ForkCounts> {
    let made = watched(py, progress, fork)?;
    Ok((made.shared, made.cloned, made.copied, made.copied_bytes))
}

/// Makes a call as [`call`] does, but fails if the database was closed.
fn open_call<T: Send>(
    store: &Bound<'_, Store>,
    call: impl FnOnce(&Db) -> Result<T> + Send,
) -> PyResult<T> {
    let handle = &**handle_of(store);
    detached(store.py(), || call(handle.open_db()?))
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
        let registered: Registered<'_> = (
            options::item(&settings, "comparators")?.unwrap_or_default(),
            options::item(&settings, "merge_operators")?.unwrap_or_default(),
        );
        // A follower creates and removes nothing, whatever the flag.
        let flag = if options::follows(&settings)? {
            Flag::Read
        } else {
            flag
        };
        let (order, operator) = (comparator.as_ref(), merge_operator.as_ref());
        let options = options::components(order, operator, &registered)?;
        let options = options::settings(&settings, options, flag)?;
        let progress = options::item(&settings, "progress")?;
        let handle = watched(py, progress, || {
            if flag == Flag::New {
                destroy(&path.0, &options)?;
            }
            Handle::open(&options, &path.0, flag == Flag::Read)
        })?;
        let default = handle.db().map_err(|error| raised(py, &error))?;
        let reader = Reader::new(Arc::clone(&handle), default.default_keyspace(), Moment::Now);
        let writer = PyClassInitializer::from(reader).add_subclass(Writer);
        Ok(writer.add_subclass(Store))
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

    /// Writes all memtables to tables, durably, also writes of durability "none".
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        call_watched(slf, None, Db::flush)
    }

    /// Makes every logged write so far durable, as one of durability "sync" would. Many writes of
    /// durability "os" and then this call cost one sync. Does nothing if the database was opened
    /// for reading or to follow, or was closed, which has made everything durable.
    ///
    /// >>> for number in range(100):
    /// ...     db[b"%d" % number] = b"in the log"
    /// >>> db.sync()  # and now on the disk
    fn sync(slf: &Bound<'_, Self>) -> PyResult<()> {
        // Both have nothing to sync. `shelve` calls this whenever it closes a database, also one
        // that it only reads, and when a shelf is collected whose database was closed.
        let handle = handle_of(slf);
        if handle.is_read_only() || handle.is_closed() {
            return call(slf, |_| Ok(()));
        }
        call(slf, Db::sync)
    }

    /// The number of the newest write that reads of this object see. Each entry of a batch has a
    /// number. A follower that has reached the number that its writer has after a write of
    /// durability "os" or "sync" sees that write; pass it to `wait_for`.
    ///
    /// >>> before = db.sequence_number
    /// >>> db.update({b"slate": b"blue", b"shale": b"black"})
    /// >>> db.sequence_number - before
    /// 2
    #[getter]
    fn sequence_number(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let handle = &**handle_of(slf);
        let open = handle.open_db();
        Ok(open
            .map_err(|error| raised(slf.py(), &error))?
            .sequence_number())
    }

    /// Looks for new writes of the process that writes. Reads that begin after this call see
    /// everything that was acknowledged before it. A follower does so at each read, unless it was
    /// opened with `manual_refresh`. After an error, the last state stays.
    ///
    /// Raises `InvalidArgumentError` if the database was not opened with `follow`, or has a new
    /// keyspace whose comparator or merge operator was not given to the open; `NotSupportedError`
    /// if the writer's version does not inform followers; `RevokedError`, `CorruptionError`,
    /// `IoError`.
    ///
    /// >>> reader = cairndb.open(db.path, follow=True, manual_refresh=True)
    /// >>> db[b"k"] = b"v"
    /// >>> b"k" in reader
    /// False
    /// >>> reader.refresh()
    /// >>> b"k" in reader
    /// True
    fn refresh(slf: &Bound<'_, Self>) -> PyResult<()> {
        open_call(slf, Db::refresh)
    }

    /// Waits until this follower sees everything up to a `sequence_number` of its writer. Returns
    /// True, or False if that takes more than `timeout` seconds. Without `timeout` it waits as long
    /// as it takes, also while there is no writer; Ctrl-C ends it. Writes of durability "none" are
    /// seen after their flush. The call looks for new writes every millisecond.
    ///
    /// Raises the same as `refresh`; `ClosedError` if another thread closes the database.
    ///
    /// >>> reader = cairndb.open(db.path, follow=True)
    /// >>> db[b"k"] = b"v"
    /// >>> reader.wait_for(db.sequence_number, timeout=1)
    /// True
    #[pyo3(signature = (sequence_number, timeout=None))]
    fn wait_for(
        slf: &Bound<'_, Self>,
        sequence_number: u64,
        timeout: Option<Seconds>,
    ) -> PyResult<bool> {
        let limit = timeout.map_or(Duration::MAX, |it| it.0);
        call_watched(slf, None, |db| db.wait_for(sequence_number, limit))
    }

    /// Returns whether a process has the database open for writing now. A follower shows the last
    /// state while there is none, and sees the writes of the next one.
    ///
    /// Raises `InvalidArgumentError` if the database was not opened with `follow`;
    /// `NotSupportedError` if the writer's version does not inform followers; `IoError`.
    ///
    /// >>> reader = cairndb.open(db.path, follow=True)
    /// >>> reader.has_writer()
    /// True
    /// >>> db.close()
    /// >>> reader.has_writer()
    /// False
    fn has_writer(slf: &Bound<'_, Self>) -> PyResult<bool> {
        open_call(slf, Db::has_writer)
    }

    /// Returns the names of the keyspaces, in order.
    ///
    /// >>> users = db.create_keyspace("users")
    /// >>> "users" in db.keyspaces()
    /// True
    fn keyspaces(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let handle = handle_of(slf);
        handle.open_db().map_err(|error| raised(slf.py(), &error))?;
        call(slf, |db| Ok(db.keyspaces()))
    }

    #[pyo3(signature = (name, comparator, merge_operator, compression, value_bytes))]
    fn _create_keyspace(
        slf: &Bound<'_, Self>,
        name: &str,
        comparator: Option<&str>,
        merge_operator: Option<&str>,
        compression: Option<String>,
        value_bytes: Option<u64>,
    ) -> PyResult<()> {
        let options = options::keyspace(comparator, merge_operator, compression, value_bytes)?;
        call(slf, |db| db.create_keyspace(name, &options).map(drop))
    }

    /// Drops the keyspace `name` with all its entries, durably. The space is freed in the
    /// background. Its objects, and batches with writes to it, then raise `ClosedError`; iterators
    /// go on.
    fn drop_keyspace(slf: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        call(slf, |db| db.drop_keyspace(name))
    }

    /// Returns the place of everything written so far, after which `changes` returns what follows.
    /// Syncs the log, and raises the same as `sync`.
    ///
    /// >>> place = db.place()
    /// >>> db[b"granite"] = b"grey"
    /// >>> with db.changes(place) as changes:
    /// ...     next(changes).entries[0].key
    /// b'granite'
    fn place(slf: &Bound<'_, Self>) -> PyResult<String> {
        open_call(slf, |db| Ok(db.place()?.to_string()))
    }

    /// Returns the name, the place and whether it fell off of each lease.
    fn _leases(slf: &Bound<'_, Self>) -> PyResult<Vec<(String, String, bool)>> {
        let leases = open_call(slf, Db::leases)?.into_iter();
        let leases = leases.map(|it| (it.name, it.place.to_string(), it.fell_off));
        Ok(leases.collect())
    }

    /// Drops a lease, and frees what was kept for it. Raises `NotFoundError` if there is none with
    /// this name, and the same as `flush`.
    ///
    /// >>> db.changes(lease="index").close()
    /// >>> db.drop_lease("index")
    fn drop_lease(slf: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        open_call(slf, |db| db.drop_lease(name))
    }

    #[pyo3(signature = (path, progress))]
    fn _fork(
        slf: &Bound<'_, Self>,
        path: PathArgument,
        progress: Option<Report>,
    ) -> PyResult<ForkCounts> {
        let handle = &**handle_of(slf);
        fork(slf.py(), progress, || handle.db()?.fork(&path.0))
    }

    /// Makes a fork of the database at `path`, as `fork` does. Returns nothing.
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
        let handle = handle_of(slf);
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
        let handle = &**handle_of(slf);
        detached(slf.py(), || handle.close())
    }
}
