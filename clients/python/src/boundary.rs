//! The boundary between Python and the store: detaching, signals, and panics.

use std::any::Any;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cairndb::{Error, ErrorKind, Progress, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::raised;

/// Time between two looks of a long call for a signal: soon to a person, and seldom enough that a
/// thread that computes loses nothing by handing over the interpreter's lock.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Entries between two looks of a loop that runs in the interpreter.
const ENTRIES_PER_LOOK: u32 = 1000;

/// Calls the store without the interpreter's lock, so that other Python threads run meanwhile.
///
/// # Errors
/// The error of `call` as an exception; `PoisonedError` if it panicked, as a comparator does whose
/// Python function raised.
#[inline]
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    match py.detach(|| guarded(call)) {
        Ok(value) => Ok(value),
        Err(error) => Err(raised(py, &error)),
    }
}

/// The `progress` argument of a call: a function of the bytes done and of all of them.
pub(crate) struct Report(Py<PyAny>);

impl<'py> FromPyObject<'_, 'py> for Report {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_callable() {
            return Ok(Report(object.to_owned().unbind()));
        }
        let message = "progress is a function of two numbers, bytes done and bytes in all, or None";
        Err(PyTypeError::new_err(message))
    }
}

impl Report {
    fn call(&self, py: Python<'_>, now: Progress) -> PyResult<()> {
        self.0.call1(py, (now.done, now.total)).map(drop)
    }
}

/// What a long call knows of the Python program that waits for it.
#[derive(Default)]
struct Watch {
    report: Option<Report>,
    looked: Option<Instant>,
    now: Progress,
    /// What a signal's handler or `report` has raised.
    raised: Option<PyErr>,
}

impl Watch {
    /// Runs the handlers of signals that have arrived, and reports the progress, unless it has done
    /// so a moment ago.
    #[expect(
        clippy::disallowed_methods,
        reason = "the time between two looks is Python's affair, not the store's"
    )]
    fn look(&mut self, now: Progress) -> ControlFlow<()> {
        self.now = now;
        if self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return ControlFlow::Continue(());
        }
        // None when the interpreter exits: the call is of a daemon thread, which ends with it.
        let looked = Python::try_attach(|py| {
            py.check_signals()?;
            self.report.as_ref().map_or(Ok(()), |it| it.call(py, now))
        });
        self.looked = Some(Instant::now());
        match looked {
            Some(Err(exception)) => {
                self.raised = Some(exception);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Makes a call that may take long as [`detached`] does. It ends early if the handler of a signal
/// raises, as that of Ctrl-C does, or `report`, which is called while the call runs and at its end.
///
/// # Errors
/// What the handler or `report` has raised; those of [`detached`].
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    report: Option<Report>,
    call: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let (done, watch) = py.detach(|| {
        let watch = Rc::new(RefCell::new(Watch {
            report,
            ..Watch::default()
        }));
        let watcher = {
            let watch = Rc::clone(&watch);
            move |now| watch.borrow_mut().look(now)
        };
        let done = guarded(|| cairndb::watch(watcher, call));
        (done, watch.take())
    });
    if let Some(exception) = watch.raised {
        return Err(exception);
    }
    let value = done.map_err(|error| raised(py, &error))?;
    if let Some(report) = &watch.report {
        report.call(py, watch.now)?;
    }
    Ok(value)
}

/// Looks for signals in a loop over entries that may run no Python code in between, as one over a
/// list does.
#[derive(Default)]
pub(crate) struct Looks {
    /// Relaxed is enough: it orders nothing, and two threads may both look.
    entries: AtomicU32,
}

impl Looks {
    /// To be called for each entry, while nothing is locked: a handler may use any object.
    ///
    /// # Errors
    /// What a signal's handler raises.
    #[inline]
    pub(crate) fn entry(&self, py: Python<'_>) -> PyResult<()> {
        let entries = self.entries.fetch_add(1, Ordering::Relaxed);
        if entries % ENTRIES_PER_LOOK == ENTRIES_PER_LOOK - 1 {
            return py.check_signals();
        }
        Ok(())
    }
}

/// Turns a panic of `call` into an error.
///
/// # Errors
/// That of `call`; `Poisoned`.
#[inline]
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done,
        Err(panic) => Err(panicked(&*panic)),
    }
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    Error::new(ErrorKind::Poisoned, format!("the call panicked: {text}"))
}
