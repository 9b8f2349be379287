//! Calls of the library: their errors, and their repetition while it locks them out.

use std::thread;
use std::time::{Duration, Instant};

use bench_core::fault::Fault;
use tidesdb::TidesDB;

/// How long a call is repeated while the library reports that it is locked out.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The pause between two attempts.
pub(crate) const PAUSE: Duration = Duration::from_micros(100);

/// Converts an error.
#[cold]
pub(crate) fn fault(error: impl Into<tidesdb::Error>) -> Fault {
    Fault::new(error.into().to_string())
}

/// Makes a call, and repeats it while the library reports that it is locked out.
#[inline]
pub(crate) fn retry<T>(mut call: impl FnMut() -> tidesdb::Result<T>) -> tidesdb::Result<T> {
    match call() {
        Err(error) if error.is_locked() => repeat(call),
        result => result,
    }
}

#[cold]
fn repeat<T>(mut call: impl FnMut() -> tidesdb::Result<T>) -> tidesdb::Result<T> {
    let begin = Instant::now();
    loop {
        thread::park_timeout(PAUSE);
        match call() {
            Err(error) if error.is_locked() && begin.elapsed() < PATIENCE => {}
            result => return result,
        }
    }
}

/// Waits until the memtables that were full are in tables.
pub(crate) fn drain(database: &TidesDB) {
    while database.is_flushing() {
        thread::park_timeout(PAUSE);
    }
}
