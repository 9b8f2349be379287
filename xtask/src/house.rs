//! What the rules look at: the tree, its packages, and the settings.

use std::collections::BTreeSet;

use crate::rust::modules::Modules;
use crate::settings::{self, Settings};
use crate::tree::Tree;
use crate::workspace::{Package, packages};

/// What the rules look at.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) tree: Tree,
    pub(crate) packages: Vec<Package>,
    pub(crate) settings: Settings,
    /// The module trees of every target.
    pub(crate) targets: Vec<Target>,
    /// Files that belong to product targets as test code only.
    test_files: BTreeSet<String>,
}

/// One target's modules.
#[derive(Debug)]
pub(crate) struct Target {
    /// Name of its package.
    pub(crate) package: String,
    /// Whether it is a library or program, not a test, bench, example or build script.
    pub(crate) product: bool,
    pub(crate) modules: Modules,
}

impl House {
    /// Reads settings and packages out of the tree.
    pub(crate) fn new(tree: Tree) -> Result<House, String> {
        let text = tree.text(settings::PATH);
        let text = text.ok_or(format!("{} is missing", settings::PATH))?;
        let settings = Settings::parse(text)?;
        let packages = packages(&tree)?;
        let mut targets = Vec::new();
        for package in &packages {
            for (roots, product) in [(&package.product, true), (&package.development, false)] {
                targets.extend(roots.iter().map(|root| Target {
                    package: package.name.clone(),
                    product,
                    modules: Modules::read(&tree, root),
                }));
            }
        }
        let test_files = test_files(&targets);
        Ok(House {
            tree,
            packages,
            settings,
            targets,
            test_files,
        })
    }

    /// Whether a file is test code, by its place or by how it is declared.
    pub(crate) fn is_test(&self, path: &str) -> bool {
        path.ends_with("/tests.rs") || path.contains("/tests/") || self.test_files.contains(path)
    }

    /// Whether a package is part of the library: it stands on a floor of the store itself.
    pub(crate) fn is_library(&self, package: &Package) -> bool {
        let floor = self.settings.floors.get(&package.name);
        floor.is_some_and(|floor| *floor <= LIBRARY_FLOOR_MAX)
    }
}

/// The floor of the store's public crate; programs and tools stand above it.
const LIBRARY_FLOOR_MAX: i64 = 4;

/// Files that no target reaches but through `#[cfg(test)]` and its like.
fn test_files(targets: &[Target]) -> BTreeSet<String> {
    let files = || targets.iter().flat_map(|target| &target.modules.files);
    let live: BTreeSet<&str> = files()
        .filter(|file| !file.test)
        .map(|file| file.path.as_str())
        .collect();
    files()
        .filter(|file| file.test && !live.contains(file.path.as_str()))
        .map(|file| file.path.clone())
        .collect()
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
