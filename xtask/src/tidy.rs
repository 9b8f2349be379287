//! The rules of this repository, one file each.
//!
//! | file | rule |
//! |---|---|
//! | `floors` | a crate imports only lower floors; every member has a floor and the shared lints |
//! | `cycles` | no import cycle between the modules of a crate; bands are not imported upwards |
//! | `sizes` | files of at most 500 lines, functions of at most 60 |
//! | `limits` | at most 30 methods and 15 fields a type, 15 source files a folder; no `mod.rs` |
//! | `code` | `unsafe` only where listed; files, clocks and threads only through the environment; a head comment in every file |
//! | `dead` | every source file belongs to a target |
//! | `docs` | links, paths and `make` targets named in documents exist |
//! | `formats` | every format page has its golden file and every golden file its page and test |
//! | `width` | comments of at most 100 columns |
//! | `words` | words that must not be reintroduced |
//! | `subjects` | commit subjects are `area: imperative summary`; a long change has a body |
//! | `open` | no open task without an issue number; no machine-specific path |
//!
//! A rule is a function from the [`House`] to findings. It reads nothing else, so its tests can
//! pass a tree of a few lines.

mod code;
mod cycles;
mod dead;
mod docs;
mod floors;
mod formats;
mod limits;
mod open;
mod sizes;
mod subjects;
mod width;
mod words;

use std::path::Path;

use crate::finding::Finding;
use crate::history::History;
use crate::house::House;

/// Runs every rule over the tree below `root`; returns the findings, and notes on rules that could
/// not be checked.
pub(crate) fn check(root: &Path) -> Result<(Vec<Finding>, Vec<String>), String> {
    let house = House::read(root)?;
    let rules = [
        floors::check,
        cycles::check,
        sizes::check,
        limits::check,
        code::check,
        dead::check,
        docs::check,
        formats::check,
        open::check,
        subjects::check,
        width::check,
        words::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(&house)).collect();
    findings.sort();
    findings.dedup();
    let mut notes = Vec::new();
    if let History::Unknown(reason) = &house.history {
        notes.push(format!("commit subjects are not checked: {reason}"));
    }
    Ok((findings, notes))
}
