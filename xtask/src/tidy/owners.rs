//! Owners do not depend on one another in a cycle.
//!
//! An owner is a struct with methods that is not a plain value; [`crate::types`] defines when one
//! depends on another. Owners in a cycle cannot be understood, tested or replaced one at a time,
//! whatever the imports look like: `self.method()` imports nothing. Dependencies are followed
//! through other types: a settings struct that holds an owner depends on it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::finding::Finding;
use crate::house::{House, Target};
use crate::settings;
use crate::types::Types;

const RULE: &str = "owners";

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_cycles = BTreeSet::new();
    for target in house.targets.iter().filter(|target| target.product) {
        for knot in knots(&target.types) {
            let owners = owners_of(&target.types, &knot);
            in_cycles.extend(
                owners
                    .iter()
                    .map(|at| (target.package.clone(), path(target, *at))),
            );
            let excused = house.settings.owner_cycles.iter().any(|entry| {
                let listed: Vec<_> = entry.types.iter().map(|t| target.types.find(t)).collect();
                entry.package == target.package
                    && owners.iter().all(|at| listed.contains(&Some(*at)))
            });
            if !excused {
                findings.push(finding(target, &knot, &owners));
            }
        }
    }
    for entry in &house.settings.owner_cycles {
        for name in &entry.types {
            let needed = house.targets.iter().any(|target| {
                let found = target.types.find(name);
                let key = found.map(|at| (entry.package.clone(), path(target, at)));
                target.product && key.is_some_and(|key| in_cycles.contains(&key))
            });
            if !needed {
                let message = format!(
                    "[[owner-cycle]] {name} of {}: is in no cycle, remove it from the entry",
                    entry.package
                );
                findings.push(Finding::new(settings::PATH, 0, RULE, message));
            }
        }
    }
    findings
}

fn path(target: &Target, index: usize) -> String {
    target.types.types[index].path.join("::")
}

fn owners_of(types: &Types, knot: &BTreeSet<usize>) -> Vec<usize> {
    let owners = knot.iter().copied();
    owners.filter(|index| types.types[*index].owner).collect()
}

/// Returns the sets of types that all depend on one another and contain at least two owners.
fn knots(types: &Types) -> Vec<BTreeSet<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..types.types.len())
        .map(|start| {
            let mut reached = BTreeSet::new();
            let mut todo = vec![start];
            while let Some(at) = todo.pop() {
                let next = types.types[at].links.keys().copied();
                todo.extend(next.filter(|to| reached.insert(*to)));
            }
            reached
        })
        .collect();
    let mut knots: Vec<BTreeSet<usize>> = Vec::new();
    for start in 0..reached.len() {
        if knots.iter().any(|knot| knot.contains(&start)) {
            continue;
        }
        let both = reached[start].iter().copied();
        let knot: BTreeSet<usize> = both.filter(|to| reached[*to].contains(&start)).collect();
        if owners_of(types, &knot).len() > 1 {
            knots.push(knot);
        }
    }
    knots
}

fn finding(target: &Target, knot: &BTreeSet<usize>, owners: &[usize]) -> Finding {
    let types = &target.types;
    let (there, back) = shortest(types, knot, owners);
    let steps: Vec<String> = there
        .iter()
        .chain(&back)
        .map(|step| describe(target, *step))
        .collect();
    let mut message = format!(
        "owners depend on one another in a cycle: {}",
        steps.join(", ")
    );
    if owners.len() > 2 {
        let names: Vec<String> = owners.iter().map(|at| types.name(*at)).collect();
        message = format!("{message} (all owners in it: {})", names.join(", "));
    }
    message += "; pass one of them a narrower context or a returned value instead of the other, or \
                state the reason in [[owner-cycle]] of xtask/tidy.toml";
    let (from, to) = there[0];
    let link = &types.types[from].links[&to];
    Finding::new(
        &target.modules.files[link.file].path,
        link.line,
        RULE,
        message,
    )
}

type Steps = Vec<(usize, usize)>;

/// Returns the shortest path from one owner of a knot to another and back.
fn shortest(types: &Types, knot: &BTreeSet<usize>, owners: &[usize]) -> (Steps, Steps) {
    let pairs = owners
        .iter()
        .flat_map(|from| owners.iter().map(move |to| (*from, *to)));
    let ways = pairs
        .filter(|(from, to)| from < to)
        .map(|(from, to)| (way(types, knot, from, to), way(types, knot, to, from)));
    ways.min_by_key(|(there, back)| there.len() + back.len())
        .unwrap_or_default()
}

/// Returns the shortest path between two types inside a knot.
fn way(types: &Types, knot: &BTreeSet<usize>, from: usize, to: usize) -> Steps {
    let mut came_from = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for next in types.types[at]
            .links
            .keys()
            .filter(|next| knot.contains(next))
        {
            if *next != from && !came_from.contains_key(next) {
                came_from.insert(*next, at);
                queue.push_back(*next);
            }
        }
    }
    let mut steps = Steps::new();
    let mut at = to;
    while at != from {
        let before = came_from[&at];
        steps.push((before, at));
        at = before;
    }
    steps.reverse();
    steps
}

