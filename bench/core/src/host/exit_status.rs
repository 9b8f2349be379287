//! How a process ended, as text.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// The signal that ends a process at once.
pub const SIGKILL: i32 = 9;

/// Returns as text how a process ended.
pub fn describe(status: ExitStatus) -> String {
    let code = || status.code().unwrap_or(-1);
    status.signal().map_or_else(
        || format!("the process ended with status {}", code()),
        |signal| {
            let name = signal_name(signal);
            format!("the process was killed by signal {signal}{name}")
        },
    )
}

/// Returns the name of a signal that crashes cause. A full disk below a mapped file causes a
/// `SIGBUS`.
const fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        SIGKILL => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        25 => " (SIGXFSZ)",
        _ => "",
    }
}
