//! The input of the rules: the tree, its packages, its parsed sources, and the settings.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use crate::history::{self, History};
use crate::packages::{self, Package};
use crate::settings::{self, Settings};
use crate::source::Source;
use crate::source::modules::{Modules, Sources};
use crate::tree::Tree;
use crate::types::{self, Types};

/// The input of the rules.
pub(crate) struct House {
    pub(crate) tree: Tree,
    pub(crate) packages: Vec<Package>,
    pub(crate) settings: Settings,
    /// Every Rust file, parsed.
    pub(crate) sources: Sources,
    /// The module trees of every target.
    pub(crate) targets: Vec<TargetModules>,
    /// The commits whose subjects are checked.
    pub(crate) history: History,
    /// Files that belong to product targets only as test code.
    test_files: BTreeSet<String>,
}

/// One target's modules.
pub(crate) struct TargetModules {
    /// Name of the package.
    pub(crate) package: String,
    /// Whether the target is a library or program, not a test, bench, example or build script.
    pub(crate) product: bool,
    pub(crate) modules: Modules,
    /// The types of a product target; empty otherwise.
    pub(crate) types: Types,
}

impl House {
    /// Reads tree, settings, packages and commits at `root`.
    pub(crate) fn read(root: &Path) -> Result<House, String> {
        let tree = Tree::read(root)?;
        let text = tree.text(settings::PATH);
        let settings = Settings::parse(text.ok_or(format!("{} is missing", settings::PATH))?)?;
        let packages = packages::packages(root, &tree, &settings.workspaces)?;
        let history = history::after(root, &settings.subjects_after, &settings.bodies_after)?;
        House::new(tree, settings, packages, history)
    }

    fn new(
        tree: Tree,
        settings: Settings,
        packages: Vec<Package>,
        history: History,
    ) -> Result<House, String> {
        let mut sources = Sources::new();
        for (path, text) in tree.with_suffix(".rs") {
            let source = Source::parse(text).map_err(|(line, message)| {
                format!("{path}:{line}: is not a valid Rust file: {message}")
            })?;
            sources.insert(path.to_owned(), Rc::new(source));
        }
        let mut targets = Vec::new();
        for package in &packages {
            for (roots, product) in [(&package.product, true), (&package.development, false)] {
                targets.extend(roots.iter().map(|root| {
                    let modules = Modules::read(&sources, root);
                    let types = product.then(|| types::read(&modules));
                    TargetModules {
                        package: package.name.clone(),
                        product,
                        modules,
                        types: types.unwrap_or_default(),
                    }
                }));
            }
        }
        Ok(House {
            test_files: test_files(&targets),
            tree,
            packages,
            settings,
            sources,
            targets,
            history,
        })
    }

    /// Returns whether a file is test code, by its path or by its declaration.
    pub(crate) fn is_test(&self, path: &str) -> bool {
        path.ends_with("/tests.rs") || path.contains("/tests/") || self.test_files.contains(path)
    }

    /// Returns whether a package is part of the library, that is, on a floor of the store itself.
    pub(crate) fn is_library(&self, package: &Package) -> bool {
        let floor = self.settings.floors.get(&package.name);
        floor.is_some_and(|floor| *floor <= LIBRARY_FLOOR_MAX)
    }
}

/// The floor of the store's public crate; programs and tools are above it.
const LIBRARY_FLOOR_MAX: i64 = 4;

/// Returns the files that targets reach only through `#[cfg(test)]` and similar attributes.
fn test_files(targets: &[TargetModules]) -> BTreeSet<String> {
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

/// Creates the input for tests of rules from the given files, with a workspace around them if one
/// of them is a manifest.
#[cfg(test)]
pub(crate) fn house(settings: &str, files: &[(&str, &str)]) -> House {
    let settings = Settings::parse(settings).unwrap();
    let mut all = files.to_vec();
    let folders: Vec<&str> = files
        .iter()
        .filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"))
        .collect();
    if folders.is_empty() {
        let history = History::Unknown(String::new());
        return House::new(Tree::of(&all), settings, Vec::new(), history).unwrap();
    }
    let own = |folder: &&&str| {
        settings
            .workspaces
            .contains(&format!("{folder}/Cargo.toml"))
    };
    let members: Vec<&&str> = folders.iter().filter(|folder| !own(folder)).collect();
    let root = format!("[workspace]\nmembers = {members:?}\n[workspace.lints.rust]");
    let libraries: Vec<String> = folders
        .iter()
        .map(|folder| format!("{folder}/src/lib.rs"))
        .collect();
    all.extend(
        (!files.iter().any(|(path, _)| *path == "Cargo.toml")).then_some(("Cargo.toml", &*root)),
    );
    for library in &libraries {
        let folder = library.trim_end_matches("lib.rs");
        if !files.iter().any(|(path, _)| path.starts_with(folder)) {
            all.push((library, "//! Empty."));
        }
    }
    let disk = tempfile::tempdir().unwrap();
    for (path, text) in &all {
        let path = disk.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tree = Tree::of(&all);
    let packages = packages::packages(disk.path(), &tree, &settings.workspaces).unwrap();
    let history = History::Unknown(String::new());
    House::new(tree, settings, packages, history).unwrap()
}

/// Returns the findings of a rule as text, for comparison in tests.
#[cfg(test)]
pub(crate) fn lines(findings: &[crate::finding::Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
