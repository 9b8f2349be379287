//! What code may say where: `unsafe` only in listed files, the outside world only through the
//! environment crate, a head that says what a file is.

use crate::finding::Finding;
use crate::house::House;
use crate::rust::lexer::{Code, Token, lex};
use crate::rust::outline::{Outline, outline};
use crate::settings::{self, Exception};

/// The crate through which the library reaches the world.
const ENVIRONMENT: &str = "cairndb-env";

/// Paths that reach past the environment, and what to use instead.
const WORLD: [(&[&str], &str); 14] = [
    (
        &["std", "fs"],
        "files are reached through the `Dir` of the environment",
    ),
    (
        &["fs", "File"],
        "files are reached through the `Dir` of the environment",
    ),
    (&["std", "net"], "the store reaches no network"),
    (&["thread", "spawn"], "threads are started by `Env::spawn`"),
    (
        &["thread", "Builder"],
        "threads are started by `Env::spawn`",
    ),
    (&["thread", "sleep"], "nothing sleeps; wait on a condition"),
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
    for (path, text) in house.tree.with_suffix(".rs") {
        let code = lex(text);
        if let Some(line) = unsafe_line(&code) {
            unsafe_seen.push((path, line));
        }
        if house.is_test(path) {
            continue;
        }
        if !text.trim_start().starts_with("//!") && !text.trim_start().starts_with("#!/") {
            let message = "begins without `//!`: say in two sentences what the file is and why";
            findings.push(Finding::new(path, 1, "head", message));
        }
        if in_library(house, path) {
            let reached = world(&code, &outline(&code));
            seams_used.extend(
                reached
                    .into_iter()
                    .map(|(line, advice)| (path, line, advice)),
            );
        }
    }
    listed(&unsafe_seen, &house.settings.unsafe_files, &mut findings);
    seams(&seams_used, &house.settings.seams, &mut findings);
    findings
}

/// Whether the file is library code outside the environment crate.
fn in_library(house: &House, path: &str) -> bool {
    house.packages.iter().any(|package| {
        package.name != ENVIRONMENT
            && house.is_library(package)
            && path.starts_with(&format!("{}/src/", package.folder))
    })
}

fn unsafe_line(code: &Code<'_>) -> Option<usize> {
    let token = code.tokens.iter().find(|token| token.is("unsafe"))?;
    Some(token.line)
}

fn world(code: &Code<'_>, outline: &Outline) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, token) in code.tokens.iter().enumerate() {
        if outline.test[at] {
            continue;
        }
        for (path, advice) in WORLD {
            if names(&code.tokens[at..], path) {
                found.push((token.line, advice));
            }
        }
    }
    found
}

/// Whether the tokens begin with this path, its last word alone or in a group: `a::b` and `a::{c, b}`.
fn names(tokens: &[Token<'_>], path: &[&str]) -> bool {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    let Some((last, before)) = path.split_last() else {
        return false;
    };
    let leads = before
        .iter()
        .enumerate()
        .all(|(index, word)| is(2 * index, word) && is(2 * index + 1, "::"));
    let at = 2 * before.len();
    leads && (is(at, last) || is(at, "{") && in_group(&tokens[at..], last))
}

/// Whether a word begins an entry of the group that the tokens begin with.
fn in_group(tokens: &[Token<'_>], word: &str) -> bool {
    let mut depth = 0;
    for pair in tokens.windows(2) {
        depth += i32::from(pair[0].is("{")) - i32::from(pair[0].is("}"));
        if depth == 0 {
            return false;
        }
        if depth == 1 && (pair[0].is("{") || pair[0].is(",")) && pair[1].is(word) {
            return true;
        }
    }
    false
}

fn listed(seen: &[(&str, usize)], exceptions: &[Exception], findings: &mut Vec<Finding>) {
    for (path, line) in seen {
        if !exceptions.iter().any(|entry| entry.covers(path)) {
            let message = format!(
                "holds `unsafe` and is not on the list: find a safe way, or add it to [[unsafe]] \
                 of {} with the reason",
                settings::PATH
            );
            findings.push(Finding::new(*path, *line, "unsafe", message));
        }
    }
    for entry in exceptions {
        if !seen.iter().any(|(path, _)| entry.covers(path)) {
            let message = format!(
                "[[unsafe]] {}: no longer needed, remove the entry",
                entry.path
            );
            findings.push(Finding::new(settings::PATH, 0, "unsafe", message));
        }
    }
}

fn seams(used: &[(&str, usize, &str)], exceptions: &[Exception], findings: &mut Vec<Finding>) {
    for (path, line, advice) in used {
        if !exceptions.iter().any(|entry| entry.covers(path)) {
            findings.push(Finding::new(*path, *line, "seam", *advice));
        }
    }
    for entry in exceptions {
        if !used.iter().any(|(path, ..)| entry.covers(path)) {
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
                "//! A.\n#![deny(unsafe_code)]\n// unsafe\nfn f() { unsafe { g() } }",
            ),
            ("b.rs", "//! B: \"unsafe\"."),
        ];
        let found = lines(&check(&house("", files)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a.rs:4: unsafe: holds `unsafe`"),
            "{found:?}"
        );
        let settings = "[[unsafe]]\npath = \"a.rs\"\nreason = \"r\"\n[[unsafe]]\npath = \"b.rs\"\nreason = \"r\"";
        let found = lines(&check(&house(settings, files)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("[[unsafe]] b.rs: no longer needed"),
            "{found:?}"
        );
    }

    #[test]
    fn library_code_reaches_the_world_through_the_environment() {
        let source = "//! S.\nuse std::fs;\nfn f() { let t = Instant::now(); }\nuse std::sync::{Arc, Mutex};\n\
                      use a::sync::{b::{RwLock}, Mutex};\nuse parking_lot::RwLock;\n\
                      #[cfg(test)]\nmod tests { fn g() { std::thread::sleep(d) } }";
        let files: &[(&str, &str)] = &[
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"base\", \"env\", \"tool\"]",
            ),
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
