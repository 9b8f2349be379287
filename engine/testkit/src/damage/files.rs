//! The files of a directory in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cairndb_env::{Background, Dir, Env, MemEnv};

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The directory of a database in memory.
pub const HOME: &str = "/db";

/// Returns an environment with these files in the directory [`HOME`].
///
/// # Panics
/// Never: writing in memory succeeds.
pub fn placed(files: &Files) -> (Arc<MemEnv>, Arc<dyn Dir>) {
    let env = MemEnv::new(Background::Stepped);
    let dir = env.open_dir(Path::new(HOME), true).expect("in memory");
    for (name, bytes) in files {
        let written = dir.create(name).and_then(|mut file| file.append(bytes));
        written.expect("in memory");
    }
    (env, dir)
}

/// Returns the files of a directory, which may be open.
///
/// # Panics
/// If a file cannot be read.
pub fn files_of(dir: &dyn Dir) -> Files {
    let names = dir.list().expect("in memory");
    let read = |name: String| {
        let file = dir.open_read(&name).expect("in memory");
        let mut bytes = vec![0; usize::try_from(file.size()).expect("in memory")];
        file.read_at(0, &mut bytes).expect("in memory");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}
