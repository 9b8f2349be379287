//! No import cycle between the modules of a crate, and no import upwards between its bands.
//!
//! rustc allows import cycles between modules, and every Rust storage engine that we measured has
//! such a knot. A node is a file here; an import is followed through re-exports to the file that
//! defines the name. Test code may import anything. A type's methods may be in any file of its
//! crate, so moving a method breaks a cycle between a type and its helpers.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::Findings;
use crate::house::House;
use crate::modules::{Edge, Modules};

pub(super) fn check(house: &House, findings: &mut Findings) {
    for target in house.targets.iter().filter(|target| target.product) {
        let edges = target.modules.edges();
        cycles(&target.modules, &edges, findings);
        if let Some(bands) = house.settings.bands.get(&target.package) {
            upward(&target.modules, &edges, bands, findings);
        }
    }
}

fn upward(modules: &Modules, edges: &[Edge], bands: &[String], findings: &mut Findings) {
    let band = |index: usize| {
        let first = modules.files[index].module.first()?;
        bands.iter().position(|band| band == first)
    };
    for edge in edges {
        let to_root = modules.files[edge.to].module.is_empty();
        let message = match (band(edge.from), band(edge.to)) {
            (Some(low), Some(high)) if low < high => format!(
                "band `{}` imports `{}` above it (the bands are {}): pass a narrow context or \
                 return a value instead",
                bands[low],
                bands[high],
                bands.join(" < ")
            ),
            (Some(low), None) if to_root => format!(
                "band `{}` imports an item of the crate's root: move the item into a band",
                bands[low]
            ),
            _ => continue,
        };
        findings.add(&modules.files[edge.from].path, edge.line, "bands", message);
    }
}

fn cycles(modules: &Modules, edges: &[Edge], findings: &mut Findings) {
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
            let steps: Vec<String> = path.iter().map(|edge| step(modules, edge)).collect();
            let message = format!(
                "import cycle: {}; move what both need into a third file, or a method to the file \
                 that uses it",
                steps.join(", ")
            );
            findings.add(&modules.files[start].path, path[0].line, "cycles", message);
        }
    }
}

fn step(modules: &Modules, edge: &Edge) -> String {
    let name = |index: usize| match modules.files[index].module.as_slice() {
        [] => "the crate's root".to_owned(),
        path => format!("`{}`", path.join("::")),
    };
    let (from, to, place) = (
        name(edge.from),
        name(edge.to),
        &modules.files[edge.from].path,
    );
    format!("{from} imports {to} ({place}:{})", edge.line)
}

/// Returns the shortest path from `start` back to itself.
fn shortest_cycle<'a>(start: usize, out: &BTreeMap<usize, Vec<&'a Edge>>) -> Option<Vec<&'a Edge>> {
    // The paths to files that were not reached before, shortest first.
    let mut paths = vec![Vec::new()];
    let mut seen = BTreeSet::new();
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        let node = path.last().map_or(start, |edge: &&Edge| edge.to);
        for edge in out.get(&node).into_iter().flatten() {
            let longer = [&path[..], &[*edge]].concat();
            if edge.to == start {
                return Some(longer);
            }
            if seen.insert(edge.to) {
                paths.push(longer);
            }
        }
        next += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::findings::expect;

    const MANIFEST: (&str, &str) = ("e/Cargo.toml", "[package]\nname = \"e\"");

    #[test]
    fn a_cycle_is_reported_once_with_its_steps() {
        let files = [
            MANIFEST,
            ("e/src/lib.rs", "mod a; mod b; mod c;"),
            ("e/src/a.rs", "use crate::b;"),
            ("e/src/b.rs", "\nuse super::c::X;"),
            ("e/src/c.rs", "pub struct X; fn f() { crate::a::g() }"),
        ];
        let steps = "`c` imports `a` (e/src/c.rs:1), `a` imports `b` (e/src/a.rs:1), \
                     `b` imports `c` (e/src/b.rs:2);";
        let part = format!("e/src/c.rs:1: cycles: import cycle: {steps}");
        expect(check, "", &files, &[&part]);
    }

    #[test]
    fn a_parent_that_only_re_exports_makes_no_cycle() {
        let files = [
            MANIFEST,
            ("e/src/lib.rs", "mod a; mod b; pub use a::X; pub use b::Y;"),
            ("e/src/a.rs", "pub struct X;"),
            ("e/src/b.rs", "use crate::X; pub struct Y(X);"),
        ];
        expect(check, "", &files, &[]);
    }

    #[test]
    fn bands_are_not_imported_upwards() {
        let files = [
            MANIFEST,
            ("e/src/lib.rs", "mod state; mod api; pub fn root() {}"),
            ("e/src/state.rs", "mod x;"),
            (
                "e/src/state/x.rs",
                "use crate::api::Db;\nfn f() { crate::root() }",
            ),
            ("e/src/api.rs", "use crate::state; pub struct Db;"),
        ];
        let parts = [
            "x.rs:1: bands: band `state` imports `api` above it",
            "x.rs:2: bands: band `state` imports an item of the crate's root: move the item into a band",
        ];
        expect(check, "[bands]\ne = [\"state\", \"api\"]", &files, &parts);
    }
}
