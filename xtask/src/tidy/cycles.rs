//! No import cycle between the modules of a crate, and no import upwards between its bands.
//!
//! rustc allows import cycles between modules, and every Rust storage engine that we measured has
//! such a knot. A node is a file here; an import is followed through re-exports to the file that
//! defines the name. Test code may import anything. A type's methods may be in any file of its
//! crate, so moving a method breaks a cycle between a type and its helpers.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::finding::Finding;
use crate::house::House;
use crate::source::modules::{Edge, Modules};

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for target in house.targets.iter().filter(|target| target.product) {
        let modules = &target.modules;
        let edges = modules.edges();
        cycles(modules, &edges, &mut findings);
        if let Some(bands) = house.settings.bands.get(&target.package) {
            upward(modules, &edges, bands, &mut findings);
        }
    }
    findings
}

fn upward(modules: &Modules, edges: &[Edge], bands: &[String], findings: &mut Vec<Finding>) {
    let band = |index: usize| {
        let first = modules.files[index].module.first()?;
        bands.iter().position(|band| band == first)
    };
    for edge in edges {
        let from = &modules.files[edge.from];
        let to = &modules.files[edge.to];
        let message = match (band(edge.from), band(edge.to)) {
            (Some(low), Some(high)) if low < high => format!(
                "band `{}` imports `{}` above it (the bands are {}): pass a narrow context or \
                 return a value instead",
                bands[low],
                bands[high],
                bands.join(" < ")
            ),
            (Some(low), None) if to.module.is_empty() => format!(
                "band `{}` imports an item of the crate's root: move the item into a band",
                bands[low]
            ),
            _ => continue,
        };
        findings.push(Finding::new(&from.path, edge.line, "bands", message));
    }
}

fn cycles(modules: &Modules, edges: &[Edge], findings: &mut Vec<Finding>) {
    let mut out: BTreeMap<usize, Vec<&Edge>> = BTreeMap::new();
    for edge in edges {
        out.entry(edge.from).or_default().push(edge);
    }
    let mut reported = BTreeSet::new();
    for start in 0..modules.files.len() {
        if reported.contains(&start) {
            continue;
        }
        if let Some(path) = shortest_cycle(start, &out) {
            reported.extend(path.iter().map(|edge| edge.from));
            let first = path[0];
            let steps: Vec<String> = path.iter().map(|edge| step(modules, edge)).collect();
            let message = format!(
                "import cycle: {}; move what both need into a third file, or a method to the file \
                 that uses it",
                steps.join(", ")
            );
            let file = &modules.files[first.from].path;
            findings.push(Finding::new(file, first.line, "cycles", message));
        }
    }
}

fn step(modules: &Modules, edge: &Edge) -> String {
    let name = |index: usize| match modules.files[index].module.as_slice() {
        [] => "the crate's root".to_owned(),
        path => format!("`{}`", path.join("::")),
    };
    let place = &modules.files[edge.from].path;
    format!(
        "{} imports {} ({place}:{})",
        name(edge.from),
        name(edge.to),
        edge.line
    )
}

/// Returns the shortest path from `start` back to itself.
fn shortest_cycle<'a>(start: usize, out: &BTreeMap<usize, Vec<&'a Edge>>) -> Option<Vec<&'a Edge>> {
    let mut came_by: BTreeMap<usize, &Edge> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for edge in out.get(&node).into_iter().flatten() {
            if edge.to == start {
                let mut path = vec![*edge];
                let mut at = node;
                while at != start {
                    path.push(came_by[&at]);
                    at = came_by[&at].from;
                }
                path.reverse();
                return Some(path);
            }
            if let Entry::Vacant(entry) = came_by.entry(edge.to) {
                entry.insert(edge);
                queue.push_back(edge.to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    const MANIFEST: (&str, &str) = ("e/Cargo.toml", "[package]\nname = \"e\"");

    #[test]
    fn a_cycle_is_reported_once_with_its_steps() {
        let house = house(
            "",
            &[
                MANIFEST,
                ("e/src/lib.rs", "mod a; mod b; mod c;"),
                ("e/src/a.rs", "use crate::b;"),
                ("e/src/b.rs", "\nuse super::c::X;"),
                ("e/src/c.rs", "pub struct X; fn f() { crate::a::g() }"),
            ],
        );
        let found = lines(&check(&house));
        assert_eq!(found.len(), 1, "{found:?}");
        for part in [
            "e/src/",
            "cycles: import cycle:",
            "`b` imports `c` (e/src/b.rs:2)",
        ] {
            assert!(found[0].contains(part), "{found:?}");
        }
    }

    #[test]
    fn a_parent_that_only_re_exports_makes_no_cycle() {
        let house = house(
            "",
            &[
                MANIFEST,
                ("e/src/lib.rs", "mod a; mod b; pub use a::X; pub use b::Y;"),
                ("e/src/a.rs", "pub struct X;"),
                ("e/src/b.rs", "use crate::X; pub struct Y(X);"),
            ],
        );
        assert_eq!(lines(&check(&house)), Vec::<String>::new());
    }

    #[test]
    fn bands_are_not_imported_upwards() {
        let house = house(
            "[bands]\ne = [\"state\", \"api\"]",
            &[
                MANIFEST,
                ("e/src/lib.rs", "mod state; mod api; pub fn root() {}"),
                ("e/src/state.rs", "mod x;"),
                (
                    "e/src/state/x.rs",
                    "use crate::api::Db;\nfn f() { crate::root() }",
                ),
                ("e/src/api.rs", "use crate::state; pub struct Db;"),
            ],
        );
        let found = lines(&check(&house));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("root: move the item into a band"),
            "{found:?}"
        );
        assert!(
            found[1].contains("bands: band `state` imports `api` above it"),
            "{found:?}"
        );
    }
}
