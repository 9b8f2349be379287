//! The packages of the workspace: names, dependencies, targets.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::tree::{Tree, join, parent};

/// A dependency and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package's name.
    pub(crate) name: String,
    /// Line in the manifest, from 1.
    pub(crate) line: usize,
}

/// One package.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its manifest, relative to the root.
    pub(crate) manifest: String,
    /// Its folder, relative to the root.
    pub(crate) folder: String,
    /// Whether the workspace lists it as a member.
    pub(crate) member: bool,
    /// Whether it says `[lints] workspace = true`.
    pub(crate) lints: bool,
    /// Dependencies and build dependencies; those for tests are left out.
    pub(crate) dependencies: Vec<Dependency>,
    /// Root files of the library and the programs.
    pub(crate) product: Vec<String>,
    /// Root files of tests, benches, examples and the build script.
    pub(crate) development: Vec<String>,
}

/// Reads every package in the tree.
pub(crate) fn packages(tree: &Tree) -> Result<Vec<Package>, String> {
    let root = table(tree, "Cargo.toml")?;
    let members = workspace_list(&root, "members");
    let mut packages = Vec::new();
    for (path, _) in tree.files() {
        if path.rsplit('/').next() != Some("Cargo.toml") {
            continue;
        }
        let manifest = table(tree, path)?;
        if manifest.contains_key("package") {
            let member = members.contains(parent(path));
            packages.push(package(tree, path, &manifest, member)?);
        }
    }
    Ok(packages)
}

fn table(tree: &Tree, path: &str) -> Result<Table, String> {
    let text = tree.text(path).ok_or(format!("{path} is missing"))?;
    text.parse().map_err(|e| format!("{path}: {e}"))
}

fn workspace_list(root: &Table, key: &str) -> BTreeSet<String> {
    root.get("workspace")
        .and_then(|workspace| workspace.get(key))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|member| member.as_str().map(str::to_owned))
        .collect()
}

fn package(tree: &Tree, path: &str, manifest: &Table, member: bool) -> Result<Package, String> {
    let folder = parent(path).to_owned();
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(Value::as_str)
        .ok_or(format!("{path}: the package has no name"))?
        .to_owned();
    let lints = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"))
        .is_some_and(|value| value.as_bool() == Some(true));
    let text = tree.text(path).unwrap_or_default();
    let (product, development) = targets(tree, &folder, manifest);
    Ok(Package {
        name,
        manifest: path.to_owned(),
        folder,
        member,
        lints,
        dependencies: dependencies(manifest, text),
        product,
        development,
    })
}

fn dependencies(manifest: &Table, text: &str) -> Vec<Dependency> {
    let mut sections = vec![manifest];
    let by_platform = manifest.get("target").and_then(Value::as_table);
    sections.extend(
        by_platform
            .into_iter()
            .flatten()
            .filter_map(|(_, v)| v.as_table()),
    );
    let mut found = Vec::new();
    for section in sections {
        for key in ["dependencies", "build-dependencies"] {
            let listed = section.get(key).and_then(Value::as_table);
            for (alias, value) in listed.into_iter().flatten() {
                let renamed = value.get("package").and_then(Value::as_str);
                found.push(Dependency {
                    name: renamed.unwrap_or(alias).to_owned(),
                    line: line_of(text, alias),
                });
            }
        }
    }
    found
}

/// The first line that begins with `key` and goes on with something that ends a key.
fn line_of(text: &str, key: &str) -> usize {
    let begins = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    };
    text.lines().position(begins).map_or(0, |index| index + 1)
}

fn targets(tree: &Tree, folder: &str, manifest: &Table) -> (Vec<String>, Vec<String>) {
    let at = |path: &str| join(folder, path).unwrap_or_default();
    let mut product = vec![at("src/lib.rs"), at("src/main.rs")];
    let mut development = vec![at("build.rs")];
    let written = |key: &str, into: &mut Vec<String>| {
        let value = manifest.get(key);
        let single = value.filter(|value| value.is_table());
        let list = value.and_then(Value::as_array).into_iter().flatten();
        for target in list.chain(single) {
            into.extend(target.get("path").and_then(Value::as_str).map(at));
        }
    };
    written("lib", &mut product);
    written("bin", &mut product);
    for key in ["test", "bench", "example"] {
        written(key, &mut development);
    }
    for (path, _) in tree.with_suffix(".rs") {
        let Some(inside) = path.strip_prefix(&at("")) else {
            continue;
        };
        let inside = inside.trim_start_matches('/');
        if is_target(inside, "src/bin/") {
            product.push(path.to_owned());
        }
        if ["tests/", "benches/", "examples/"]
            .iter()
            .any(|of| is_target(inside, of))
        {
            development.push(path.to_owned());
        }
    }
    product.retain(|path| tree.text(path).is_some());
    development.retain(|path| tree.text(path).is_some());
    (product, development)
}

/// Whether cargo takes `inside` for a target of its own: `tests/a.rs` or `tests/a/main.rs`.
fn is_target(inside: &str, folder: &str) -> bool {
    inside
        .strip_prefix(folder)
        .is_some_and(|rest| match rest.split_once('/') {
            None => true,
            Some((_, below)) => below == "main.rs",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_dependencies_and_targets() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]"),
            (
                "a/Cargo.toml",
                "[package]\nname = \"x\"\n[lints]\nworkspace = true\n[dependencies]\nb.workspace = true\n\
                 [target.'cfg(unix)'.dependencies]\nc = \"1\"\n[dev-dependencies]\nd = \"1\"\n\
                 [[example]]\nname = \"e\"\npath = \"../examples/e.rs\"\n",
            ),
            ("a/src/lib.rs", ""),
            ("a/tests/t.rs", ""),
            ("a/tests/u/main.rs", ""),
            ("a/tests/u/part.rs", ""),
            ("examples/e.rs", ""),
        ]);
        let packages = packages(&tree).unwrap();
        assert_eq!(packages.len(), 1);
        let found = &packages[0];
        assert!(found.member && found.lints);
        let names: Vec<_> = found
            .dependencies
            .iter()
            .map(|d| (d.name.as_str(), d.line))
            .collect();
        assert_eq!(names, [("b", 6), ("c", 8)]);
        assert_eq!(found.product, ["a/src/lib.rs"]);
        assert_eq!(
            found.development,
            ["examples/e.rs", "a/tests/t.rs", "a/tests/u/main.rs"]
        );
    }
}
