//! `tables`, `log` and `manifest`: what the files of a database consist of.

use crate::arguments::{Log, Manifest, Tables};
use crate::failure::Failure;
use crate::inspect::{self, Style};

/// Prints the tables.
pub(super) fn tables(arguments: &Tables) -> Result<(), Failure> {
    let style = Style {
        coding: arguments.coding.into(),
        json: arguments.json,
        entries: arguments.entries,
    };
    inspect::tables(&arguments.directory, arguments.file.as_deref(), style)
}

/// Prints the log.
pub(super) fn log(arguments: &Log) -> Result<(), Failure> {
    let style = Style {
        coding: arguments.coding.into(),
        json: arguments.json,
        entries: arguments.entries,
    };
    inspect::log(&arguments.directory, arguments.file.as_deref(), style)
}

/// Prints the manifest.
pub(super) fn manifest(arguments: &Manifest) -> Result<(), Failure> {
    let style = Style {
        coding: arguments.coding.into(),
        json: arguments.json,
        entries: false,
    };
    inspect::manifest(&arguments.directory, arguments.file.as_deref(), style)
}
