//! Damage tests: tens of thousands of damaged directories, ours and LevelDB's, are opened, read and
//! repaired. Results are right, or errors that name a file, or reported losses.
//!
//! The harness is [`cairndb_testkit::damage`]; here are its four subjects, and directories with one
//! damage each, written by hand.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_DAMAGE` | number of mutants of ours that are read, 60,000 by default |
//! | `CAIRN_STATES` | those of LevelDB's, in percent of 20,000 |
//! | `CAIRN_REPAIRS` | number of mutants of ours that are repaired, and 15 times that of LevelDB's, 1,500 by default |
//! | `CAIRN_SEED` | the first seed, 1 by default; if set alone, only that mutant runs |

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "tests fail by panicking, and read real directories with names of their own"
)]

mod leveldb;
mod leveldb_fixed;
mod leveldb_images;
mod leveldb_missing;
mod own;
mod own_images;
mod real;
mod repair;
