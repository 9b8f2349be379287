//! Iterators: entries of a range, fetched in chunks.
//!
//! A chunk is fetched without the interpreter's lock; its entries become Python objects one at a
//! time. The first chunk is short, because many loops end after a few entries, and each further one
//! is four times as long.
//!
//! Threads may share an iterator: each entry goes to one of them.

mod bounds;
mod chunk;
mod within;

use std::sync::{Arc, Mutex};

use cairndb::{Cursor, Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};

pub(crate) use bounds::Bounds;
use chunk::Chunk;
use within::Rest;

use crate::boundary::detached;
use crate::errors::{broken_lock, raised};
use crate::handle::Handle;
use crate::handle::transaction::OpenTransaction;

/// Entries of the first chunk.
const ENTRIES_FIRST: usize = 32;
/// Entries of a chunk at most.
const ENTRIES_MAX: usize = 2048;
/// Bytes after which a chunk ends. It may exceed them by one entry.
const BYTES_MAX: usize = 256 << 10;
/// Entries that are counted between two checks for a signal.
const ENTRIES_COUNTED: u64 = 1 << 20;

/// The parts of an entry that an iterator returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Keys,
    Values,
    Entries,
}

impl What {
    pub(crate) fn from_code(code: u8) -> What {
        match code {
            0 => What::Keys,
            1 => What::Values,
            _ => What::Entries,
        }
    }

    fn has_key(self) -> bool {
        self != What::Values
    }

    fn has_value(self) -> bool {
        self != What::Keys
    }
}

/// What an iterator fetches its entries from.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every iterator has a cursor"
)]
enum Feed {
    /// The database or a snapshot.
    Cursor(Cursor),
    /// A transaction.
    Rest(Rest),
}

/// The position of an iterator.
struct Position {
    /// `None` once the iterator has ended or was closed.
    feed: Option<Feed>,
    bounds: Bounds,
    placed: bool,
    what: What,
    entries_next: usize,
    chunk: Chunk,
    /// The error that ended the last chunk, for the call after its entries.
    error: Option<Error>,
}

impl Position {
    /// Moves the cursor to the next entry. Returns whether there is one.
    fn advance(&mut self, handle: &Handle) -> Result<bool> {
        let Some(Feed::Cursor(cursor)) = &mut self.feed else {
            return Ok(false);
        };
        let left = self.bounds.take_one();
        let inside = left && {
            if self.placed {
                self.bounds.step(cursor)?;
            } else {
                self.placed = true;
                self.bounds.place(handle.order(), cursor)?;
            }
            cursor.valid() && self.bounds.contains(handle.order(), cursor.key())
        };
        if !inside {
            self.feed = None;
        }
        Ok(inside)
    }

    /// Returns whether the transaction has written since the chunk was fetched.
    #[inline]
    fn is_stale(&self) -> bool {
        matches!(&self.feed, Some(Feed::Rest(rest)) if rest.is_stale())
    }

    /// Fetches the next chunk, which is empty at the end. An error ends the iterator after the
    /// entries before it.
    fn fetch(&mut self, handle: &Handle, entries: usize) {
        let fetched = if let Some(Feed::Rest(rest)) = &mut self.feed {
            rest.pass(&self.chunk);
            self.chunk.clear();
            rest.fetch(&mut self.chunk, entries, BYTES_MAX)
        } else {
            self.chunk.clear();
            self.fetch_with_cursor(handle, entries)
        };
        if let Err(error) = fetched {
            self.error = Some(error);
        }
        if self.error.is_some() || self.chunk.is_empty() {
            self.feed = None;
        }
    }

    fn fetch_with_cursor(&mut self, handle: &Handle, entries: usize) -> Result<()> {
        while self.chunk.len() < entries
            && self.chunk.bytes() < BYTES_MAX
            && self.advance(handle)?
        {
            let Some(Feed::Cursor(cursor)) = &self.feed else {
                return Ok(());
            };
            let key = if self.what.has_key() {
                cursor.key()
            } else {
                b""
            };
            let value = if self.what.has_value() {
                cursor.value()
            } else {
                b""
            };
            self.chunk.push(key, value);
        }
        Ok(())
    }

    /// Passes some of the entries that are left, or all, and returns how many they were. Zero only
    /// at the end.
    fn pass(&mut self, handle: &Handle) -> Result<u64> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut passed = if self.is_stale() {
            0
        } else {
            self.chunk.take_all()
        };
        if let Some(Feed::Rest(_)) = &self.feed {
            self.fetch(handle, ENTRIES_MAX);
            passed += self.chunk.take_all();
        }
        while passed < ENTRIES_COUNTED && self.advance(handle)? {
            passed += 1;
        }
        Ok(passed)
    }
}

