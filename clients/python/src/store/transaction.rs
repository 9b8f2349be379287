//! Transactions: what they have besides reads.

use std::sync::Arc;

use cairndb::{Isolation, Keyspace, Result, Savepoint, TransactionOptions, WriteOptions};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{Bytes, DurabilityName, range, write_options};
use crate::boundary::detached;
use crate::handle::transaction::OpenTransaction;
use crate::reader::{Moment, Reader, pair};
use crate::values::RangeEnd;

/// The isolation of a transaction, by name.
struct IsolationName(Isolation);

impl<'py> FromPyObject<'_, 'py> for IsolationName {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: String = object.extract()?;
        match name.as_str() {
            "serializable" => Ok(IsolationName(Isolation::Serializable)),
            "snapshot" => Ok(IsolationName(Isolation::Snapshot)),
            other => {
                let message = format!("isolation is 'serializable' or 'snapshot', not '{other}'");
                Err(PyValueError::new_err(message))
            }
        }
    }
}

/// A mark of the writes of a transaction, to which `rollback_to` returns.
#[pyclass(frozen, name = "Savepoint", module = "cairndb")]
#[derive(Debug)]
pub(crate) struct PySavepoint(Savepoint);

/// The calls of a transaction. `cairndb.Transaction` derives from it.
#[pyclass(frozen, subclass, extends = Reader, name = "Transaction", module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct TransactionStore {
    open: Arc<OpenTransaction>,
    durability: Option<DurabilityName>,
}

/// Calls the transaction of `slf` without the interpreter's lock.
#[inline]
fn call<T: Send>(
    slf: &Bound<'_, TransactionStore>,
    call: impl FnOnce(&OpenTransaction, &Keyspace) -> Result<T> + Send,
) -> PyResult<T> {
    let reader = slf.as_super().get();
    let (handle, keyspace) = (&**reader.handle(), reader.keyspace());
    let open = &*slf.get().open;
    detached(slf.py(), || {
        handle.open_db()?;
        call(open, keyspace)
    })
}

/// Removes the entry at one end and returns it.
fn popped<'py>(
    slf: &Bound<'py, TransactionStore>,
    end: RangeEnd,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let entry = call(slf, |open, keyspace| {
        open.change(|transaction| {
            match end {
                _ if !keyspace.name().is_empty() => {}
                RangeEnd::First => return transaction.pop_first(),
                RangeEnd::Last => return transaction.pop_last(),
            }
            let entry = end.of(transaction.range_in(keyspace, ..)?)?;
            if let Some((key, _)) = &entry {
                transaction.delete_in(keyspace, key)?;
            }
            Ok(entry)
        })
    });
    pair(slf.py(), entry?)
}

#[pymethods]
impl TransactionStore {
    /// Begins a transaction of a database; or, with `keyspace`, returns what the transaction `of`
    /// sees and writes there.
    #[new]
    #[pyo3(signature = (of, isolation, durability, keyspace=None))]
    fn new(
        py: Python<'_>,
        of: Bound<'_, Reader>,
        isolation: IsolationName,
        durability: Option<DurabilityName>,
        keyspace: Option<&str>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (reader, writer) = if let Some(name) = keyspace {
            let (open, durability) = {
                let same = of.cast::<TransactionStore>()?.get();
                (Arc::clone(&same.open), same.durability)
            };
            (
                of.get().within(py, name)?,
                TransactionStore { open, durability },
            )
        } else {
            let (handle, keyspace) = (Arc::clone(of.get().handle()), of.get().keyspace().clone());
            let options = TransactionOptions::new().isolation(isolation.0);
            let transaction = detached(py, || Ok(handle.open_db()?.transaction_with(&options)))?;
            let open = Arc::new(OpenTransaction::new(transaction));
            let reader = Reader::new(handle, keyspace, Moment::Within(Arc::clone(&open)));
            (reader, TransactionStore { open, durability })
        };
        Ok(PyClassInitializer::from(reader).add_subclass(writer))
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: Bytes<'_, '_>,
        value: Bytes<'_, '_>,
    ) -> PyResult<()> {
        Self::put(slf, key, value)
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: Bytes<'_, '_>) -> PyResult<()> {
        let bytes = &*key;
        let found = call(slf, |open, keyspace| {
            open.change(|transaction| {
                let found = transaction.contains_in(keyspace, bytes)?;
                if found {
                    transaction.delete_in(keyspace, bytes)?;
                }
                Ok(found)
            })
        })?;
        if found {
            return Ok(());
        }
        let key = PyBytes::new(slf.py(), bytes).unbind();
        Err(PyKeyError::new_err((key,)))
    }

    /// Sets `key` to `value` when the transaction is committed.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     tx.put(b"k", b"v")
    /// ...     tx[b"k"], db.get(b"k")
    /// (b'v', None)
    fn put(slf: &Bound<'_, Self>, key: Bytes<'_, '_>, value: Bytes<'_, '_>) -> PyResult<()> {
        let (key, value) = (&*key, &*value);
        call(slf, |open, keyspace| {
            open.change(|transaction| transaction.put_in(keyspace, key, value))
        })
    }

