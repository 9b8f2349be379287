//! Support for tests of what a program prints.

/// Fails unless a text contains a part.
///
/// # Panics
/// With the text.
#[track_caller]
pub fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in {text}");
}

/// Fails unless a text starts with a part.
///
/// # Panics
/// With the text.
#[track_caller]
pub fn begins(text: &str, part: &str) {
    assert!(text.starts_with(part), "not {part:?}: {text}");
}

/// Fails unless a text ends with a part.
///
/// # Panics
/// With the text.
#[track_caller]
pub fn ends(text: &str, part: &str) {
    assert!(text.ends_with(part), "not {part:?}: {text}");
}