fn describe(target: &Target, (from, to): (usize, usize)) -> String {
    let types = &target.types;
    let link = &types.types[from].links[&to];
    let by = match link.by_trait.as_str() {
        "" => String::new(),
        name => format!(" through the trait `{name}`"),
    };
    let file = &target.modules.files[link.file].path;
    let (from, to) = (types.name(from), types.name(to));
    format!("`{from}` names `{to}`{by} ({file}:{})", link.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    /// Returns the findings for a crate of one file.
    fn check_with(settings: &str, source: &str) -> Vec<String> {
        let manifest = ("e/Cargo.toml", "[package]\nname = \"e\"");
        lines(&check(&house(
            settings,
            &[manifest, ("e/src/lib.rs", source)],
        )))
    }

    /// Checks two owners, the second of which holds the first, with `back` as the way back.
    fn cycle(back: &str) -> Vec<String> {
        let owners = "struct A { lock: L }\nimpl A { fn a(&self) {} }\nstruct B { a: Arc<A> }\n\
                      impl B { fn b(&self) {} }\n";
        check_with("", &format!("{owners}{back}"))
    }

    #[test]
    fn owners_in_one_direction_pass() {
        for back in [
            "",
            "impl A { fn make(&self) -> B {} }",
            "impl From<B> for A { fn from(b: B) -> A {} }",
            "fn both(a: &A, b: &B) {}",
            "#[cfg(test)] impl A { fn t(&self, b: &B) {} }",
            "struct V; struct W { v: V } impl W { fn w(&self, v: &V) {} }",
            "#[derive(Clone, Copy)] struct V { a: u8 } impl V { fn v(self, b: &B) {} }",
        ] {
            assert_eq!(cycle(back), Vec::<String>::new(), "{back}");
        }
    }

    #[test]
    fn every_way_back_is_found() {
        for back in [
            "impl A { fn back(&self, b: &B) {} }",
            "impl A { fn back(b: Weak<B>) {} }",
            "impl A { fn back(&mut self, f: Box<dyn Fn(&B)>) {} }",
            "impl A { fn back(&mut self, f: impl FnOnce(&mut B) -> u8) {} }",
            "type Shared = Arc<B>; impl A { fn back(&self, b: Shared) {} }",
            "trait T { fn t(&self); } impl T for B { fn t(&self) {} }\n\
             impl A { fn back(&self, b: Arc<dyn T>) {} }",
            "trait T { fn t(&self); } impl T for B { fn t(&self) {} }\n\
             impl A { fn back<S: T>(&self, b: S) {} }",
            "struct Context<'a> { b: &'a B } impl A { fn back(&self, c: &Context) {} }",
            "trait T { fn t(&self, b: &B); } impl T for A { fn t(&self, b: &B) {} }",
        ] {
            let found = cycle(back);
            assert_eq!(found.len(), 1, "{back}: {found:?}");
            assert!(
                found[0].contains("`B` names `A` (e/src/lib.rs:3)"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_callback_by_trait_is_found_with_its_trait() {
        let source = "trait Heard { fn hear(&self); }\nstruct A { to: Weak<dyn Heard> }\n\
                      impl A { fn a(&self) {} }\nstruct B { a: A }\n\
                      impl Heard for B { fn hear(&self) {} }";
        let found = check_with("", source);
        assert_eq!(found.len(), 1, "{found:?}");
        let start = "e/src/lib.rs:2: owners: owners depend on one another in a cycle: `A` names `B` \
                     through the trait `Heard` (e/src/lib.rs:2), `B` names `A` (e/src/lib.rs:4);";
        assert!(found[0].starts_with(start), "{found:?}");
    }

    #[test]
    fn implementers_of_one_trait_may_wrap_one_another() {
        let source = "trait S { fn s(&self); }\nstruct A<T: S> { of: T }\nstruct B { of: Vec<Box<dyn S>> }\n\
                      impl<T: S> A<T> { fn a(&self) {} }\nimpl B { fn b(&self) {} }\n\
                      impl<T: S> S for A<T> { fn s(&self) {} }\nimpl S for B { fn s(&self) {} }";
        assert_eq!(check_with("", source), Vec::<String>::new());
    }

    #[test]
    fn a_cycle_needs_an_entry_that_names_its_owners_and_no_others() {
        let source = "struct A { b: Weak<B> }\nimpl A { fn a(&self) {} }\nstruct B { a: A }\n\
                      impl B { fn b(&self) {} }\nstruct C { b: B }\nimpl C { fn c(&self) {} }";
        let entry =
            |types: &str| format!("[[owner-cycle]]\ncrate = \"e\"\ntypes = {types}\nwhy = \"r\"");
        assert_eq!(
            check_with(&entry("[\"A\", \"B\"]"), source),
            Vec::<String>::new()
        );
        assert_eq!(check_with(&entry("[\"A\"]"), source).len(), 1);
        let found = check_with(&entry("[\"A\", \"B\", \"C\"]"), source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("[[owner-cycle]] C of e: is in no cycle"),
            "{found:?}"
        );
    }
}
