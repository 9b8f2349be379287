//! What the rules look at: the tree, its packages, and the settings.

use crate::settings::{self, Settings};
use crate::tree::Tree;
use crate::workspace::{Package, packages};

/// What the rules look at.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) tree: Tree,
    pub(crate) packages: Vec<Package>,
    pub(crate) settings: Settings,
}

impl House {
    /// Reads settings and packages out of the tree.
    pub(crate) fn new(tree: Tree) -> Result<House, String> {
        let text = tree.text(settings::PATH);
        let text = text.ok_or(format!("{} is missing", settings::PATH))?;
        let settings = Settings::parse(text)?;
        let packages = packages(&tree)?;
        Ok(House {
            tree,
            packages,
            settings,
        })
    }

    /// Whether a package is part of the library: it stands on a floor of the store itself.
    pub(crate) fn is_library(&self, package: &Package) -> bool {
        let floor = self.settings.floors.get(&package.name);
        floor.is_some_and(|floor| *floor <= LIBRARY_FLOOR_MAX)
    }
}

/// The floor of the store's public crate; programs and tools stand above it.
const LIBRARY_FLOOR_MAX: i64 = 4;

/// Whether a file is test code by its place.
pub(crate) fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

/// A house for tests of rules: the given files beside a minimal workspace.
#[cfg(test)]
pub(crate) fn house(settings: &str, files: &[(&str, &str)]) -> House {
    let mut all = vec![(settings::PATH, settings)];
    if !files.iter().any(|(path, _)| *path == "Cargo.toml") {
        all.push(("Cargo.toml", "[workspace]\nmembers = []"));
    }
    all.extend_from_slice(files);
    House::new(Tree::of(&all)).unwrap()
}

/// The findings of a rule as text, for comparison in tests.
#[cfg(test)]
pub(crate) fn lines(findings: &[crate::finding::Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
