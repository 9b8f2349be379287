//! A crate imports only lower floors, as `xtask/tidy.toml` numbers them.
//!
//! rustc rejects cycles between crates, but not a dependency in the wrong direction, such as a
//! format crate that knows the engine or a benchmark core that knows one of its engines.
//! Crates also keep to the walls of their house: the engine imports no client, no adapter and no
//! part of the benchmark. Dev-dependencies are exempt. Every member has a floor and inherits the
//! workspace's lints. Every manifest in the tree belongs to the workspace or to one that the
//! settings list, so that no package is skipped.

use crate::findings::Findings;
use crate::house::House;
use crate::packages::{self, Package};
use crate::settings;

const RULE: &str = "floors";

pub(super) fn check(house: &House, findings: &mut Findings) {
    unknown(house, findings);
    for package in house.packages.iter().filter(|package| package.member) {
        imports(house, package, findings);
        if !package.lints {
            let message =
                "does not inherit the workspace's lints: add `[lints]` `workspace = true`";
            findings.add(&package.manifest, 0, RULE, message);
        }
    }
    for name in house.settings.floors.keys() {
        if named(house, name).is_none() {
            let message = format!("`{name}` has a floor but is not a package: remove its line");
            findings.setting(RULE, message);
        }
    }
}

/// Reports a manifest that cargo does not list as a package of a known workspace.
fn unknown(house: &House, findings: &mut Findings) {
    for (path, text) in house.tree.with_suffix("Cargo.toml") {
        let line = text.lines().position(|line| line.trim() == "[package]");
        let mut packages = house.packages.iter();
        if let Some(line) = line
            && packages.all(|package| package.manifest != path)
        {
            let message = format!(
                "belongs to no known workspace, so no rule checks it: add it to the members in \
                 {}, or to `workspaces` in {}",
                packages::ROOT,
                settings::PATH
            );
            findings.add(path, line + 1, RULE, message);
        }
    }
}

fn named<'h>(house: &'h House, name: &str) -> Option<&'h Package> {
    house.packages.iter().find(|package| package.name == name)
}

fn imports(house: &House, package: &Package, findings: &mut Findings) {
    let floors = &house.settings.floors;
    let ours = &package.name;
    let Some(floor) = floors.get(ours) else {
        let message = format!("`{ours}` has no floor: add it to [floors]");
        return findings.add(&package.manifest, 0, RULE, message);
    };
    for (name, line) in &package.dependencies {
        let mut refuse = |message: String| findings.add(&package.manifest, *line, RULE, message);
        if let Some(below) = floors.get(name).filter(|below| *below >= floor) {
            refuse(format!(
                "`{ours}` (floor {floor}) imports `{name}` (floor {below}): a crate imports only \
                 lower floors; move the shared code down"
            ));
        }
        if let Some((own, other)) = walled(house, package, name) {
            refuse(format!(
                "`{ours}` is in `{own}`, which must not import `{other}`, where `{name}` is"
            ));
        }
        for apart in &house.settings.apart {
            if apart.package == *ours && apart.never.contains(name) {
                let why = &apart.why.0;
                refuse(format!("`{ours}` must not know `{name}`: {why}"));
            }
        }
    }
}

/// Returns the houses of a package and of its dependency, if the first must not import the second.
fn walled<'h>(house: &'h House, package: &'h Package, name: &str) -> Option<(&'h str, &'h str)> {
    let of = |package: &'h Package| package.manifest.split('/').next().unwrap_or_default();
    let (own, other) = (of(package), of(named(house, name)?));
    let allowed = house.settings.houses.get(own)?;
    let walled = own != other && !allowed.iter().any(|house| house == other);
    walled.then_some((own, other))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::findings::expect;

    const FLOORS: &str = "[floors]\nlow = 1\nhigh = 2\nside = 2\n";

    /// Checks three packages, each with the rest of its manifest.
    fn expect_with(settings: &str, packages: [(&str, &str); 3], parts: &[&str]) {
        let files = packages.map(|(folder, rest)| {
            let name = folder.rsplit('/').next().unwrap();
            let text = format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}");
            (format!("{folder}/Cargo.toml"), text)
        });
        let files = files
            .each_ref()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        expect(check, &format!("{FLOORS}{settings}"), &files, parts);
    }

    #[test]
    fn imports_go_downwards_and_keep_apart() {
        let (on_low, on_high) = (
            "[dependencies]\nlow = \"1\"",
            "[dependencies]\nhigh = \"1\"",
        );
        let dev = "[dev-dependencies]\nhigh = \"1\"";
        let apart = "[[apart]]\ncrate = \"side\"\nnever = [\"low\"]\nwhy = \"it is neutral\"";
        expect_with(apart, [("low", dev), ("high", on_low), ("side", "")], &[]);
        let up = [
            "low/Cargo.toml:6: floors: `low` (floor 1) imports `high` (floor 2)",
            "side/Cargo.toml:6: floors: `side` (floor 2) imports `high` (floor 2)",
        ];
        expect_with(
            apart,
            [("low", on_high), ("high", ""), ("side", on_high)],
            &up,
        );
        let neutral = "side/Cargo.toml:6: floors: `side` must not know `low`: it is neutral";
        expect_with(
            apart,
            [("low", ""), ("high", ""), ("side", on_low)],
            &[neutral],
        );
    }

    #[test]
    fn houses_have_walls() {
        let houses = "[houses]\nengine = []\nbench = [\"engine\"]";
        let on_low = "[dependencies]\nlow = \"1\"";
        let refused = "engine/high/Cargo.toml:6: floors: `high` is in `engine`, which must not import \
                       `bench`, where `low` is";
        for (low, high, parts) in [
            ("engine/low", "engine/high", &[][..]),
            ("engine/low", "bench/high", &[]),
            ("bench/low", "engine/high", &[refused]),
        ] {
            expect_with(houses, [(low, ""), (high, on_low), ("side", "")], parts);
        }
    }

    #[test]
    fn a_member_without_floor_or_lints_is_refused() {
        let files = [("a/Cargo.toml", "[package]\nname = \"a\"")];
        let parts = [
            "`a` has no floor",
            "does not inherit",
            "`gone` has a floor but",
        ];
        expect(check, "[floors]\ngone = 1", &files, &parts);
    }

    #[test]
    fn a_package_that_no_workspace_lists_is_refused() {
        let files = [
            ("Cargo.toml", "[workspace]\nexclude = [\"b\", \"c\"]"),
            ("b/Cargo.toml", "[package]\nname = \"b\"\n[workspace]"),
            ("c/Cargo.toml", "[package]\nname = \"c\"\n[workspace]"),
        ];
        let part = "c/Cargo.toml:1: floors: belongs to no known workspace";
        expect(check, "workspaces = [\"b/Cargo.toml\"]", &files, &[part]);
    }
}
