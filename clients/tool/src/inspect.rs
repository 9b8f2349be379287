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

use crate::failure::{Failure, Result, Store};
use printer::Printer;
pub(crate) use printer::Style;
pub(crate) use row::Row;
use source::InspectedDir;

/// What is printed of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Tables,
    Log,
    Manifest,
}

/// Prints a part of the database of one store.
type Print = fn(&InspectedDir, Option<&str>, &mut Printer) -> Result<()>;

/// Prints a part of the database in `directory`, or one file of that part. What precedes a failure
/// is printed.
pub(crate) fn print(part: Part, directory: &Path, file: Option<&str>, style: Style) -> Result<()> {
    let source = InspectedDir::open(directory)?;
    let mut printer = Printer::new(style)?;
    let print: Print = match (part, source.store) {
        (Part::Tables, Store::Cairn) => ours::tables::print,
        (Part::Tables, Store::LevelDb) => leveldb::tables::print,
        (Part::Log, Store::Cairn) => ours::log::print,
        (Part::Log, Store::LevelDb) => leveldb::log::print,
        (Part::Manifest, Store::Cairn) => ours::manifest::print,
        (Part::Manifest, Store::LevelDb) => leveldb::manifest::print,
    };
    let mut outcome = print(&source, file, &mut printer);
    if outcome.is_ok() && part == Part::Log {
        outcome = printer.say_if_empty("no logs: every entry is in a table");
    }
    if outcome.as_ref().is_err_and(Failure::is_closed) {
        return outcome;
    }
    let finished = printer.finish(&source.path, source.store);
    outcome.and(finished)
}