    /// Removes `key`. Removing an absent key is not an error, unlike with `del tx[key]`, which
    /// looks first and so depends on the key.
    fn delete(slf: &Bound<'_, Self>, key: Bytes<'_, '_>) -> PyResult<()> {
        let key = &*key;
        call(slf, |open, keyspace| {
            open.change(|transaction| transaction.delete_in(keyspace, key))
        })
    }

    /// Removes the keys from `start` to `stop`, as in a database, and what the transaction has put
    /// there. With isolation "snapshot" any write of another writer there is a conflict, with
    /// "serializable" none.
    #[pyo3(signature = (start=None, stop=None))]
    fn delete_range(
        slf: &Bound<'_, Self>,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
    ) -> PyResult<()> {
        let range = range(start.as_ref(), stop.as_ref());
        call(slf, |open, keyspace| {
            open.change(|transaction| transaction.delete_range_in(keyspace, range))
        })
    }

    /// Removes the keys that start with `prefix`, as `delete_range`. Raises `InvalidArgumentError`
    /// with a comparator.
    fn delete_prefix(slf: &Bound<'_, Self>, prefix: Bytes<'_, '_>) -> PyResult<()> {
        let prefix = &*prefix;
        call(slf, |open, keyspace| {
            open.change(|transaction| transaction.delete_prefix_in(keyspace, prefix))
        })
    }

    /// Adds `operand` to `key`, to be folded by the database's merge operator. By itself it never
    /// conflicts: it is applied to the value that the key has at the commit.
    fn merge(slf: &Bound<'_, Self>, key: Bytes<'_, '_>, operand: Bytes<'_, '_>) -> PyResult<()> {
        let (key, operand) = (&*key, &*operand);
        call(slf, |open, keyspace| {
            open.change(|transaction| transaction.merge_in(keyspace, key, operand))
        })
    }

    /// Returns the value of `key`, or `default`, as `get`, and makes the commit fail if another
    /// writer changes `key`, whatever the isolation. With isolation "serializable" it is `get`.
    ///
    /// >>> with db.transaction(isolation="snapshot") as tx:
    /// ...     tx.get_for_update(b"rate", b"5")
    /// b'5'
    #[pyo3(signature = (key, default=None))]
    fn get_for_update<'py>(
        slf: &Bound<'py, Self>,
        key: Bytes<'_, 'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = &*key;
        let value = call(slf, |open, keyspace| {
            open.with(|transaction| transaction.get_for_update_in(keyspace, key))
        })?;
        let value = value.map(|value| PyBytes::new(slf.py(), &value));
        Ok(value.map(Bound::into_any).or(default))
    }

    /// Removes the first entry and returns it as a pair, or returns None if there is none.
    fn pop_first<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        popped(slf, RangeEnd::First)
    }

    /// Removes the last entry and returns it as a pair, or returns None if there is none.
    fn pop_last<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        popped(slf, RangeEnd::Last)
    }

    /// Marks the current state of the writes, for `rollback_to`.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     tx[b"kept"] = b"1"
    /// ...     mark = tx.savepoint()
    /// ...     tx[b"undone"] = b"2"
    /// ...     tx.rollback_to(mark)
    /// >>> list(db)
    /// [b'kept']
    fn savepoint(slf: &Bound<'_, Self>) -> PyResult<PySavepoint> {
        let mark = call(slf, |open, _| {
            open.with(|transaction| Ok(transaction.savepoint()))
        });
        Ok(PySavepoint(mark?))
    }

    /// Undoes the writes since `savepoint`, which may be used again. What was read since then still
    /// counts as read.
    ///
    /// Raises `InvalidArgumentError` for a savepoint of another transaction, or one that a rollback
    /// to an earlier one has undone.
    fn rollback_to(slf: &Bound<'_, Self>, savepoint: &PySavepoint) -> PyResult<()> {
        let mark = &savepoint.0;
        call(slf, |open, _| {
            open.change(|transaction| transaction.rollback_to(mark))
        })
    }

    /// Writes everything, all of it or nothing, and ends the transaction. The end of a `with` block
    /// does it unless the block raises.
    ///
    /// Raises `ConflictError`, and writes nothing, if another writer has changed something that the
    /// transaction depends on. Run the whole transaction again then, as `Database.transact` does.
    #[pyo3(signature = (*, durability=None))]
    fn commit(slf: &Bound<'_, Self>, durability: Option<DurabilityName>) -> PyResult<()> {
        let options: WriteOptions = write_options(durability.or(slf.get().durability));
        call(slf, |open, _| open.take()?.commit_with(&options))
    }

    /// Discards the writes and ends the transaction. Does nothing if it has ended, or in a forked
    /// child, whose copy of the transaction writes nothing.
    fn rollback(slf: &Bound<'_, Self>) -> PyResult<()> {
        if slf.as_super().get().handle().db().is_err() {
            // The parent may have forked during a call of another thread, which holds the lock.
            return Ok(());
        }
        let open = &*slf.get().open;
        detached(slf.py(), || open.discard())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind=None, _exception=None, _traceback=None))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: Option<Bound<'_, PyAny>>,
        _exception: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let reader = slf.as_super().get();
        if kind.is_none() && !reader.has_ended(slf.py()) {
            return Self::commit(slf, None);
        }
        Self::rollback(slf)
    }
}
