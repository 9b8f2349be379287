//! Looking into the files of a database: tables, log and manifest, of CairnDB and of LevelDB.
//!
//! 1. `source.rs` opens a directory without changing it, also one that a process has open.
//! 2. `row.rs` is one row of output, `printer.rs` prints rows, entries and damage.
//! 3. `ours` reads CairnDB's files, `leveldb` LevelDB's.
//!
//! Invariants:
//! 1. Nothing is written, created or mapped. Every byte that is printed was verified.
//! 2. Damage does not end a command: it is printed where it was met, and reading continues after
//!    it.
//! 3. Memory is bounded by one page or block, one record, one log segment, and the list of tables.

mod leveldb;
mod ours;
mod printer;
mod row;
mod source;

use std::path::Path;

use crate::failure::{Failure, Store};
use printer::Printer;
pub(crate) use printer::Style;
use source::InspectedDir;

/// Prints the tables of the database in `directory`, or one of them with its entries.
pub(crate) fn tables(directory: &Path, file: Option<&str>, style: Style) -> Result<(), Failure> {
    let source = InspectedDir::open(directory)?;
    let mut printer = Printer::new(style)?;
    let outcome = match source.store {
        Store::Cairn => ours::tables::print(&source, file, &mut printer),
        Store::LevelDb => leveldb::tables::print(&source, file, &mut printer),
    };
    end(outcome, printer, &source)
}

/// Prints the log of the database in `directory`, or one file of it with its entries.
pub(crate) fn log(directory: &Path, file: Option<&str>, style: Style) -> Result<(), Failure> {
    let source = InspectedDir::open(directory)?;
    let mut printer = Printer::new(style)?;
    let outcome = match source.store {
        Store::Cairn => ours::log::print(&source, file, &mut printer),
        Store::LevelDb => leveldb::log::print(&source, file, &mut printer),
    };
    let outcome = outcome.and_then(|()| printer.say_if_empty("no logs: every entry is in a table"));
    end(outcome, printer, &source)
}

/// Prints the edits of the manifest of the database in `directory`, or those of another manifest.
pub(crate) fn manifest(directory: &Path, file: Option<&str>, style: Style) -> Result<(), Failure> {
    let source = InspectedDir::open(directory)?;
    let mut printer = Printer::new(style)?;
    let outcome = match source.store {
        Store::Cairn => ours::manifest::print(&source, file, &mut printer),
        Store::LevelDb => leveldb::manifest::print(&source, file, &mut printer),
    };
    end(outcome, printer, &source)
}

/// Prints what is left, also after a failure.
fn end(
    outcome: Result<(), Failure>,
    printer: Printer,
    source: &InspectedDir,
) -> Result<(), Failure> {
    if let Err(Failure::OutputClosed) = outcome {
        return outcome;
    }
    let finished = printer.finish(&source.path, source.store);
    outcome.and(finished)
}
