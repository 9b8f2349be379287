//! Tests that cannot run where a library or a program is missing, or on a machine of another kind.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Notes that something that can be installed was missing, so that something could not be tested,
/// in the file that `CAIRN_SKIPS` names; under `CI=true` that is a failure.
///
/// # Panics
/// Under `CI=true`, and when the list cannot be written.
pub fn skip(reason: &str) {
    note(reason);
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "CI=true and {reason}"
    );
}

/// Notes in the same file that this machine is none on which something can be tested: its disk, its
/// rights. No package changes that, so it fails nowhere.
///
/// # Panics
/// When the list cannot be written.
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
