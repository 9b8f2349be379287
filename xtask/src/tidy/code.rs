//! `unsafe` only in listed files, system services only through the environment crate, a head
//! comment in every file, and no file that no target reaches.
//!
//! rustc and clippy check the rest about `unsafe`: the workspace denies `unsafe_code`, and an
//! exception without its reason. A file that no `mod` names is not compiled and rots unnoticed; git
//! keeps what is removed.

use std::collections::BTreeSet;

use crate::findings::Findings;
use crate::house::House;
use crate::settings;
use crate::source::Source;
use crate::tree::{join, parent};

/// The crate through which the library uses system services.
const ENVIRONMENT: &str = "cairndb-env";
/// The store's public crate; programs and tools are above its floor.
const STORE: &str = "cairndb";

pub(super) fn check(house: &House, findings: &mut Findings) {
    listed(house, findings);
    reached(house, findings);
    for (path, source) in house.product() {
        let text = house.tree.text(path).unwrap_or_default().trim_start();
        if !text.starts_with("//!") && !text.starts_with("#!/") {
            let message = "starts without `//!`: state in two sentences what the file is and why";
            findings.add(path, 1, "head", message);
        }
        if in_library(house, path) {
            seams(house, path, source, findings);
        }
    }
}

/// Returns whether the file is library code outside the environment crate.
fn in_library(house: &House, path: &str) -> bool {
    let floors = &house.settings.floors;
    let top = floors.get(STORE);
    house.packages.iter().any(|package| {
        package.name != ENVIRONMENT
            && floors
                .get(&package.name)
                .is_some_and(|floor| Some(floor) <= top)
            && path.starts_with(&format!("{}/src/", parent(&package.manifest)))
    })
}

/// Reports what bypasses the environment outside test code.
fn seams(house: &House, path: &str, source: &Source, findings: &mut Findings) {
    for import in source.imports.iter().filter(|import| !import.test) {
        let written = format!("::{}::", import.path.join("::"));
        for (name, advice) in &house.settings.seams {
            if written.contains(&format!("::{name}::")) {
                findings.add(path, import.line, "seam", advice);
            }
        }
    }
}

/// Checks that the files with `unsafe` are those on the list.
fn listed(house: &House, findings: &mut Findings) {
    let mut unused: BTreeSet<&String> = house.settings.unsafe_files.iter().collect();
    for (path, source) in &house.sources {
        let Some(line) = source.words.get("unsafe") else {
            continue;
        };
        let covers = |entry: &str| entry == path || entry.ends_with('/') && path.starts_with(entry);
        if !house
            .settings
            .unsafe_files
            .iter()
            .any(|entry| covers(entry))
        {
            let message = format!(
                "contains `unsafe` and is not on the list: find a safe way, or add the file to \
                 `unsafe` in {}",
                settings::PATH
            );
            findings.add(path, *line, "unsafe", message);
        }
        unused.retain(|entry| !covers(entry));
    }
    for entry in unused {
        let message = format!("unsafe: `{entry}` no longer contains any, remove the entry");
        findings.setting("unsafe", message);
    }
}

/// Reports the files that no target reaches by `mod` or `include!`.
fn reached(house: &House, findings: &mut Findings) {
    let targets = house.targets.iter();
    let files = targets.flat_map(|target| &target.modules.files);
    let reached: BTreeSet<String> = files
        .flat_map(|file| {
            let included = file.source.included.iter();
            let included = included.filter_map(|it| join(parent(&file.path), it));
            included.chain([file.path.clone()])
        })
        .collect();
    for path in house.sources.keys().filter(|path| !reached.contains(*path)) {
        let message = "no target reaches this file: declare it with `mod`, or remove it";
        findings.add(path, 0, "dead", message);
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::expect;

    #[test]
    fn unsafe_needs_an_entry_and_an_entry_unsafe() {
        let files = [
            ("a.rs", "//! A.\n// unsafe\n\nfn f() { unsafe { g() } }"),
            ("b.rs", "//! B: \"unsafe\"."),
            ("s/a.rs", "//! A.\nunsafe fn f() {}"),
        ];
        let part = "a.rs:4: unsafe: contains `unsafe` and is not on the list";
        expect(super::listed, "unsafe = [\"s/\"]", &files, &[part]);
        let part = "`b.rs` no longer contains any";
        expect(
            super::listed,
            "unsafe = [\"s/\", \"a.rs\", \"b.rs\"]",
            &files,
            &[part],
        );
    }

    #[test]
    fn library_code_reaches_the_world_through_the_environment() {
        let source = "//! S.\nuse std::fs;\nfn f() { let t = Instant::now(); }\nuse std::sync::{Arc, Mutex};\n\
                      use a::sync::{b::{RwLock}, Mutex};\nuse parking_lot::RwLock;\n\
                      #[cfg(test)]\nmod tests { fn g() { std::fs::read(d) } }";
        let files = [
            ("base/Cargo.toml", "[package]\nname = \"base\""),
            ("env/Cargo.toml", "[package]\nname = \"cairndb-env\""),
            ("store/Cargo.toml", "[package]\nname = \"cairndb\""),
            ("tool/Cargo.toml", "[package]\nname = \"tool\""),
            ("base/src/lib.rs", source),
            ("env/src/lib.rs", source),
            ("store/src/lib.rs", "//! S.\nuse std::fs::File;"),
            ("tool/src/main.rs", source),
        ];
        let settings = "[floors]\nbase = 1\ncairndb-env = 2\ncairndb = 4\ntool = 5\n[seam]\n\
                        \"std::fs\" = \"files\"\n\"Instant::now\" = \"clocks\"\n\
                        \"std::sync::Mutex\" = \"locks\"\n\"parking_lot::RwLock\" = \"locks\"";
        let parts = [
            "base/src/lib.rs:2: seam: files",
            "base/src/lib.rs:3: seam: clocks",
            "base/src/lib.rs:4: seam: locks",
            "base/src/lib.rs:6: seam: locks",
            "store/src/lib.rs:2: seam: files",
        ];
        expect(super::check, settings, &files, &parts);
    }

    #[test]
    fn every_file_has_a_head() {
        let files = [("a.rs", "fn f() {}"), ("a/tests.rs", "use x;")];
        let dead = ": dead: no target reaches this file";
        expect(super::check, "", &files, &[dead, "a.rs:1: head:", dead]);
    }

    #[test]
    fn a_file_no_target_reaches_is_reported() {
        let files = [
            ("a/Cargo.toml", "[package]\nname = \"a\""),
            ("a/src/lib.rs", "mod b; include!(\"table.rs\");"),
            ("a/src/b.rs", "#[cfg(test)] mod tests;"),
            ("a/src/b/tests.rs", ""),
            ("a/src/table.rs", ""),
            ("a/src/old.rs", ""),
            ("a/tests/suite/main.rs", "mod part;"),
            ("a/tests/suite/part.rs", ""),
            ("examples/loose.rs", ""),
        ];
        let parts = ["a/src/old.rs: dead:", "examples/loose.rs: dead:"];
        expect(super::reached, "", &files, &parts);
    }
}
