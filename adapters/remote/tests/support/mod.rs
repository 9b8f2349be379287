//! What the tests with servers share.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Records in the file named by `CAIRN_SKIPS` that a test was skipped because a program is missing.
/// Under `CI=true` this is a failure.
#[expect(
    clippy::disallowed_methods,
    reason = "the list of skips is a real file"
)]
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    if let Ok(path) = std::env::var("CAIRN_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let reported = file.and_then(|mut file| writeln!(file, "{reason}"));
        assert!(reported.is_ok(), "the list of skips: {reported:?}");
    }
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!ci, "CI=true and {reason}");
}
