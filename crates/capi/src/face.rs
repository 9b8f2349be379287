//! The functions of `cairndb.h`: what CairnDB has and LevelDB lacks.
//!
//! The header is generated from the files of this folder by cbindgen; the test `header` compares.
//! So every comment on a public item here is also read by C programmers. The preamble of the
//! header, with the rules for all functions, is in `cbindgen.toml`.

// In the order of the header, in separate groups so that rustfmt keeps it.
pub mod version;

pub mod error;

pub mod handles;

pub mod order;

pub mod buffer;

pub mod merge_operator;

pub mod options;

pub mod database;

pub mod open_notes;

pub mod read;

pub mod batch;

pub mod iter;

pub mod figures;

pub mod offline;

pub mod repair;
