//! Watching long calls: progress, and a way to stop them.
//!
//! One function covers the calls of both headers, because the engine finds the watcher by the
//! thread. A pair that sets and clears a watcher was rejected: after an early return, the watcher
//! would stay set for calls that know nothing of it, with a state that is gone.

use std::ffi::c_void;
use std::ops::ControlFlow;

use cairndb::Error;

use crate::face::error::{cairndb_error, give_error};

/// Runs `call`, and returns what it returns. While `call` is in a long function of this library,
/// `watcher` is called at least every few milliseconds of work, on the same thread. `done` is the
/// number of bytes read or written so far, which never decreases; `total` is an estimate of all of
/// them, 0 while it is not known.
///
/// If `watcher` returns true, that function ends with `INTERRUPTED`, as does every later one in
/// `call`. The database stays consistent and usable, and the function can be repeated. An
/// incomplete result, such as half a fork, is removed.
///
/// Watched are `cairndb_open` (which may replay a log or convert a database of LevelDB),
/// `..._flush`, `..._compact_range`, `..._wait_idle`, `..._fork`, `..._snapshot_fork`,
/// `..._checkpoint`, `..._diff_next`, `..._changes_next`, `..._verify`, `..._repair` and
/// `..._leveldb_upgrade`, as well as `leveldb_open`, `leveldb_compact_range` and
/// `leveldb_repair_db`. The text of their error begins with "IO error: interrupted"; without an
/// `errptr` it is left to `cairndb_last_error`. Other functions, such as a close, are never
/// stopped.
///
/// `watcher` must be quick. It may read the database, but must not write to it or close it: that
/// may wait for the function that it watches. A `cairndb_watch` in `call` replaces this one until
/// it returns. `INVALID_ARGUMENT` if `watcher` or `call` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_watch(
    watcher_state: *mut c_void,
    watcher: Option<unsafe extern "C" fn(state: *mut c_void, done: u64, total: u64) -> bool>,
    call_state: *mut c_void,
    call: Option<unsafe extern "C" fn(state: *mut c_void) -> *mut cairndb_error>,
) -> *mut cairndb_error {
    let (Some(watcher), Some(call)) = (watcher, call) else {
        return give_error(&Error::invalid("the watcher or the call is NULL"));
    };
    let stops = move |at: cairndb::Progress| {
        // SAFETY: the caller passed the function for this state, and is waiting on this thread.
        if unsafe { watcher(watcher_state, at.done, at.total) } {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    // SAFETY: the caller passed the function for this state.
    cairndb::watch(stops, || unsafe { call(call_state) })
}
