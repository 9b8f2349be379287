//! What `bench/install-peers.sh` has unpacked where it might not install packages.

use std::path::{Path, PathBuf};

/// The folder, from the repository's root.
const FOLDER: &str = "target/peers";

/// The folder of unpacked packages: below the working directory, or below one that the program is in.
pub fn folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let here = std::env::current_dir().ok();
    below(here.as_deref(), program.as_deref())
}

fn below(here: Option<&Path>, program: Option<&Path>) -> Option<PathBuf> {
    let above = program
        .into_iter()
        .flat_map(|program| program.ancestors().skip(1));
    let mut places = here
        .into_iter()
        .chain(above)
        .map(|place| place.join(FOLDER));
    places.find(|place| place.is_dir())
}

/// Its programs.
pub fn programs() -> Option<PathBuf> {
    folder().map(|folder| folder.join("usr/bin"))
}

/// Its libraries, all in one folder.
pub fn libraries() -> Option<PathBuf> {
    let libraries = folder()?.join("libraries");
    libraries.is_dir().then_some(libraries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_from_the_root_and_from_a_program_below_it() {
        let root = tempfile::tempdir().expect("a directory");
        let peers = root.path().join(FOLDER);
        let program = root.path().join("target/debug/deps/tests");
        assert_eq!(below(Some(root.path()), Some(&program)), None);
        std::fs::create_dir_all(&peers).expect("a directory");
        assert_eq!(below(Some(root.path()), None), Some(peers.clone()));
        let elsewhere = root.path().join("bench");
        assert_eq!(below(Some(&elsewhere), Some(&program)), Some(peers));
        assert_eq!(below(Some(&elsewhere), None), None);
    }
}
