//! Properties of everything that decodes bytes from a disk, as functions of arbitrary bytes.
//!
//! The fuzz targets in `fuzz/` and the test `decoders` call the same functions: a fuzzer for as
//! long as it is let, the test with seeded bytes in every push. A broken property is a panic.

mod directory;
mod leveldb;
mod own;
#[path = "../../cairndb/tests/damage/reseal.rs"]
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the database's own names"
)]
mod reseal;

pub use directory::{leveldb_directory, own_directory};
pub use leveldb::leveldb_salvage;
pub use own::own_files;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cairndb_env::{Background, Dir, Env, MemEnv};

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The directory of a database in memory.
const HOME: &str = "/db";

/// Returns an environment with these files in a directory.
fn placed(files: &Files) -> (Arc<MemEnv>, Arc<dyn Dir>) {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new(HOME), true).expect("in memory");
    for (name, bytes) in files {
        let written = dir.create(name).and_then(|mut file| file.append(bytes));
        written.expect("in memory");
    }
    (env, dir)
}

/// Returns the files of a directory.
fn files_of(dir: &dyn Dir) -> Files {
    let names = dir.list().expect("in memory");
    let read = |name: String| {
        let file = dir.open_read(&name).expect("in memory");
        let mut bytes = vec![0; usize::try_from(file.size()).expect("in memory")];
        file.read_at(0, &mut bytes).expect("in memory");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// Returns an environment with one file.
fn one_file(name: &str, bytes: &[u8]) -> (Arc<MemEnv>, Arc<dyn Dir>) {
    placed(&Files::from([(name.to_owned(), bytes.to_vec())]))
}
