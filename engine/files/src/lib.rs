//! The files of a database directory: under which numbers they are created, whose they are, and how
//! tables and whole databases are written.
//!
//! Floor 4. The engine, `repair` and the conversion of LevelDB's databases write through here, so
//! that their files are alike. What is written and when it counts is decided by the callers.
//!
//! Invariants:
//! 1. No file is created over another one, whosever that is.
//! 2. A file is called ours by its contents, never by its name.
//! 3. A directory that is made for a caller is whole, or as it was.

#![forbid(unsafe_code)]

mod database_writer;
mod dictionaries;
mod guard;
mod new_files;
mod numbers;
mod other_stores;
mod output;
mod ownership;
mod staged_dir;

pub use database_writer::{DatabaseFiles, DatabaseSettings, DatabaseWriter};
pub use dictionaries::Dictionaries;
pub use guard::guarded;
pub use new_files::{create_unused, is_taken, unused_file};
pub use numbers::{NUMBER_MAX, check_numbers, check_seq, out_of_range};
pub use other_stores::refusal;
pub use output::{
    Output, OutputParts, OutputSettings, Relocate, TableClass, TableClasses, Written,
};
pub use ownership::{Ownership, ownership};
pub use staged_dir::make_directory;
