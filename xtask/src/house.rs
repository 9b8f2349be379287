//! The input of the rules: the tree, its packages, its parsed sources, and the settings.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use crate::modules::{Modules, Sources};
use crate::packages::{self, Package};
use crate::settings::{self, Settings};
use crate::source::{self, Source};
use crate::tree::Tree;

/// The script that checks commit messages; the commit-msg hook runs it without building anything.
pub(crate) const SCRIPT: &str = "xtask/subject.sh";

/// The input of the rules.
pub(crate) struct House {
    pub(crate) tree: Tree,
    pub(crate) packages: Vec<Package>,
    pub(crate) settings: Settings,
    /// Every Rust file, parsed.
    pub(crate) sources: Sources,
    /// The module trees of every target.
    pub(crate) targets: Vec<Target>,
    /// A line for each commit whose message is refused, with its hash and the reason; or why they
    /// are unknown: no repository, no `git`, or a clone without the commit that the settings name.
    pub(crate) commits: Result<String, String>,
    /// Files that belong to product targets only as test code.
    test_files: BTreeSet<String>,
}

/// One target's modules.
pub(crate) struct Target {
    /// Name of the package.
    pub(crate) package: String,
    /// Whether the target is a library or program, not a test, bench, example or build script.
    pub(crate) product: bool,
    pub(crate) modules: Modules,
}

impl House {
    /// Reads tree, settings, packages and commits at `root`.
    pub(crate) fn read(root: &Path) -> Result<House, String> {
        let tree = Tree::read(root)?;
        let text = tree.text(settings::PATH);
        let settings = Settings::parse(text.ok_or(format!("{} is missing", settings::PATH))?)?;
        let packages = packages::packages(root, &tree, &settings.workspaces)?;
        let commits = refused_commits(root, &settings.commits_after)?;
        House::new(tree, settings, packages, commits)
    }

    fn new(
        tree: Tree,
        settings: Settings,
        packages: Vec<Package>,
        commits: Result<String, String>,
    ) -> Result<House, String> {
        let mut sources = Sources::new();
        for (path, text) in tree.with_suffix(".rs") {
            let source = source::parse(text).map_err(|(line, message)| {
                format!("{path}:{line}: is not a valid Rust file: {message}")
            })?;
            sources.insert(path.to_owned(), Rc::new(source));
        }
        let targets = packages.iter().flat_map(|package| {
            package.targets.iter().map(|(root, product)| Target {
                package: package.name.clone(),
                product: *product,
                modules: Modules::read(&sources, root),
            })
        });
        let targets: Vec<Target> = targets.collect();
        Ok(House {
            test_files: test_files(&targets),
            tree,
            packages,
            settings,
            sources,
            targets,
            commits,
        })
    }

    /// Returns whether a file is test code, by its path or by its declaration.
    pub(crate) fn is_test(&self, path: &str) -> bool {
        path.ends_with("/tests.rs") || path.contains("/tests/") || self.test_files.contains(path)
    }

    /// Returns the files outside test code.
    pub(crate) fn product(&self) -> impl Iterator<Item = (&str, &Source)> {
        let sources = self.sources.iter().filter(|(path, _)| !self.is_test(path));
        sources.map(|(path, source)| (path.as_str(), &**source))
    }
}

/// Returns the files that targets reach only through `#[cfg(test)]` and similar attributes.
fn test_files(targets: &[Target]) -> BTreeSet<String> {
    let files = |test| {
        let files = targets.iter().flat_map(|target| &target.modules.files);
        let files = files.filter(move |file| file.test == test);
        files.map(|file| file.path.clone()).collect::<BTreeSet<_>>()
    };
    &files(true) - &files(false)
}

/// Asks the script for the commits after `commit` that it refuses; fails if the script does.
pub(crate) fn refused_commits(root: &Path, commit: &str) -> Result<Result<String, String>, String> {
    let mut script = Command::new(root.join(SCRIPT));
    let output = script.args(["--after", commit]).current_dir(root).output();
    let output = output.map_err(|e| format!("{SCRIPT}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.code() {
        Some(0) => Ok(Ok(text(&output.stdout))),
        Some(3) => Ok(Err(text(&output.stderr))),
        _ => Err(format!("{SCRIPT}: {}", text(&output.stderr))),
    }
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
        let commits = Ok(String::new());
        return House::new(Tree::of(&all), settings, Vec::new(), commits).unwrap();
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
    let commits = Ok(String::new());
    House::new(tree, settings, packages, commits).unwrap()
}
