//! The packages of the tree, as `cargo metadata` reports them: names, dependencies, targets.

use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, TargetKind};

use crate::tree::{Tree, join};

/// The workspace manifest.
pub(crate) const ROOT: &str = "Cargo.toml";

/// The kinds of targets that are no part of the product.
const DEVELOPMENT: [TargetKind; 4] = [
    TargetKind::Test,
    TargetKind::Bench,
    TargetKind::Example,
    TargetKind::CustomBuild,
];

/// One package.
#[derive(Debug)]
pub(crate) struct Package {
    /// The package's name.
    pub(crate) name: String,
    /// Path of the manifest, relative to the root.
    pub(crate) manifest: String,
    /// Whether the package belongs to the workspace at the root, not to a separate one.
    pub(crate) member: bool,
    /// Whether the manifest contains `[lints] workspace = true`.
    pub(crate) lints: bool,
    /// Dependencies and build dependencies, without dev-dependencies, each with its line in the
    /// manifest, from 1.
    pub(crate) dependencies: Vec<(String, usize)>,
    /// Root files, each with whether it is that of the library or a program; the others are those
    /// of tests, benches, examples and the build script.
    pub(crate) targets: Vec<(String, bool)>,
}

/// Asks cargo for the packages of the workspace at `root` and of the listed workspaces below it.
pub(crate) fn packages(
    root: &Path,
    tree: &Tree,
    workspaces: &[String],
) -> Result<Vec<Package>, String> {
    // Cargo reports absolute paths, which are compared with the canonical root.
    let root = root
        .canonicalize()
        .map_err(|e| format!("{}: {e}", root.display()))?;
    let mut packages = Vec::new();
    for manifest in std::iter::once(ROOT).chain(workspaces.iter().map(String::as_str)) {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join(manifest))
            .current_dir(&root)
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .map_err(|e| format!("{manifest}: {e}"))?;
        read(&root, tree, &metadata, manifest == ROOT, &mut packages)?;
    }
    packages.sort_by(|a, b| a.manifest.cmp(&b.manifest));
    Ok(packages)
}

fn read(
    root: &Path,
    tree: &Tree,
    metadata: &Metadata,
    member: bool,
    packages: &mut Vec<Package>,
) -> Result<(), String> {
    let relative = |path: &Path| -> Result<String, String> {
        let inside = path.strip_prefix(root);
        let inside = inside
            .ok()
            .map(|path| path.to_string_lossy().replace('\\', "/"));
        let plain = inside.and_then(|path| join("", &path));
        plain.ok_or(format!("{} is outside the tree", path.display()))
    };
    for package in &metadata.packages {
        let manifest = relative(package.manifest_path.as_std_path())?;
        let text = tree.text(&manifest).unwrap_or_default();
        let mut found = Package {
            name: package.name.to_string(),
            member,
            lints: text.contains("\n[lints]\nworkspace = true\n"),
            dependencies: Vec::new(),
            targets: Vec::new(),
            manifest,
        };
        for dependency in &package.dependencies {
            if dependency.kind != DependencyKind::Development {
                let written = dependency.rename.as_deref().unwrap_or(&dependency.name);
                let line = line_of(text, written);
                found.dependencies.push((dependency.name.clone(), line));
            }
        }
        for target in &package.targets {
            let path = relative(target.src_path.as_std_path())?;
            let product = !target.kind.iter().any(|kind| DEVELOPMENT.contains(kind));
            found.targets.push((path, product));
        }
        packages.push(found);
    }
    Ok(())
}

/// Returns the first line that starts with `key` followed by a character that ends a key.
fn line_of(text: &str, key: &str) -> usize {
    let begins = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    };
    text.lines().position(begins).map_or(0, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use crate::house::house;

    #[test]
    fn dependencies_and_targets() {
        let house = house(
            "",
            &[
                (
                    "a/Cargo.toml",
                    "[package]\nname = \"x\"\n[lints]\nworkspace = true\n[dependencies]\nb = \"1\"\n\
                     [target.'cfg(unix)'.dependencies]\nc = \"1\"\n[dev-dependencies]\nd = \"1\"\n\
                     [[example]]\nname = \"e\"\npath = \"../examples/e.rs\"\n",
                ),
                ("a/src/lib.rs", ""),
                ("a/tests/t.rs", ""),
                ("a/tests/u/main.rs", ""),
                ("a/tests/u/part.rs", ""),
                ("examples/e.rs", ""),
            ],
        );
        assert_eq!(house.packages.len(), 1);
        let found = &house.packages[0];
        assert!(found.member && found.lints);
        assert_eq!(
            found.dependencies,
            [("b".to_owned(), 6), ("c".to_owned(), 8)]
        );
        let targets: Vec<_> = found
            .targets
            .iter()
            .map(|(path, product)| (&path[..], *product))
            .collect();
        let expected = [
            ("a/src/lib.rs", true),
            ("examples/e.rs", false),
            ("a/tests/t.rs", false),
            ("a/tests/u/main.rs", false),
        ];
        assert_eq!(targets, expected);
    }
}
