//! A file has at most 500 lines, and a function at most 60.
//!
//! Test code is exempt. An exception states the size that it grants: a larger file or function is
//! not covered, and an exception that is no longer needed must be removed (a ratchet).

use crate::finding::Finding;
use crate::house::House;
use crate::settings::{self, Long};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 60;

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut files = Vec::new();
    let mut functions = Vec::new();
    for (path, source) in &house.sources {
        if house.is_test(path) {
            continue;
        }
        let text = house.tree.text(path).unwrap_or_default();
        files.push((path.as_str(), "", 0, text.lines().count()));
        let product = source.outline.functions.iter().filter(|f| !f.test);
        functions.extend(product.map(|f| (path.as_str(), f.name.as_str(), f.line, f.lines)));
    }
    let (long_files, long_functions) = (&house.settings.long_files, &house.settings.long_functions);
    ratchet(
        &files,
        FILE_LINES_MAX,
        long_files,
        "long-file",
        &mut findings,
    );
    ratchet(
        &functions,
        FUNCTION_LINES_MAX,
        long_functions,
        "long-function",
        &mut findings,
    );
    findings
}

/// Checks measured items (path, name, line, lines) against a limit and its exceptions.
fn ratchet(
    measured: &[(&str, &str, usize, usize)],
    limit: usize,
    exceptions: &[Long],
    key: &'static str,
    findings: &mut Vec<Finding>,
) {
    let covers = |entry: &Long, path: &str, name: &str| entry.path == path && entry.name == name;
    for (path, name, line, lines) in measured {
        let entry = exceptions.iter().find(|entry| covers(entry, path, name));
        let granted = entry.map_or(limit, |entry| entry.lines);
        if *lines > granted.max(limit) {
            let what = if name.is_empty() {
                "the file".to_owned()
            } else {
                format!("`{name}`")
            };
            let message = format!(
                "{what} has {lines} lines, more than {granted}: split it, or state the reason in \
                 [[{key}]] of {}",
                settings::PATH
            );
            findings.push(Finding::new(*path, *line, key, message));
        }
    }
    for entry in exceptions {
        let largest = measured
            .iter()
            .filter(|(path, name, ..)| covers(entry, path, name))
            .map(|(.., lines)| *lines)
            .max();
        if largest.is_none_or(|lines| lines <= limit) {
            let message = format!(
                "[[{key}]] {} {}: no longer needed, remove the entry",
                entry.path, entry.name
            );
            findings.push(Finding::new(settings::PATH, 0, key, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    fn body(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "g();\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions_need_an_entry_that_holds() {
        let long = body(61);
        let file: &[(&str, &str)] = &[("a.rs", &long)];
        let entry = |lines: usize| {
            format!(
                "[[long-function]]\npath = \"a.rs\"\nname = \"f\"\nlines = {lines}\nwhy = \"r\""
            )
        };
        let found = lines(&check(&house("", file)));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a.rs:1: long-function: `f` has 61 lines"),
            "{found:?}"
        );
        assert!(check(&house(&entry(61), file)).is_empty());
        let short = body(60);
        let found = lines(&check(&house(&entry(61), &[("a.rs", &short)])));
        assert!(found[0].contains("no longer needed"), "{found:?}");
    }

    #[test]
    fn long_files_are_reported_and_tests_exempt() {
        let long = "//! x\n".repeat(501);
        let found = lines(&check(&house(
            "",
            &[("a.rs", &long), ("a/tests.rs", &long)],
        )));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a.rs: long-file: the file has 501 lines"),
            "{found:?}"
        );
    }

    #[test]
    fn test_functions_are_exempt() {
        let test = format!("#[cfg(test)]\nmod tests {{\n#[test]\n{}}}", body(90));
        assert!(check(&house("", &[("a.rs", &test)])).is_empty());
    }
}
