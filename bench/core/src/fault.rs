//! An error, as one line of text.
//!
//! The harness only ever shows faults; nothing decides by them, so a text is enough. It is boxed so
//! that the good case of a measured call stays small.

use std::fmt;

/// One line that says what failed and what the engine or system said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<str>);

impl Fault {
    /// A fault with this text.
    #[cold]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into_boxed_str())
    }

    /// A system error met while doing `what`.
    #[cold]
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(format!("{what}: {error}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}
