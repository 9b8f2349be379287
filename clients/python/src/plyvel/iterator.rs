//! `plyvel.Iterator`: an iterator that stands between entries.
//!
//! A translation of plyvel 1.5's: the same states and the same steps, so that the same calls give
//! the same results, its quirks included.

use std::sync::{Arc, Mutex, MutexGuard};

use cairndb::Cursor;
use cairndb::leveldb::Order;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use crate::boundary::Looks;
use crate::errors::broken_lock;
use crate::handle::Handle;
use crate::plyvel::{OpenCursor, check_process, closed};
use crate::reader::Reader;

/// Where the iterator stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IteratorState {
    BeforeStart,
    AfterStop,
    InBetween,
    /// A seek has put the cursor on the entry that `next` returns.
    AlreadyPositioned,
}

/// The range and the parts of its entries that are returned.
#[expect(clippy::struct_excessive_bools, reason = "plyvel's arguments")]
struct Range {
    start: Option<Vec<u8>>,
    stop: Option<Vec<u8>>,
    include_start: bool,
    include_stop: bool,
    include_key: bool,
    include_value: bool,
    order: Order,
    /// Prefix of the database; its length is cut from each key.
    db_prefix: Vec<u8>,
}

impl Range {
    /// Returns the parts of the cursor's entry.
    fn current<'py>(&self, py: Python<'py>, cursor: &Cursor) -> Entry<'py> {
        let key = || {
            let key = cursor.key();
            PyBytes::new(py, key.get(self.db_prefix.len()..).unwrap_or_default())
        };
        Entry {
            key: self.include_key.then(key),
            value: self.include_value.then(|| PyBytes::new(py, cursor.value())),
        }
    }
}

/// The parts of an entry that are returned. A pair of them is made once the iterator is unlocked:
/// that may start a garbage collection, which runs other code, and that may use the iterator.
struct Entry<'py> {
    key: Option<Bound<'py, PyBytes>>,
    value: Option<Bound<'py, PyBytes>>,
}

impl<'py> Entry<'py> {
    fn into_object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match (self.key, self.value) {
            (Some(key), Some(value)) => (key, value).into_pyobject(py)?.into_any(),
            (Some(part), None) | (None, Some(part)) => part.into_any(),
            (None, None) => py.None().into_bound(py),
        })
    }
}

struct Inner {
    cursor: OpenCursor,
    range: Range,
    state: IteratorState,
}

type FoundEntry<'py> = PyResult<Option<Entry<'py>>>;

impl Inner {
    fn real_next<'py>(&mut self, py: Python<'py>) -> FoundEntry<'py> {
        self.cursor.get(py)?;
        match self.state {
            IteratorState::InBetween => {
                let cursor = self.cursor.step(py, Cursor::next)?;
                if !cursor.valid() {
                    self.state = IteratorState::AfterStop;
                    return Ok(None);
                }
            }
            IteratorState::AlreadyPositioned => self.state = IteratorState::InBetween,
            IteratorState::BeforeStart => {
                if !self.enter_at_start(py)? {
                    return Ok(None);
                }
                self.state = IteratorState::InBetween;
            }
            IteratorState::AfterStop => return Ok(None),
        }
        let cursor = self.cursor.get(py)?;
        if let Some(stop) = &self.range.stop {
            let order = self.range.order.compare(cursor.key(), stop);
            let past = order.is_gt() || order.is_eq() && !self.range.include_stop;
            if past {
                self.state = IteratorState::AfterStop;
                return Ok(None);
            }
        }
        Ok(Some(self.range.current(py, cursor)))
    }

    /// Moves to the first entry. Returns whether there is one.
    fn enter_at_start(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Some(start) = &self.range.start else {
            return Ok(self.cursor.step(py, Cursor::seek_to_first)?.valid());
        };
        let cursor = self.cursor.step(py, |cursor| cursor.seek(start))?;
        if cursor.valid()
            && !self.range.include_start
            && self.range.order.compare(cursor.key(), start).is_eq()
        {
            return Ok(self.cursor.step(py, Cursor::next)?.valid());
        }
        Ok(cursor.valid())
    }

    fn real_prev<'py>(&mut self, py: Python<'py>) -> FoundEntry<'py> {
        self.cursor.get(py)?;
        match self.state {
            IteratorState::InBetween => {}
            IteratorState::AlreadyPositioned => {
                if !self.cursor.step(py, Cursor::prev)?.valid() {
                    self.state = IteratorState::BeforeStart;
                    return Ok(None);
                }
            }
            IteratorState::BeforeStart => return Ok(None),
            IteratorState::AfterStop => {
                if !self.enter_at_stop(py)? {
                    return Ok(None);
                }
            }
        }
        // Unlike in `real_next`, the entry is taken first and the cursor moved then, so that
        // turning around returns the same entry again.
        let entry = self.range.current(py, self.cursor.get(py)?);
        let cursor = self.cursor.step(py, Cursor::prev)?;
        self.state = match &self.range.start {
            _ if !cursor.valid() => IteratorState::BeforeStart,
            None => IteratorState::InBetween,
            Some(start) => {
                let order = self.range.order.compare(cursor.key(), start);
                let inside = order.is_gt() || order.is_eq() && self.range.include_start;
                if inside {
                    IteratorState::InBetween
                } else {
                    IteratorState::BeforeStart
                }
            }
        };
        Ok(Some(entry))
    }

    /// Moves to the last entry. Returns whether there is one.
    fn enter_at_stop(&mut self, py: Python<'_>) -> PyResult<bool> {
        match &self.range.stop {
            None => {
                self.cursor.step(py, Cursor::seek_to_last)?;
            }
            Some(stop) => {
                let valid = self.cursor.step(py, |cursor| cursor.seek(stop))?.valid();
                if !valid {
                    self.cursor.step(py, Cursor::seek_to_last)?;
                } else if !self.range.include_stop {
                    self.cursor.step(py, Cursor::prev)?;
                }
                let cursor = self.cursor.get(py)?;
                if cursor.valid() && self.range.order.compare(cursor.key(), stop).is_gt() {
                    self.cursor.step(py, Cursor::prev)?;
                }
            }
        }
        let cursor = self.cursor.get(py)?;
        if !cursor.valid() {
            return Ok(false);
        }
        // plyvel excludes the start here, whatever `include_start` says.
        let start = self.range.start.as_ref();
        let before =
            start.is_some_and(|start| !self.range.order.compare(start, cursor.key()).is_lt());
        Ok(!before)
    }

    fn seek(&mut self, py: Python<'_>, target: &[u8]) -> PyResult<()> {
        self.cursor.get(py)?;
        let mut target = [self.range.db_prefix.as_slice(), target].concat();
        if let Some(start) = &self.range.start
            && self.range.order.compare(&target, start).is_lt()
        {
            target.clone_from(start);
        }
        if let Some(stop) = &self.range.stop
            && self.range.order.compare(&target, stop).is_gt()
        {
            target.clone_from(stop);
        }
        let cursor = self.cursor.step(py, |cursor| cursor.seek(&target))?;
        self.state = if cursor.valid() {
            IteratorState::AlreadyPositioned
        } else {
            IteratorState::AfterStop
        };
        Ok(())
    }
}

