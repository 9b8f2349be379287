//! A long call as JavaScript follows it: aborts it, and asks how far it is.
//!
//! The environment's thread and the thread that makes the call share three numbers. JavaScript asks
//! for the progress when it wants it; a call into JavaScript for each report of the store would
//! queue more of them than a busy event loop gets through.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb::{Error, ErrorKind, Progress};

use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::Value;

/// Set when a call, or the reads of an iterator, are to end, by a signal.
#[derive(Debug, Default)]
pub(crate) struct AbortFlag(AtomicBool);

impl AbortFlag {
    pub(crate) fn set(&self) {
        // Relaxed: the flag orders nothing; the reader looks at it again.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns an error once the flag is set.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.0.load(Ordering::Relaxed) {
            let message = "the operation was aborted";
            return Err(Error::new(ErrorKind::Interrupted, message));
        }
        Ok(())
    }
}

/// The state of one call, which `lib/watch.js` has an external of.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) abort: AbortFlag,
    /// Bytes, as in [`Progress`].
    done: AtomicU64,
    total: AtomicU64,
}

impl Watch {
    /// Returns the watch that is an argument of a call. Without one nothing aborts it.
    pub(crate) fn from_argument(value: Value<'_>) -> Outcome<Arc<Watch>> {
        if value.is_nullish()? {
            return Ok(Arc::default());
        }
        external::borrow::<Arc<Watch>>(value).map(Arc::clone)
    }

    /// Makes `call`, which the store then lets JavaScript follow.
    ///
    /// # Errors
    /// Those of `call`; `Interrupted` if it is aborted, also before it begins.
    pub(crate) fn over<T>(
        self: &Arc<Self>,
        call: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.abort.check()?;
        if Arc::strong_count(self) == 1 {
            // JavaScript has passed none.
            return call();
        }
        let watch = Arc::clone(self);
        cairndb::watch(move |progress| watch.report(progress), call)
    }

    fn report(&self, progress: Progress) -> ControlFlow<()> {
        self.done.store(progress.done, Ordering::Relaxed);
        self.total.store(progress.total, Ordering::Relaxed);
        match self.abort.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// `watchNew()`: returns a watch, for the last argument of one long call.
pub(crate) fn watch_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    external::give(call.env, Arc::<Watch>::default())
}

/// `watchAbort(watch)`: the call ends within a few milliseconds of work.
pub(crate) fn watch_abort<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let watch = external::borrow::<Arc<Watch>>(call.argument::<0>())?;
    watch.abort.set();
    call.env.undefined()
}

/// `watchReport(watch, report)`: calls `report` with the bytes done and those in all.
pub(crate) fn watch_report<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let watch = external::borrow::<Arc<Watch>>(call.argument::<0>())?;
    let number = |of: &AtomicU64| call.env.count(of.load(Ordering::Relaxed));
    let arguments = [number(&watch.done)?.raw(), number(&watch.total)?.raw()];
    call.env.call(call.argument::<1>(), &arguments)?;
    call.env.undefined()
}
