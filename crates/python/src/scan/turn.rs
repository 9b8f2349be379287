//! A value that one thread at a time uses.
#![allow(
    unsafe_code,
    reason = "a lock around each step of an iterator takes a tenth of its time"
)]
//!
//! The interpreter's lock already gives one thread at a time the right to run, so a step needs no
//! lock of its own: it only notes that the value is in use. That matters when the user detaches, as
//! a fetch does. Another thread that comes meanwhile waits for the end of that call, detached as
//! well.
//!
//! In an interpreter without that lock, a critical section on the object takes its place.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cairndb::Result;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;

use crate::boundary::guarded;

/// A value inside of a Python object.
pub(super) struct Turn<T> {
    /// Whether the value is borrowed. Changes only under the interpreter's lock or, where there is
    /// none, in the critical section; both order what happens before and after, so relaxed is
    /// enough.
    busy: AtomicBool,
    /// Held while the user is detached. Nobody waits for the interpreter with it.
    detached: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: `with` gives out one reference at a time, and passes the value from thread to thread,
// which `Send` allows.
unsafe impl<T: Send> Sync for Turn<T> {}

/// Ends a borrow, also when it panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl<T: Send> Turn<T> {
    pub(super) fn new(value: T) -> Turn<T> {
        Turn {
            busy: AtomicBool::new(false),
            detached: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Passes the value, which belongs to `object`, to `call`.
    ///
    /// `call` detaches only through [`Turn::detached`], and runs no Python code: an iterator that
    /// used itself would wait for itself.
    #[inline]
    pub(super) fn with<R>(&self, object: &Bound<'_, PyAny>, call: impl FnOnce(&mut T) -> R) -> R {
        with_critical_section(object, || {
            while self.busy.load(Ordering::Relaxed) {
                self.wait(object.py());
            }
            self.busy.store(true, Ordering::Relaxed);
            let _end = End(&self.busy);
            // SAFETY: `busy` was false, so there is no other reference, and is true until this one
            // ends. No other thread was between the load and the store: it would need the
            // interpreter's lock, or the critical section of the object.
            call(unsafe { &mut *self.value.get() })
        })
    }

    /// Calls the store without the interpreter's lock, within [`Turn::with`].
    ///
    /// # Errors
    /// Those of `call`; `Poisoned` if it panicked.
    pub(super) fn detached<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce() -> Result<R> + Send,
    ) -> Result<R> {
        py.detach(|| {
            let _held = self.detached.lock().unwrap_or_else(PoisonError::into_inner);
            guarded(call)
        })
    }

    #[cold]
    fn wait(&self, py: Python<'_>) {
        py.detach(|| drop(self.detached.lock()));
    }
}
