//! Benchmark reports, made from recorded results.
//!
//! [`Report::from_records`] reads the lines of `--json`; [`Report::write`] makes `index.html`,
//! `report.md`, `report.csv` and `report.json`; [`Report::summary`] and [`Report::bars`] are for
//! the terminal. Everything is computed from the records: `report.json` holds them all, and
//! [`Report::from_json`] makes the same pages from that file.
//!
//! The readable forms are made from one sequence of blocks (`document`), so that they cannot differ
//! in a number. The page is markup checked at compile time (maud) that escapes every value; no text
//! reaches it in any other way.

mod chapter;
mod document;
mod engine_style;
mod error;
mod form;
mod input;
mod number;
mod outline;
mod published;
mod report;
mod run;
mod table;

pub use error::Error;
pub use report::Report;
