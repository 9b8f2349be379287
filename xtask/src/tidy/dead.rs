//! Every Rust file belongs to a target of some package.
//!
//! A file that no `mod` names is not compiled and rots unnoticed; git keeps what is removed.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::house::House;
use crate::tree::{join, parent};

pub(super) fn check(house: &House) -> Vec<Finding> {
    let files = house
        .targets
        .iter()
        .flat_map(|target| &target.modules.files);
    let mut reached: BTreeSet<String> = files.map(|file| file.path.clone()).collect();
    for path in reached.clone() {
        reached.extend(included(house, &path));
    }
    house
        .tree
        .with_suffix(".rs")
        .filter(|(path, _)| !reached.contains(*path))
        .map(|(path, _)| {
            let message = "no target reaches this file: declare it with `mod`, or remove it";
            Finding::new(path, 0, "dead", message)
        })
        .collect()
}

/// Returns the files that `include!("...")` includes.
fn included(house: &House, path: &str) -> Vec<String> {
    let source = house.sources.get(path);
    let named = source.into_iter().flat_map(|source| &source.included);
    named.filter_map(|file| join(parent(path), file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    #[test]
    fn a_file_no_target_reaches_is_reported() {
        let house = house(
            "",
            &[
                ("a/Cargo.toml", "[package]\nname = \"a\""),
                ("a/src/lib.rs", "mod b; include!(\"table.rs\");"),
                ("a/src/b.rs", "#[cfg(test)] mod tests;"),
                ("a/src/b/tests.rs", ""),
                ("a/src/table.rs", ""),
                ("a/src/old.rs", ""),
                ("a/tests/suite/main.rs", "mod part;"),
                ("a/tests/suite/part.rs", ""),
                ("examples/loose.rs", ""),
            ],
        );
        let found = lines(&check(&house));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a/src/old.rs: dead:"), "{found:?}");
        assert!(
            found[1].starts_with("examples/loose.rs: dead:"),
            "{found:?}"
        );
    }
}