/// An iterator over a range, in both directions.
#[pyclass(frozen, weakref, name = "Iterator", module = "plyvel._plyvel")]
pub(crate) struct PlyvelIterator {
    reverse: bool,
    handle: Arc<Handle>,
    inner: Mutex<Inner>,
    looks: Looks,
}

#[pymethods]
impl PlyvelIterator {
    #[new]
    fn new<'py>(
        py: Python<'py>,
        reader: Bound<'py, Reader>,
        db_prefix: Vec<u8>,
        start: Option<Vec<u8>>,
        stop: Option<Vec<u8>>,
        include: (bool, bool, bool, bool),
        reverse: bool,
    ) -> PyResult<PlyvelIterator> {
        let reader = reader.get();
        let handle = Arc::clone(reader.handle());
        let cursor = reader.cursor(py)?;
        let (include_start, include_stop, include_key, include_value) = include;
        let state = if reverse {
            IteratorState::AfterStop
        } else {
            IteratorState::BeforeStart
        };
        let inner = Inner {
            cursor: OpenCursor::new(&handle, cursor),
            range: Range {
                start,
                stop,
                include_start,
                include_stop,
                include_key,
                include_value,
                order: reader.keyspace().order().clone(),
                db_prefix,
            },
            state,
        };
        Ok(PlyvelIterator {
            reverse,
            handle,
            inner: Mutex::new(inner),
            looks: Looks::default(),
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.step(py, !self.reverse)
    }

    /// Returns the next entry.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.__next__(py)?.ok_or_else(stop)
    }

    /// Returns the previous entry.
    fn prev<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.step(py, self.reverse)?.ok_or_else(stop)
    }

    /// Moves before the first entry.
    fn seek_to_start(&self, py: Python<'_>) -> PyResult<()> {
        self.place(py, IteratorState::BeforeStart)
    }

    /// Moves after the last entry.
    fn seek_to_stop(&self, py: Python<'_>) -> PyResult<()> {
        self.place(py, IteratorState::AfterStop)
    }

    /// Moves before the first entry at or after `target`, inside of the range.
    fn seek(&self, py: Python<'_>, target: Bound<'_, PyBytes>) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        inner.seek(py, target.as_bytes())
    }

    /// Releases the iterator. The next use raises `RuntimeError`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.handle.db().is_ok() {
            self.lock(py)?.cursor.cursor = None;
        }
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: Bound<'_, PyAny>) -> PyResult<bool> {
        self.close(py)?;
        Ok(false)
    }
}

impl PlyvelIterator {
    /// Locks the iterator. In a forked child nobody may wait for the lock: the parent may have
    /// forked while another thread held it.
    #[inline]
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Inner>> {
        check_process(py, &self.handle)?;
        self.inner.lock_py_attached(py).map_err(|_| broken_lock())
    }

    /// Makes a step in the order of the keys, or against it.
    fn step<'py>(&self, py: Python<'py>, forwards: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.looks.entry(py)?;
        let mut inner = self.lock(py)?;
        let entry = if forwards {
            inner.real_next(py)
        } else {
            inner.real_prev(py)
        };
        drop(inner);
        entry?.map(|entry| entry.into_object(py)).transpose()
    }

    fn place(&self, py: Python<'_>, state: IteratorState) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        if inner.cursor.cursor.is_none() {
            return Err(closed());
        }
        inner.cursor.get(py)?;
        inner.state = state;
        Ok(())
    }
}

fn stop() -> PyErr {
    pyo3::exceptions::PyStopIteration::new_err(())
}
