//! Iterators: entries of a range, fetched in chunks.
//!
//! A chunk is fetched without the interpreter's lock; its entries become Python objects one at a
//! time. The first chunk is short, because many loops end after a few entries, and each further one
//! is four times as long.
//!
//! Threads may share an iterator: each entry goes to one of them.

mod bounds;
pub(crate) mod changes;
mod chunk;
pub(crate) mod diff;
mod pairs;
mod turn;
mod within;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use cairndb::{Cursor, Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

pub(crate) use bounds::Bounds;
use chunk::Chunk;
use pairs::Pairs;
use turn::TurnCell;
pub(crate) use within::Rest;

use crate::errors::raised;
use crate::handle::Handle;

/// Entries of the first chunk.
const ENTRIES_FIRST: usize = 32;
/// Entries of a chunk at most.
const ENTRIES_MAX: usize = 2048;
/// Bytes after which a chunk ends. It may exceed them by one entry.
const BYTES_MAX: usize = 256 << 10;
/// Time of a call without the interpreter's lock, between two looks for a signal.
const TURN_MAX: Duration = Duration::from_millis(50);
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
    Cursor(Cursor, Bounds),
    /// A transaction.
    Rest(Rest),
}

/// The position of an iterator.
struct Position {
    /// `None` once the iterator has ended or was closed.
    feed: Option<Feed>,
    placed: bool,
    what: What,
    entries_next: usize,
    chunk: Chunk,
    /// The error that ended the last chunk, for the call after its entries.
    error: Option<Error>,
    /// Whether the program has closed the iterator.
    closed: bool,
}

