//! `tables`, `log` and `manifest`: what the files of a database consist of.

use crate::arguments::{Log, Manifest, Tables};
use crate::failure::Result;
use crate::inspect::{Part, Style, print};

/// Prints the tables.
pub(super) fn tables(arguments: &Tables) -> Result<()> {
    let Tables {
        directory, file, ..
    } = arguments;
    let style = Style::new(arguments.coding, arguments.json, arguments.entries);
    print(Part::Tables, directory, file.as_deref(), style)
}

/// Prints the log.
pub(super) fn log(arguments: &Log) -> Result<()> {
    let Log {
        directory, file, ..
    } = arguments;
    let style = Style::new(arguments.coding, arguments.json, arguments.entries);
    print(Part::Log, directory, file.as_deref(), style)
}

/// Prints the manifest.
pub(super) fn manifest(arguments: &Manifest) -> Result<()> {
    let Manifest {
        directory, file, ..
    } = arguments;
    let style = Style::new(arguments.coding, arguments.json, false);
    print(Part::Manifest, directory, file.as_deref(), style)
}
