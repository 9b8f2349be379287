//! The rules of this repository, one file each.
//!
//! | file | rule |
//! |---|---|
//! | `floors` | a crate imports only lower floors; every member has a floor and the shared lints |
//! | `cycles` | no import cycle between the modules of a crate; bands are not imported upwards |
//! | `limits` | files of at most 500 lines, functions of 60, types of 30 methods and 15 fields, folders of 15 source files; no `mod.rs` |
//! | `code` | `unsafe` only where listed; files, clocks and threads only through the environment; a head comment in every file; every source file belongs to a target |
//! | `docs` | links, paths and `make` targets named in documents exist |
//! | `formats` | every format page has its golden file and every golden file its page and test |
//! | `words` | words that must not be reintroduced; comments of at most 100 columns |
//! | `open` | no open task without an issue number; no machine-specific path; commit subjects are `area: imperative summary`; a long change has a body |
//!
//! A rule is a function from the [`House`] to findings. It reads nothing else, so its tests can
//! pass a tree of a few lines.

mod code;
mod cycles;
mod docs;
mod floors;
mod formats;
mod limits;
mod open;
mod words;

use crate::findings::{Findings, Rule};
use crate::house::House;

const RULES: [Rule; 8] = [
    floors::check,
    cycles::check,
    limits::check,
    code::check,
    docs::check,
    formats::check,
    open::check,
    words::check,
];

/// Checks every rule.
pub(crate) fn check(house: &House) -> Findings {
    let mut findings = Findings::default();
    for rule in RULES {
        rule(house, &mut findings);
    }
    findings
}
