//! A value that one thread at a time uses.
#![allow(
    unsafe_code,
    reason = "a lock around each step of an iterator takes a tenth of its time"
)]
//!
//! The interpreter's lock already gives one thread at a time the right to run, so a step needs no
//! lock of its own: it only notes that the value is in use. That matters when the user detaches, as
//! a fetch does. It holds a lock then, for which another thread waits, detached as well. It keeps
//! the lock until it is attached again: the others would otherwise run only to find the value in
//! use, and could keep the interpreter's lock from the user.
//!
//! In an interpreter without that lock, a critical section on the object takes its place.
//!
//! A child that was forked during a detached call has a copy that stays in use for ever. Callers
//! check the process first.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cairndb::{Error, Result};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;

use crate::boundary::guarded;
use crate::errors::raised;
use crate::handle::{Handle, this_thread};

/// A value inside of a Python object.
pub(super) struct TurnCell<T> {
    /// Whether the value is borrowed. Changes only under the interpreter's lock or, where there is
    /// none, in the critical section; both order what happens before and after, so relaxed is
    /// enough.
    busy: AtomicBool,
    /// The thread that is detached, else 0. Changes as `busy` does.
    user: AtomicUsize,
    /// Held by that thread. The others take it only to wait, detached, and drop it at once, so
    /// that to take it never takes long.
    detached: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: `with` gives out one reference at a time, and passes the value from thread to thread,
// which `Send` allows.
unsafe impl<T: Send> Sync for TurnCell<T> {}

/// Ends a borrow, also when it panics.
struct BorrowEnd<'a>(&'a AtomicBool);

impl Drop for BorrowEnd<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl<T: Send> TurnCell<T> {
    pub(super) fn new(value: T) -> TurnCell<T> {
        TurnCell {
            busy: AtomicBool::new(false),
            user: AtomicUsize::new(0),
            detached: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns whether a thread uses the value.
    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Passes the value, which belongs to `object`, to `call`. To be called in the process that
    /// opened the database.
    ///
    /// `call` detaches only through [`TurnCell::detached`], and runs no Python code otherwise.
    ///
    /// # Errors
    /// `InvalidArgument` if this thread uses the value already, so that waiting would never end: a
    /// comparator or a merge operator in Python, called by a step, makes a step.
    #[inline]
    pub(super) fn with<R>(
        &self,
        object: &Bound<'_, PyAny>,
        call: impl FnOnce(&mut T) -> R,
    ) -> Result<R> {
        with_critical_section(object, || {
            while self.busy.load(Ordering::Relaxed) {
                self.wait(object.py())?;
            }
            self.busy.store(true, Ordering::Relaxed);
            let _end = BorrowEnd(&self.busy);
            // SAFETY: `busy` was false, so there is no other reference, and is true until this one
            // ends. No other thread was between the load and the store: it would need the
            // interpreter's lock, or the critical section of the object.
            Ok(call(unsafe { &mut *self.value.get() }))
        })
    }

    /// Calls the store without the interpreter's lock, within [`TurnCell::with`].
    ///
    /// # Errors
    /// Those of `call`; `Poisoned` if it panicked.
    pub(super) fn detached<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce() -> Result<R> + Send,
    ) -> Result<R> {
        let _held = self.detached.lock().unwrap_or_else(PoisonError::into_inner);
        self.user.store(this_thread(), Ordering::Relaxed);
        let done = py.detach(|| guarded(call));
        self.user.store(0, Ordering::Relaxed);
        done
    }

    /// Passes the value, which belongs to `object`, to `end`, which closes it. `None` if a thread
    /// uses it and a database of `handles` is closed.
    ///
    /// # Errors
    /// Those of [`TurnCell::with`], as an exception.
    pub(super) fn end<R>(
        &self,
        object: &Bound<'_, PyAny>,
        handles: &[Arc<Handle>],
        end: impl FnOnce(&mut T) -> R,
    ) -> PyResult<Option<R>> {
        if handles.iter().any(|handle| handle.open_db().is_err()) && self.is_busy() {
            // Of a forked child, or at the exit of the interpreter: the thread that makes the step
            // is gone. Steps raise an error anyway.
            return Ok(None);
        }
        let ended = self.with(object, end);
        ended.map(Some).map_err(|error| raised(object.py(), &error))
    }

    #[cold]
    fn wait(&self, py: Python<'_>) -> Result<()> {
        let user = self.user.load(Ordering::Relaxed);
        if user != 0 && user == this_thread() {
            return Err(Error::invalid(
                "the iterator is in use by a call that has called this code; use another iterator",
            ));
        }
        py.detach(|| drop(self.detached.lock()));
        Ok(())
    }
}
