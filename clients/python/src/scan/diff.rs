//! The iterator over what differs in two databases.
//!
//! Differences are fetched without the interpreter's lock, many at a time. Where nothing differs, a
//! fetch ends without one after a while, so that signals are looked for.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use cairndb::{Diff, Difference, Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::turn::TurnCell;
use super::{BYTES_MAX, ENTRIES_MAX, TURN_MAX};
use crate::boundary::detached;
use crate::errors::raised;
use crate::handle::Handle;
use crate::store::{Store, handle_of};

/// What was fetched, and where to fetch more.
struct Position {
    /// `None` once the iterator has ended or was closed.
    feed: Option<Diff>,
    fetched: VecDeque<Difference>,
    /// The error that ended the iterator, for the call after its differences.
    error: Option<Error>,
    closed: bool,
}

impl Position {
    /// Fetches differences. An error ends the iterator after those before it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the time between two looks for a signal is Python's affair, not the store's"
    )]
    fn fetch(&mut self) {
        let begun = Instant::now();
        let watcher = move |_| {
            if begun.elapsed() < TURN_MAX {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(())
        };
        cairndb::watch(watcher, || {
            let mut bytes = 0;
            while self.fetched.len() < ENTRIES_MAX && bytes < BYTES_MAX {
                match self.feed.as_mut().and_then(Iterator::next) {
                    Some(Ok(difference)) => {
                        let values = [&difference.before, &difference.after];
                        let values = values.into_iter().flatten().map(Vec::len);
                        bytes += difference.key.len() + values.sum::<usize>();
                        self.fetched.push_back(difference);
                    }
                    Some(Err(error)) if error.kind() == ErrorKind::Interrupted => return,
                    last => {
                        self.error = last.and_then(Result::err);
                        self.feed = None;
                        return;
                    }
                }
            }
        });
    }

    /// Returns the next difference, or `None` if one is to be fetched or none is left.
    fn take(&mut self) -> Result<Option<Difference>> {
        if self.closed {
            return Err(Error::new(ErrorKind::Closed, "the iterator was closed"));
        }
        match self.fetched.pop_front() {
            Some(difference) => Ok(Some(difference)),
            None => self.error.take().map_or(Ok(None), Err),
        }
    }
}

/// The iterator of `cairndb.diff`.
#[pyclass(frozen, name = "Diff", module = "cairndb._cairndb")]
pub(crate) struct Differences {
    handles: [Arc<Handle>; 2],
    /// Makes the object that a step returns.
    make: Py<PyAny>,
    position: TurnCell<Position>,
}

impl Differences {
    /// Makes a step; `None` at the end.
    fn step(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Difference>> {
        let py = object.py();
        let failed = |error| raised(py, &error);
        loop {
            for handle in &self.handles {
                handle.open_db().map_err(failed)?;
            }
            let taken = self.position.with(object, |position| {
                Ok((position.take()?, position.feed.is_none()))
            });
            match taken.flatten().map_err(failed)? {
                (None, false) => {}
                (taken, _) => return Ok(taken),
            }
            // While no thread uses the iterator, which the handler may use.
            py.check_signals()?;
            let fetched = self.position.with(object, |position| {
                if position.fetched.is_empty() {
                    return self.position.detached(py, || {
                        position.fetch();
                        Ok(())
                    });
                }
                Ok(())
            });
            fetched.flatten().map_err(failed)?;
        }
    }

    fn made<'py>(&self, py: Python<'py>, it: Difference) -> PyResult<Bound<'py, PyAny>> {
        let bytes = |bytes: Option<Vec<u8>>| bytes.map(|bytes| PyBytes::new(py, &bytes));
        let key = PyBytes::new(py, &it.key);
        let arguments = (
            it.keyspace.as_deref(),
            key,
            bytes(it.before),
            bytes(it.after),
        );
        self.make.bind(py).call1(arguments)
    }
}

#[pymethods]
impl Differences {
    #[new]
    fn new(
        py: Python<'_>,
        before: Bound<'_, Store>,
        after: Bound<'_, Store>,
        make: Py<PyAny>,
    ) -> PyResult<Self> {
        let handles = [before, after].map(|of| Arc::clone(handle_of(&of)));
        let [before, after] = &handles;
        let feed = detached(py, || cairndb::diff(before.open_db()?, after.open_db()?))?;
        let position = TurnCell::new(Position {
            feed: Some(feed),
            fetched: VecDeque::new(),
            error: None,
            closed: false,
        });
        Ok(Differences {
            handles,
            make,
            position,
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = slf.get().step(slf.as_any())?;
        found.map(|it| slf.get().made(slf.py(), it)).transpose()
    }

    /// Returns the next differences as a list: at most `count`, none at the end.
    fn take_list<'py>(slf: &Bound<'py, Self>, count: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, it) = (slf.py(), slf.get());
        let mut taken: Vec<Difference> = Vec::new();
        if count > 0 {
            taken.extend(it.step(slf.as_any())?);
        }
        // An error must not come before differences that were taken.
        let rest = it.position.with(slf.as_any(), |position| {
            let rest = (count - taken.len()).min(position.fetched.len());
            position.fetched.drain(..rest).collect::<Vec<_>>()
        });
        taken.extend(rest.map_err(|error| raised(py, &error))?);
        taken.into_iter().map(|taken| it.made(py, taken)).collect()
    }

    /// Ends the iterator and releases what it holds. Further steps raise `ClosedError`.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let it = slf.get();
        let closed = it.position.end(slf.as_any(), &it.handles, |position| {
            position.closed = true;
            (position.feed.take(), std::mem::take(&mut position.fetched))
        });
        closed.map(drop)
    }
}
