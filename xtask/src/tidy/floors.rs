//! A crate imports only lower floors, as `xtask/tidy.toml` numbers them.
//!
//! rustc rejects cycles between crates, but not a dependency in the wrong direction, such as a
//! format crate that knows the engine or a benchmark core that knows one of its engines.
//! Crates also keep to the walls of their house: the engine imports no client, no adapter and no
//! part of the benchmark. Dev-dependencies are exempt. Every member has a floor and inherits the
//! workspace's lints. Every manifest in the tree belongs to the workspace or to one that the
//! settings list, so that no package is skipped.

use crate::finding::Finding;
use crate::house::House;
use crate::packages::{self, Package};
use crate::settings;

const RULE: &str = "floors";

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    unknown(house, &mut findings);
    for package in house.packages.iter().filter(|package| package.member) {
        imports(house, package, &mut findings);
        if !package.lints {
            let message =
                "does not inherit the workspace's lints: add `[lints]` `workspace = true`";
            findings.push(Finding::new(&package.manifest, 0, RULE, message));
        }
    }
    for name in house.settings.floors.keys() {
        if !house.packages.iter().any(|package| package.name == *name) {
            let message = format!("`{name}` has a floor but is not a package: remove its line");
            findings.push(Finding::new(settings::PATH, 0, RULE, message));
        }
    }
    findings
}

/// Reports a manifest that cargo does not list as a package of a known workspace.
fn unknown(house: &House, findings: &mut Vec<Finding>) {
    for (path, text) in house.tree.with_suffix("Cargo.toml") {
        let begins = |line: &str| line.trim() == "[package]";
        let known = house
            .packages
            .iter()
            .any(|package| package.manifest == path);
        if let Some(line) = text.lines().position(begins)
            && !known
        {
            let message = format!(
                "belongs to no known workspace, so no rule checks it: add it to the members in \
                 {}, or to `workspaces` in {}",
                packages::ROOT,
                settings::PATH
            );
            findings.push(Finding::new(path, line + 1, RULE, message));
        }
    }
}

fn imports(house: &House, package: &Package, findings: &mut Vec<Finding>) {
    let floors = &house.settings.floors;
    let Some(floor) = floors.get(&package.name) else {
        let message = format!("`{}` has no floor: add it to [floors]", package.name);
        findings.push(Finding::new(&package.manifest, 0, RULE, message));
        return;
    };
    for dependency in &package.dependencies {
        let mut refuse = |message: String| {
            findings.push(Finding::new(
                &package.manifest,
                dependency.line,
                RULE,
                message,
            ));
        };
        let name = &dependency.name;
        if let Some(below) = floors.get(name)
            && below >= floor
        {
            refuse(format!(
                "`{}` (floor {floor}) imports `{name}` (floor {below}): a crate imports only \
                 lower floors; move the shared code down",
                package.name
            ));
        }
        if let Some((ours, theirs)) = walled(house, package, name) {
            refuse(format!(
                "`{}` is in `{ours}`, which must not import `{theirs}`, where `{name}` is",
                package.name
            ));
        }
        for apart in &house.settings.apart {
            if apart.package == package.name && apart.never.contains(name) {
                let why = &apart.why.0;
                refuse(format!("`{}` must not know `{name}`: {why}", package.name));
            }
        }
    }
}

/// Returns the houses of a package and of its dependency, if the first must not import the second.
fn walled<'h>(house: &'h House, package: &'h Package, name: &str) -> Option<(&'h str, &'h str)> {
    let of = |package: &'h Package| package.folder.split('/').next().unwrap_or_default();
    let dependency = house.packages.iter().find(|package| package.name == name)?;
    let (ours, theirs) = (of(package), of(dependency));
    let allowed = house.settings.houses.get(ours)?;
    let walled = ours != theirs && !allowed.iter().any(|house| house == theirs);
    walled.then_some((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    const SETTINGS: &str = "[floors]\nlow = 1\nhigh = 2\nside = 2\n[[apart]]\ncrate = \"side\"\n\
                            never = [\"low\"]\nwhy = \"it is neutral\"";

    fn check_with(low: &str, side: &str) -> Vec<String> {
        let manifest = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
        };
        let (low, high) = (
            manifest("low", low),
            manifest("high", "[dependencies]\nlow = \"1\""),
        );
        let side = manifest("side", side);
        let house = house(
            SETTINGS,
            &[
                ("low/Cargo.toml", &low),
                ("high/Cargo.toml", &high),
                ("side/Cargo.toml", &side),
            ],
        );
        lines(&check(&house))
    }

    #[test]
    fn downward_imports_pass() {
        let dev = "[dev-dependencies]\nhigh = \"1\"";
        assert_eq!(check_with(dev, ""), Vec::<String>::new());
    }

    #[test]
    fn upward_and_sideward_imports_are_refused() {
        let up = check_with(
            "[dependencies]\nhigh = \"1\"",
            "[dependencies]\nhigh = \"1\"",
        );
        assert_eq!(up.len(), 2, "{up:?}");
        assert!(up[0].starts_with("low/Cargo.toml:6: floors: `low` (floor 1) imports `high`"));
        assert!(up[1].starts_with("side/Cargo.toml:6: floors: `side` (floor 2) imports `high`"));
    }

    #[test]
    fn crates_kept_apart_are_refused() {
        let found = check_with("", "[dependencies]\nlow = \"1\"");
        assert_eq!(
            found,
            ["side/Cargo.toml:6: floors: `side` must not know `low`: it is neutral"]
        );
    }

    #[test]
    fn houses_have_walls() {
        let manifest = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
        };
        let settings = "[floors]\nlow = 1\nhigh = 2\n[houses]\nengine = []\nbench = [\"engine\"]";
        let found = |low: &str, high: &str| {
            let (low, high) = (format!("{low}/Cargo.toml"), format!("{high}/Cargo.toml"));
            let upper = manifest("high", "[dependencies]\nlow = \"1\"");
            let files = [
                (low.as_str(), &*manifest("low", "")),
                (high.as_str(), &*upper),
            ];
            lines(&check(&house(settings, &files)))
        };
        assert_eq!(found("engine/low", "engine/high"), Vec::<String>::new());
        assert_eq!(found("engine/low", "bench/high"), Vec::<String>::new());
        let refused = "engine/high/Cargo.toml:6: floors: `high` is in `engine`, which must not import \
                       `bench`, where `low` is";
        assert_eq!(found("bench/low", "engine/high"), [refused]);
    }

    #[test]
    fn a_member_without_floor_or_lints_is_refused() {
        let house = house(
            "[floors]\ngone = 1",
            &[("a/Cargo.toml", "[package]\nname = \"a\"")],
        );
        let found = lines(&check(&house));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_package_that_no_workspace_lists_is_refused() {
        let files = &[
            ("Cargo.toml", "[workspace]\nexclude = [\"b\", \"c\"]"),
            ("b/Cargo.toml", "[package]\nname = \"b\"\n[workspace]"),
            ("c/Cargo.toml", "[package]\nname = \"c\"\n[workspace]"),
        ];
        let found = lines(&check(&house("workspaces = [\"b/Cargo.toml\"]", files)));
        assert_eq!(found.len(), 1, "{found:?}");
        let start = "c/Cargo.toml:1: floors: belongs to no known workspace";
        assert!(found[0].starts_with(start), "{found:?}");
    }
}
