//! Peers that `bench/install-peers.sh` unpacked because it could not install packages.

use std::path::{Path, PathBuf};

/// The folder, relative to the repository root.
const FOLDER: &str = "target/peers";

/// Returns the folder of their programs: below the working directory or below a parent directory of
/// this program.
pub fn programs() -> Option<PathBuf> {
    part("usr/bin")
}

/// Returns the folder of the programs that `make peers` has built.
pub fn built() -> Option<PathBuf> {
    part("programs")
}

/// Returns the folder that contains all their libraries.
pub fn libraries() -> Option<PathBuf> {
    part("libraries")
}

fn part(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok();
    let here = std::env::current_dir().ok();
    below(here.as_deref(), program.as_deref(), name)
}

fn below(here: Option<&Path>, program: Option<&Path>, part: &str) -> Option<PathBuf> {
    let above = program
        .into_iter()
        .flat_map(|program| program.ancestors().skip(1));
    let places = here.into_iter().chain(above);
    let mut parts = places.map(|place| place.join(FOLDER).join(part));
    parts.find(|part| part.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_from_the_root_and_from_a_program_below_it() {
        let root = tempfile::tempdir().expect("a directory");
        let libraries = root.path().join(FOLDER).join("libraries");
        let program = root.path().join("target/debug/deps/tests");
        let find = |here, program| below(here, program, "libraries");
        assert_eq!(find(Some(root.path()), Some(&program)), None);
        std::fs::create_dir_all(&libraries).expect("a directory");
        assert_eq!(find(Some(root.path()), None), Some(libraries.clone()));
        let elsewhere = root.path().join("bench");
        assert_eq!(find(Some(&elsewhere), Some(&program)), Some(libraries));
        assert_eq!(find(Some(&elsewhere), None), None);
        assert_eq!(below(Some(root.path()), None, "usr/bin"), None);
    }
}