impl Position {
    /// Moves the cursor to the next entry. Returns whether there is one.
    fn advance(&mut self) -> Result<bool> {
        let Some(Feed::Cursor(cursor, bounds)) = &mut self.feed else {
            return Ok(false);
        };
        let left = bounds.take_one();
        let inside = left && {
            if self.placed {
                bounds.step(cursor)?;
            } else {
                self.placed = true;
                bounds.place(cursor)?;
            }
            cursor.valid() && bounds.contains(cursor.key())
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
    fn fetch(&mut self, entries: usize) {
        let fetched = if let Some(Feed::Rest(rest)) = &mut self.feed {
            rest.pass(&self.chunk);
            self.chunk.clear();
            rest.fetch(&mut self.chunk, entries, BYTES_MAX)
        } else {
            self.chunk.clear();
            self.fetch_with_cursor(entries)
        };
        if let Err(error) = fetched {
            self.error = Some(error);
        }
        if self.error.is_some() || self.chunk.is_empty() {
            self.feed = None;
        }
    }

    fn fetch_with_cursor(&mut self, entries: usize) -> Result<()> {
        while self.chunk.len() < entries && self.chunk.bytes() < BYTES_MAX && self.advance()? {
            let Some(Feed::Cursor(cursor, _)) = &self.feed else {
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

    /// Returns the error that is due once the chunk is read, if there is one.
    fn due(&mut self) -> Result<()> {
        if self.closed {
            return Err(Error::new(ErrorKind::Closed, "the iterator was closed"));
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn close(&mut self) {
        self.closed = true;
        self.feed = None;
        self.error = None;
        self.chunk = Chunk::new();
    }

    /// Passes some of the entries that are left, or all, and returns how many they were. Zero only
    /// at the end.
    fn pass(&mut self) -> Result<u64> {
        self.due()?;
        let mut passed = if self.is_stale() {
            0
        } else {
            self.chunk.take_all()
        };
        if let Some(Feed::Rest(_)) = &self.feed {
            self.fetch(ENTRIES_MAX);
            passed += self.chunk.take_all();
        }
        while passed < ENTRIES_COUNTED && self.advance()? {
            passed += 1;
        }
        Ok(passed)
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        mem::replace(&mut self.chunk, Chunk::new()).keep();
    }
}

/// What a step uses.
struct Parts {
    position: Position,
    pairs: Pairs,
}

/// What a step has found.
enum Step<'py> {
    Object(Bound<'py, PyAny>),
    /// A pair that is not made yet: that may start a garbage collection, which runs other code.
    Pair(Bound<'py, PyBytes>, Bound<'py, PyBytes>),
    /// No entry is left of the chunk.
    Refill,
}

impl<'py> Step<'py> {
    #[inline]
    fn into_object(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Step::Object(object) => Ok(Some(object)),
            Step::Pair(key, value) => Ok(Some((key, value).into_pyobject(py)?.into_any())),
            Step::Refill => Ok(None),
        }
    }
}

impl Parts {
    #[inline]
    fn step<'py>(&mut self, py: Python<'py>, what: What) -> Step<'py> {
        if self.position.is_stale() {
            return Step::Refill;
        }
        let Some((key, value)) = self.position.chunk.take() else {
            return Step::Refill;
        };
        match what {
            What::Keys => Step::Object(PyBytes::new(py, key).into_any()),
            What::Values => Step::Object(PyBytes::new(py, value).into_any()),
            What::Entries => {
                let (key, value) = (PyBytes::new(py, key), PyBytes::new(py, value));
                match self.pairs.fill(py, key, value) {
                    Ok(pair) => Step::Object(pair.into_any()),
                    Err((key, value)) => Step::Pair(key, value),
                }
            }
        }
    }
}

/// An iterator over the keys, the values or the entries of a range, as of the time when it was
/// made. That of a transaction also sees what it writes ahead of the iterator.
#[pyclass(frozen, module = "cairndb")]
pub(crate) struct Scan {
    handle: Arc<Handle>,
    what: What,
    parts: TurnCell<Parts>,
}

impl Scan {
    pub(crate) fn new(
        py: Python<'_>,
        handle: &Arc<Handle>,
        cursor: Cursor,
        bounds: Bounds,
        what: What,
    ) -> PyResult<Scan> {
        Scan::over(py, handle, Feed::Cursor(cursor, bounds), what)
    }

    pub(crate) fn within(
        py: Python<'_>,
        handle: &Arc<Handle>,
        rest: Rest,
        what: What,
    ) -> PyResult<Scan> {
        Scan::over(py, handle, Feed::Rest(rest), what)
    }

    fn over(py: Python<'_>, handle: &Arc<Handle>, feed: Feed, what: What) -> PyResult<Scan> {
        let entries_next = match &feed {
            Feed::Cursor(..) => ENTRIES_FIRST,
            Feed::Rest(_) => 1,
        };
        let pairs = if what == What::Entries {
            Pairs::new(py)?
        } else {
            Pairs::none()
        };
        let position = Position {
            feed: Some(feed),
            placed: false,
            what,
            entries_next,
            chunk: Chunk::kept(),
            error: None,
            closed: false,
        };
        Ok(Scan {
            handle: Arc::clone(handle),
            what,
            parts: TurnCell::new(Parts { position, pairs }),
        })
    }

    /// Fetches a chunk, unless another thread has. Returns whether there is an entry.
    #[cold]
    fn refill(&self, object: &Bound<'_, PyAny>) -> Result<bool> {
        let py = object.py();
        self.parts.with(object, |parts| {
            let position = &mut parts.position;
            if !position.chunk.is_read() && !position.is_stale() {
                return Ok(true);
            }
            position.due()?;
            if position.feed.is_none() {
                return Ok(false);
            }
            let entries = position.entries_next;
            position.entries_next = (entries * 4).min(ENTRIES_MAX);
            let moved = &mut *position;
            let fetched = self.parts.detached(py, move || {
                moved.fetch(entries);
                Ok(())
            });
            if let Err(panicked) = fetched {
                position.feed = None;
                position.error = Some(panicked);
            }
            match (position.chunk.is_empty(), position.error.take()) {
                (true, Some(error)) => Err(error),
                (empty, error) => {
                    position.error = error;
                    Ok(!empty)
                }
            }
        })?
    }

    /// Makes a step, with as many fetches before it as it needs. Returns `Refill` at the end.
    ///
    /// # Errors
    /// What the handler of a signal raises, besides the errors of the store. A loop in C over the
    /// iterator, as in `dict` or `list`, would run the handler after its last entry.
    #[inline]
    fn step<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Result<Step<'py>>> {
        let py = object.py();
        loop {
            match self.parts.with(object, |parts| parts.step(py, self.what)) {
                Ok(Step::Refill) => {}
                made => return Ok(made),
            }
            // While no thread uses the iterator, which the handler may use.
            py.check_signals()?;
            match self.refill(object) {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(Step::Refill)),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    /// Keeps an error for the next call.
    fn postpone(&self, object: &Bound<'_, PyAny>, error: Error) -> Result<()> {
        self.parts
            .with(object, |parts| parts.position.error = Some(error))
    }

    /// Returns an error in a forked child, and once the database is closed.
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

    pub(crate) fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, scan) = (slf.py(), slf.get());
        scan.check(py)?;
        match scan.step(slf.as_any())? {
            Ok(step) => step.into_object(py),
            Err(error) => Err(raised(py, &error)),
        }
    }

    /// Returns the next entries as a list: at most `count`, none at the end.
    fn take_list<'py>(slf: &Bound<'py, Self>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let (py, object, scan) = (slf.py(), slf.as_any(), slf.get());
        scan.check(py)?;
        let entries = count.min(ENTRIES_MAX);
        let prepared = scan.parts.with(object, |parts| {
            let next = &mut parts.position.entries_next;
            *next = entries.max(*next);
        });
        prepared.map_err(|error| raised(py, &error))?;
        let mut list = Vec::with_capacity(entries);
        while list.len() < count {
            let taken = match scan.step(object)? {
                Err(error) if !list.is_empty() => {
                    scan.postpone(object, error).map(|()| Step::Refill)
                }
                taken => taken,
            };
            let step = taken.map_err(|error| raised(py, &error))?;
            let Some(entry) = step.into_object(py)? else {
                break;
            };
            list.push(entry);
        }
        PyList::new(py, list)
    }

    /// Counts the entries that are left, without making them Python objects.
    pub(crate) fn count(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let (py, scan) = (slf.py(), slf.get());
        let mut total = 0;
        loop {
            scan.check(py)?;
            let passed = scan.parts.with(slf.as_any(), |parts| {
                let position = &mut parts.position;
                scan.parts.detached(py, || position.pass())
            });
            let passed = passed.flatten().map_err(|error| raised(py, &error))?;
            total += passed;
            if passed == 0 {
                return Ok(total);
            }
            py.check_signals()?;
        }
    }

    /// Ends the iterator and releases what it holds. Further steps raise `ClosedError`. Waits for
    /// a step of another thread.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let scan = slf.get();
        let handles = std::slice::from_ref(&scan.handle);
        let closed = scan.parts.end(slf.as_any(), handles, |parts| {
            parts.position.close();
            mem::replace(&mut parts.pairs, Pairs::none())
        });
        // The last pair is dropped here, and not while the iterator is in use.
        closed.map(drop)
    }
}
