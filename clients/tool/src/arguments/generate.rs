//! Arguments of the commands that write files for the installation: `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CompletingShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell that reads the script.
    pub(crate) shell: CompletingShell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Existing directory for the pages: `cairn.1`, and `cairn-get.1` for `cairn get`.
    pub(crate) target: PathBuf,
}
