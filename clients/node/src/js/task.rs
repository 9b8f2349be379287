//! Work on Node's thread pool, with a promise for its result.
//!
//! A task has two parts: `run`, on a thread of the pool, and `settle`, back on the thread of the
//! environment, which turns the result into a value. Node lets no environment end before the tasks
//! that it has queued are complete, so a task may refer to what its environment owns.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use cairndb::{Error, ErrorKind};
use napi_sys::{napi_async_work, napi_deferred, napi_env, napi_status};

use crate::js::call::napi;
use crate::js::callback::guarded;
use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};

/// The pending side of a promise.
#[derive(Debug)]
#[must_use = "a promise that is never settled keeps its waiters for ever"]
pub(crate) struct Deferred(napi_deferred);

impl Deferred {
    /// Makes a promise.
    pub(crate) fn new(env: Env<'_>) -> Outcome<(Deferred, Value<'_>)> {
        let (mut deferred, mut promise) = (null_mut(), null_mut());
        napi!(napi_create_promise(
            env.raw(),
            &raw mut deferred,
            &raw mut promise
        ))?;
        Ok((Deferred(deferred), Value::new(env, promise)))
    }

    /// Resolves or rejects the promise. Does nothing if the environment is ending.
    pub(crate) fn settle<'s>(self, env: Env<'s>, outcome: Outcome<Value<'s>>) {
        let value = match outcome {
            Ok(value) => {
                let _ = napi!(napi_resolve_deferred(env.raw(), self.0, value.raw()));
                return;
            }
            Err(failure) => failure.error(env).or_else(|| env.take_exception()),
        };
        if let Some(error) = value.or_else(|| env.undefined().ok()) {
            let _ = napi!(napi_reject_deferred(env.raw(), self.0, error.raw()));
        }
    }
}

/// A queued task.
struct Task<R, O, S> {
    run: Option<R>,
    /// `None` until `run` has returned, and if it panicked.
    output: Option<O>,
    settle: Option<S>,
    work: napi_async_work,
}

/// Runs `run` on the thread pool, and `settle` with its result on this thread.
pub(crate) fn spawn<R, O, S>(env: Env<'_>, run: R, settle: S) -> Outcome<()>
where
    R: FnOnce() -> O + Send + 'static,
    O: Send + 'static,
    S: FnOnce(Env<'_>, Result<O, Error>) + 'static,
{
    let name = env.string(b"cairndb")?;
    let task: *mut Task<R, O, S> = Box::into_raw(Box::new(Task {
        run: Some(run),
        output: None,
        settle: Some(settle),
        work: null_mut(),
    }));
    let mut work = null_mut();
    let made = napi!(napi_create_async_work(
        env.raw(),
        null_mut(),
        name.raw(),
        Some(execute::<R, O, S>),
        Some(complete::<R, O, S>),
        task.cast(),
        &raw mut work,
    ));
    if let Err(failure) = made {
        // SAFETY: Node has refused the task, so the box is still ours.
        drop(unsafe { Box::from_raw(task) });
        return Err(failure);
    }
    // SAFETY: the task was just made, and is not queued yet.
    unsafe { (*task).work = work };
    let queued = napi!(napi_queue_async_work(env.raw(), work));
    if queued.is_err() {
        let _ = napi!(napi_delete_async_work(env.raw(), work));
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(task) });
    }
    queued
}

/// Runs `run` on the thread pool and returns a promise, which `settle` makes the value of.
pub(crate) fn promise<'s, R, O, S>(env: Env<'s>, run: R, settle: S) -> Outcome<Value<'s>>
where
    R: FnOnce() -> O + Send + 'static,
    O: Send + 'static,
    S: for<'e> FnOnce(Env<'e>, Result<O, Error>) -> Outcome<Value<'e>> + 'static,
{
    let (deferred, promise) = Deferred::new(env)?;
    spawn(env, run, move |env, output| {
        let outcome = guarded(|| settle(env, output));
        deferred.settle(env, outcome);
    })?;
    Ok(promise)
}

/// Runs a task.
///
/// # Safety
/// Node calls it once, on a thread of the pool, with a task that was queued.
unsafe extern "C" fn execute<R, O, S>(_env: napi_env, data: *mut c_void)
where
    R: FnOnce() -> O,
{
    // SAFETY: the environment's thread does not touch the task before `complete`. `run` and
    // `output` may be used on this thread, because `spawn` requires `Send`.
    let task = unsafe { &mut *data.cast::<Task<R, O, S>>() };
    if let Some(run) = task.run.take() {
        task.output = catch_unwind(AssertUnwindSafe(run)).ok();
    }
}

/// Returns the error of a task without a result.
#[cold]
fn missing(has_run: bool) -> Error {
    if has_run {
        let text = "the addon panicked on the thread pool; please report this as a bug";
        Error::new(ErrorKind::Poisoned, text)
    } else {
        let text = "the work was cancelled, because its thread is ending";
        Error::new(ErrorKind::Closed, text)
    }
}

/// Hands the result of a task over.
///
/// # Safety
/// Node calls it once, on the environment's thread, after `execute`, or instead of it if the task
/// was cancelled.
unsafe extern "C" fn complete<R, O, S>(raw: napi_env, _status: napi_status, data: *mut c_void)
where
    S: FnOnce(Env<'_>, Result<O, Error>),
{
    // SAFETY: `spawn` has made the box, and nothing refers to it after `execute`.
    let mut task = unsafe { Box::from_raw(data.cast::<Task<R, O, S>>()) };
    let env = Env::new(raw);
    let _ = napi!(napi_delete_async_work(raw, task.work));
    let has_run = task.run.is_none();
    let output = task.output.take().ok_or_else(|| missing(has_run));
    if let Some(settle) = task.settle.take() {
        let _ = guarded(|| {
            settle(env, output);
            Ok(())
        });
    }
    // An exception of JavaScript that `settle` called would end the process.
    let _ = env.take_exception();
}
