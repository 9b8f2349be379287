//! An error, as one line of text.
//!
//! The harness only displays faults and never branches on them, so a string is enough. The string
//! is boxed to keep the `Result` of a measured call small.

use std::fmt;

/// One line that names what failed and the error of the engine or system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<str>);

impl Fault {
    /// Creates a fault with this text.
    #[cold]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into_boxed_str())
    }

    /// Creates a fault from a system error that occurred during `what`.
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
