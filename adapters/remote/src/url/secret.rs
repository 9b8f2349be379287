//! Texts that no message may show.

use std::fmt;

/// A user or password. `Debug` shows `***`; there is no `Display`.
///
/// ```
/// use cairndb_remote::Secret;
/// let password = Secret::new("guess me");
/// assert_eq!(format!("{password:?}"), "***");
/// assert_eq!(password.reveal(), "guess me");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text, for the client that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Returns the value of an environment variable.
pub(super) fn variable(name: &str) -> Option<Secret> {
    std::env::var(name).ok().map(Secret)
}
