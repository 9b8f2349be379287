//! Rules for code: `unsafe` only in listed files, system services only through the environment
//! crate, and a head comment in every file.

use syn::visit::Visit;
use syn::{Attribute, Meta};

use crate::finding::Finding;
use crate::house::House;
use crate::settings::{self, Seam, covers};
use crate::source::Source;

/// The crate through which the library uses system services.
const ENVIRONMENT: &str = "cairndb-env";

/// Paths that bypass the environment, and what to use instead.
const WORLD: [(&[&str], &str); 14] = [
    (
        &["std", "fs"],
        "files are reached through the `Dir` of the environment",
    ),
    (
        &["fs", "File"],
        "files are reached through the `Dir` of the environment",
    ),
    (&["std", "net"], "the store uses no network"),
    (&["thread", "spawn"], "threads are started by `Env::spawn`"),
    (
        &["thread", "Builder"],
        "threads are started by `Env::spawn`",
    ),
    (
        &["thread", "sleep"],
        "threads do not sleep; wait on a condition",
    ),
    (
        &["parking_lot", "Condvar"],
        "locks come from `cairndb_env::sync`",
    ),
    (
        &["parking_lot", "Mutex"],
        "locks come from `cairndb_env::sync`",
    ),
    (
        &["parking_lot", "RwLock"],
        "locks come from `cairndb_env::sync`",
    ),
    (
        &["std", "sync", "Condvar"],
        "locks come from `cairndb_env::sync`",
    ),
    (
        &["std", "sync", "Mutex"],
        "locks come from `cairndb_env::sync`",
    ),
    (
        &["std", "sync", "RwLock"],
        "locks come from `cairndb_env::sync`",
    ),
    (&["Instant", "now"], "clocks come from `Env::now_ns`"),
    (&["SystemTime", "now"], "clocks come from `Env::now_ns`"),
];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unsafe_seen = Vec::new();
    let mut seams_used = Vec::new();
    for (path, source) in &house.sources {
        if let Some(word) = source.word("unsafe") {
            unsafe_seen.push((path.as_str(), word.span().start().line));
        }
        if house.is_test(path) {
            continue;
        }
        let text = house.tree.text(path).unwrap_or_default().trim_start();
        if !text.starts_with("//!") && !text.starts_with("#!/") {
            let message = "starts without `//!`: state in two sentences what the file is and why";
            findings.push(Finding::new(path, 1, "head", message));
        }
        if in_library(house, path) {
            seams_used.extend(
                world(source)
                    .into_iter()
                    .map(|(line, advice)| (path.as_str(), line, advice)),
            );
        }
    }
    listed(house, &unsafe_seen, &mut findings);
    seams(&seams_used, &house.settings.seams, &mut findings);
    findings
}

/// Returns whether the file is library code outside the environment crate.
fn in_library(house: &House, path: &str) -> bool {
    house.packages.iter().any(|package| {
        package.name != ENVIRONMENT
            && house.is_library(package)
            && path.starts_with(&format!("{}/src/", package.folder))
    })
}

/// Returns the lines outside test code that bypass the environment, and what to use instead.
fn world(source: &Source) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for import in source.imports.iter().filter(|import| !import.test) {
        let names = |path: &&[&str]| import.path.windows(path.len()).any(|part| part == *path);
        let reached = WORLD.iter().filter(|(path, _)| names(path));
        found.extend(reached.map(|(_, advice)| (import.line, *advice)));
    }
    found
}

/// Checks that the files with `unsafe` are those on the list, and that each states its reason.
fn listed(house: &House, seen: &[(&str, usize)], findings: &mut Vec<Finding>) {
    let listed = &house.settings.unsafe_files;
    for (path, line) in seen {
        if !listed.iter().any(|entry| covers(entry, path)) {
            let message = format!(
                "contains `unsafe` and is not on the list: find a safe way, or add the file to \
                 `unsafe` in {}",
                settings::PATH
            );
            findings.push(Finding::new(*path, *line, "unsafe", message));
        }
    }
    for entry in listed {
        let mut held = seen
            .iter()
            .filter(|(path, _)| covers(entry, path))
            .peekable();
        if held.peek().is_none() {
            let message = format!("unsafe: `{entry}` no longer contains any, remove the entry");
            findings.push(Finding::new(settings::PATH, 0, "unsafe", message));
        }
        // In a folder, one file states the reason for all.
        let mut reasons = held.clone().filter(|(path, _)| gives_reason(house, path));
        if let Some((path, line)) = held.next()
            && reasons.next().is_none()
        {
            let message = "contains `unsafe` without its reason: write \
                           `#![expect(unsafe_code, reason = \"...\")]` below the file's head";
            findings.push(Finding::new(*path, *line, "unsafe", message));
        }
    }
}

