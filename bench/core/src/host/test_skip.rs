//! Support for tests that cannot run because a library or program is missing or the machine is
//! unsuitable.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Records in the file named by `CAIRN_SKIPS` that a test was skipped because something installable
/// was missing. Under `CI=true` this is a failure.
///
/// # Panics
/// Under `CI=true`, or if the list cannot be written.
pub fn skip(reason: &str) {
    note(reason);
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "CI=true and {reason}"
    );
}

/// Records in the same file that this machine cannot run a test because of its disk or permissions.
/// No package can change that, so it is never a failure.
///
/// # Panics
/// If the list cannot be written.
pub fn unable(reason: &str) {
    note(&format!("machine: {reason}"));
}

fn note(reason: &str) {
    eprintln!("skipped: {reason}");
    if let Ok(path) = std::env::var("CAIRN_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let reported = file.and_then(|mut file| writeln!(file, "{reason}"));
        assert!(
            reported.is_ok(),
            "the list of skips cannot be written: {reported:?}"
        );
    }
}
