//! Properties of everything that decodes bytes from a disk, as functions of arbitrary bytes.
//!
//! The fuzz targets in `fuzz/` and the test `decoders` call the same functions: a fuzzer for as
//! long as it is let, the test with seeded bytes in every push. A broken property is a panic.

mod directory;
mod leveldb;
mod own;

pub use directory::{leveldb_directory, own_directory};
pub use leveldb::leveldb_salvage;
pub use own::own_files;

use std::sync::Arc;

use cairndb_env::{Dir, MemEnv};

use crate::damage::files::{Files, placed};

/// Returns an environment with one file.
fn one_file(name: &str, bytes: &[u8]) -> (Arc<MemEnv>, Arc<dyn Dir>) {
    placed(&Files::from([(name.to_owned(), bytes.to_vec())]))
}
