//! A finding of a rule: a place, the rule's name, and what to do.

use std::fmt;

/// One violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path relative to the root, with `/`.
    pub(crate) file: String,
    /// Line number from 1; 0 for the whole file.
    pub(crate) line: usize,
    /// The rule's name; the head of its file in `tidy/` explains it.
    pub(crate) rule: &'static str,
    /// What is wrong and what to do about it.
    pub(crate) message: String,
}

impl Finding {
    /// Creates a finding at a line of a file.
    pub(crate) fn new(
        file: impl Into<String>,
        line: usize,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
            file: file.into(),
            line,
            rule,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}: {}", self.file, self.rule, self.message)
        } else {
            let Finding {
                file,
                line,
                rule,
                message,
            } = self;
            write!(f, "{file}:{line}: {rule}: {message}")
        }
    }
}
