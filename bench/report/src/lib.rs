//! Benchmark reports, made from recorded results.
//!
//! [`Report::from_text`] reads the lines of `--json`; one pass turns them into a model, which every
//! form shows: `index.html`, `report.md`, `report.csv` and `report.json` ([`Report::write`]), and
//! [`Report::summary`] on the terminal. `report.json` also holds all records, so that it can be
//! read instead of those lines.
//!
//! [`Comparison`] compares two builds of one run, or two files, row by row.
//!
//! The page is static: a template, a style sheet and a script (`page.html`, `page.css`, `page.js`)
//! with the model as JSON inside. The script writes values as text only, never as markup. Prose is
//! in `prose/*.md`.

mod cost;
mod engine;
mod error;
mod form;
mod input;
mod list;
mod model;
mod notes;
mod number;
mod outline;
mod published;
mod report;
mod run;
mod sheets;
mod table;
mod verdict;
mod warnings;

pub use error::Error;
pub use report::Report;
pub use table::comparison::Comparison;
