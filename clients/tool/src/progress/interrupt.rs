//! Ctrl-C, or SIGTERM, during a long command, which then stops where it leaves nothing half-made.
//!
//! The handler sets a flag that the loops check. Every other command is ended by the signal itself,
//! and so is a long one by the second Ctrl-C, in case it waits for something.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, Result};

/// Whether the next Ctrl-C ends the process.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let ends = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGTERM] {
        // The actions run in this order. Without them, every signal ends the process.
        let _ = flag::register_conditional_default(signal, Arc::clone(&ends));
        let _ = flag::register(signal, Arc::clone(&ends));
    }
    ends
});

/// Whether a command runs that the first Ctrl-C stops.
static CATCHES: AtomicBool = AtomicBool::new(false);

/// As long as it lives, the first Ctrl-C stops the command at its next check.
#[derive(Debug)]
pub(crate) struct Catch(());

/// Begins to catch Ctrl-C.
pub(crate) fn catch() -> Catch {
    ENDS.store(false, Ordering::Relaxed);
    CATCHES.store(true, Ordering::Relaxed);
    Catch(())
}

impl Drop for Catch {
    fn drop(&mut self) {
        CATCHES.store(false, Ordering::Relaxed);
        ENDS.store(true, Ordering::Relaxed);
    }
}

/// Returns whether Ctrl-C was pressed during a command that it stops.
#[inline]
pub(crate) fn is_asked() -> bool {
    CATCHES.load(Ordering::Relaxed) && ENDS.load(Ordering::Relaxed)
}

/// Fails if Ctrl-C was pressed during a command that it stops.
#[inline]
pub(crate) fn check() -> Result<()> {
    if is_asked() {
        return Err(Failure::interrupted(""));
    }
    Ok(())
}