/// An iterator over the keys, the values or the entries of a range, as of the time when it was
/// made. That of a transaction also sees what it writes ahead of the iterator.
#[pyclass(frozen, module = "cairndb")]
pub(crate) struct Scan {
    handle: Arc<Handle>,
    what: What,
    position: Mutex<Position>,
}

impl Scan {
    pub(crate) fn new(handle: &Arc<Handle>, cursor: Cursor, bounds: Bounds, what: What) -> Scan {
        Scan::over(handle, Feed::Cursor(cursor), bounds, what, ENTRIES_FIRST)
    }

    pub(crate) fn within(
        handle: &Arc<Handle>,
        transaction: &Arc<OpenTransaction>,
        bounds: Bounds,
        what: What,
    ) -> Scan {
        let feed = Feed::Rest(Rest::new(transaction, bounds));
        Scan::over(handle, feed, Bounds::all(), what, 1)
    }

    fn over(
        handle: &Arc<Handle>,
        feed: Feed,
        bounds: Bounds,
        what: What,
        entries_next: usize,
    ) -> Scan {
        Scan {
            handle: Arc::clone(handle),
            what,
            position: Mutex::new(Position {
                feed: Some(feed),
                bounds,
                placed: false,
                what,
                entries_next,
                chunk: Chunk::default(),
                error: None,
            }),
        }
    }

    /// Fetches a chunk and returns whether there is an entry.
    #[cold]
    fn refill(&self, py: Python<'_>, position: &mut Position) -> PyResult<bool> {
        if let Some(error) = position.error.take() {
            return Err(raised(py, &error));
        }
        if position.feed.is_none() {
            return Ok(false);
        }
        let entries = position.entries_next;
        position.entries_next = (entries * 4).min(ENTRIES_MAX);
        let handle = &*self.handle;
        let moved: &mut Position = position;
        detached(py, move || {
            moved.fetch(handle, entries);
            Ok(())
        })?;
        if position.chunk.is_empty()
            && let Some(error) = position.error.take()
        {
            return Err(raised(py, &error));
        }
        Ok(!position.chunk.is_empty())
    }

    /// Returns the next object, if there is one.
    #[inline]
    fn take<'py>(
        &self,
        py: Python<'py>,
        position: &mut Position,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if (position.chunk.is_read() || position.is_stale()) && !self.refill(py, position)? {
            return Ok(None);
        }
        let Some((key, value)) = position.chunk.take() else {
            return Ok(None);
        };
        let object = match self.what {
            What::Keys => PyBytes::new(py, key).into_any(),
            What::Values => PyBytes::new(py, value).into_any(),
            What::Entries => {
                let pair = (PyBytes::new(py, key), PyBytes::new(py, value));
                pair.into_pyobject(py)?.into_any()
            }
        };
        Ok(Some(object))
    }

    #[inline]
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.handle.open_db() {
            Ok(_) => Ok(()),
            Err(error) => Err(raised(py, &error)),
        }
    }
}

#[pymethods]
impl Scan {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.check(py)?;
        let mut position = self
            .position
            .lock_py_attached(py)
            .map_err(|_| broken_lock())?;
        self.take(py, &mut position)
    }

    /// Returns the next entries as a list: at most `count`, none at the end.
    fn take_list<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        self.check(py)?;
        let mut position = self
            .position
            .lock_py_attached(py)
            .map_err(|_| broken_lock())?;
        position.entries_next = position.entries_next.max(count.min(ENTRIES_MAX));
        let mut list = Vec::with_capacity(count.min(ENTRIES_MAX));
        while list.len() < count
            && let Some(object) = self.take(py, &mut position)?
        {
            list.push(object);
        }
        PyList::new(py, list)
    }

    /// Counts the entries that are left, without making them Python objects.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let mut total = 0;
        loop {
            self.check(py)?;
            let mut position = self
                .position
                .lock_py_attached(py)
                .map_err(|_| broken_lock())?;
            let (position, handle) = (&mut *position, &*self.handle);
            let passed = detached(py, || position.pass(handle))?;
            total += passed;
            if passed == 0 {
                return Ok(total);
            }
            py.check_signals()?;
        }
    }

    /// Ends the iterator and releases what it holds. The next call raises `ClosedError`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut position = self
            .position
            .lock_py_attached(py)
            .map_err(|_| broken_lock())?;
        position.feed = None;
        position.chunk = Chunk::default();
        position.error = Some(Error::new(ErrorKind::Closed, "the iterator was closed"));
        Ok(())
    }
}
