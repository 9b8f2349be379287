//! Background threads, as started by every threaded environment.

use std::thread::Builder;

use cairndb_base::{Error, Result};

use crate::environment::{Join, Priority};

/// Stack size of a background thread, the same as Rust's default: comparators and merge operators
/// also run here, and may recurse. It reserves address space only: untouched memory is never
/// resident.
const STACK_BYTES: usize = 2 << 20;
/// Added to the process's own `nice` value.
#[cfg(target_os = "linux")]
const NICE_STEP: i32 = 10;

/// Starts `body` on a new thread, as [`Env::spawn`](crate::Env::spawn) requires.
///
/// # Errors
/// `Io` if the system cannot start a thread.
pub fn spawn(name: &str, priority: Priority, body: Box<dyn FnOnce() + Send>) -> Result<Join> {
    let handle = Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            if priority == Priority::Low {
                lower_priority();
            }
            body();
        })
        .map_err(|cause| Error::io("start a background thread", cause))?;
    Ok(Box::new(move || {
        // The body or the panic hook has reported any panic; the joiner has nothing to add.
        let _ = handle.join();
    }))
}

/// Lowers the thread's priority. Linux keeps `nice` per thread, so no other thread is affected. A
/// failure affects speed only.
#[cfg(target_os = "linux")]
fn lower_priority() {
    let thread = rustix::thread::gettid();
    if let Ok(nice) = rustix::process::getpriority_process(Some(thread)) {
        let _ = rustix::process::setpriority_process(Some(thread), (nice + NICE_STEP).min(19));
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
