//! Amount of output of a suite.

/// Amount of output of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Progress in one line, and a summary at the end.
    Summary,
    /// Every row as it ends, and every bar and table at the end.
    Full,
}

impl Detail {
    /// Returns the detail that `--verbose` selects.
    pub(crate) const fn of(verbose: bool) -> Self {
        if verbose { Self::Full } else { Self::Summary }
    }
}