/// Returns whether a file states a reason for its `unsafe`.
fn gives_reason(house: &House, path: &str) -> bool {
    let Some(source) = house.sources.get(path) else {
        return false;
    };
    let mut reasons = Reasons(false);
    reasons.visit_file(&source.file);
    reasons.0
}

/// Looks for `#[expect(unsafe_code, reason = "...")]`, or `allow`, on anything.
struct Reasons(bool);

impl<'ast> Visit<'ast> for Reasons {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta
            && (list.path.is_ident("expect") || list.path.is_ident("allow"))
        {
            let said = list.tokens.to_string();
            self.0 |= said.contains("unsafe_code") && said.contains("reason");
        }
    }
}

fn seams(used: &[(&str, usize, &str)], exceptions: &[Seam], findings: &mut Vec<Finding>) {
    for (path, line, advice) in used {
        if !exceptions.iter().any(|entry| covers(&entry.path, path)) {
            findings.push(Finding::new(*path, *line, "seam", *advice));
        }
    }
    for entry in exceptions {
        if !used.iter().any(|(path, ..)| covers(&entry.path, path)) {
            let message = format!(
                "[[seam]] {}: no longer needed, remove the entry",
                entry.path
            );
            findings.push(Finding::new(settings::PATH, 0, "seam", message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    #[test]
    fn unsafe_needs_an_entry_and_an_entry_unsafe() {
        let files: &[(&str, &str)] = &[
            (
                "a.rs",
                "//! A.\n#![expect(unsafe_code, reason = \"r\")]\n// unsafe\nfn f() { unsafe { g() } }",
            ),
            ("b.rs", "//! B: \"unsafe\"."),
        ];
        let found = lines(&check(&house("", files)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a.rs:4: unsafe: contains `unsafe`"),
            "{found:?}"
        );
        let found = lines(&check(&house("unsafe = [\"a.rs\", \"b.rs\"]", files)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("`b.rs` no longer contains any"),
            "{found:?}"
        );
    }

    #[test]
    fn unsafe_needs_its_reason_in_the_file() {
        let unsafe_code = "//! A.\nfn f() { unsafe { g() } }";
        let found = lines(&check(&house(
            "unsafe = [\"a.rs\"]",
            &[("a.rs", unsafe_code)],
        )));
        assert_eq!(found.len(), 1, "{found:?}");
        let start = "a.rs:2: unsafe: contains `unsafe` without its reason";
        assert!(found[0].starts_with(start), "{found:?}");
        let reason = "//! B.\n#![allow(unsafe_code, reason = \"r\")]\nunsafe fn f() {}";
        let files = [("s/a.rs", unsafe_code), ("s/b.rs", reason)];
        let found = lines(&check(&house("unsafe = [\"s/\"]", &files)));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn library_code_reaches_the_world_through_the_environment() {
        let source = "//! S.\nuse std::fs;\nfn f() { let t = Instant::now(); }\nuse std::sync::{Arc, Mutex};\n\
                      use a::sync::{b::{RwLock}, Mutex};\nuse parking_lot::RwLock;\n\
                      #[cfg(test)]\nmod tests { fn g() { std::thread::sleep(d) } }";
        let files: &[(&str, &str)] = &[
            ("base/Cargo.toml", "[package]\nname = \"base\""),
            ("env/Cargo.toml", "[package]\nname = \"cairndb-env\""),
            ("tool/Cargo.toml", "[package]\nname = \"tool\""),
            ("base/src/lib.rs", source),
            ("env/src/lib.rs", source),
            ("tool/src/main.rs", source),
        ];
        let settings = "[floors]\nbase = 1\ncairndb-env = 2\ntool = 5";
        let found = lines(&check(&house(settings, files)));
        assert_eq!(
            found,
            [
                "base/src/lib.rs:2: seam: files are reached through the `Dir` of the environment",
                "base/src/lib.rs:3: seam: clocks come from `Env::now_ns`",
                "base/src/lib.rs:4: seam: locks come from `cairndb_env::sync`",
                "base/src/lib.rs:6: seam: locks come from `cairndb_env::sync`",
            ]
        );
    }

    #[test]
    fn every_file_has_a_head() {
        let found = lines(&check(&house(
            "",
            &[("a.rs", "fn f() {}"), ("a/tests.rs", "use x;")],
        )));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: head:"), "{found:?}");
    }
}
