//! No open task without an issue number, and no machine-specific path.

use crate::finding::Finding;
use crate::house::House;

/// Marks that are allowed only with an issue number.
const WITH_ISSUE: [&str; 1] = [concat!("TO", "DO")];
/// Marks that are never allowed.
const NEVER: [&str; 3] = [
    concat!("FIX", "ME"),
    concat!("X", "XX"),
    concat!("HA", "CK"),
];
/// Prefixes of paths that exist on only one machine.
const MACHINE: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/fa", "rm/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];
/// Files that we did not write.
const FOREIGN: [&str; 3] = ["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in house.tree.files() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if FOREIGN.contains(&name) || path.starts_with("testdata/") {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let mut report = |rule, message: String| {
                findings.push(Finding::new(path, index + 1, rule, message));
            };
            for mark in NEVER.iter().filter(|mark| has_word(line, mark)) {
                report(
                    "open",
                    format!("{mark} cannot be merged: fix it or open an issue"),
                );
            }
            for mark in WITH_ISSUE {
                if has_word(line, mark) && !line.contains(&format!("{mark}(#")) {
                    report(
                        "open",
                        format!("{mark} needs an issue number: write {mark}(#12)"),
                    );
                }
            }
            for place in MACHINE.iter().filter(|place| line.contains(*place)) {
                report(
                    "machine",
                    format!("`{place}` is a machine-specific path: make it relative"),
                );
            }
        }
    }
    if !house
        .tree
        .text("CHANGELOG.md")
        .is_some_and(|text| text.contains("## Unreleased"))
    {
        let message = "needs a section `## Unreleased` that lists the changes for users";
        findings.push(Finding::new("CHANGELOG.md", 0, "changelog", message));
    }
    findings
}

/// Returns whether `line` contains `word` with no letter, digit or `_` next to it.
fn has_word(line: &str, word: &str) -> bool {
    let beside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !beside(before) && !beside(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    fn found(text: &str) -> Vec<String> {
        let files = [("a.sh", text), ("CHANGELOG.md", "## Unreleased")];
        lines(&check(&house("", &files)))
    }

    #[test]
    fn open_marks_need_an_issue() {
        let mark = WITH_ISSUE[0];
        assert_eq!(
            found(&format!("# {mark}(#7): later\n# {mark}S")),
            Vec::<String>::new()
        );
        let reported = found(&format!("x\n# {mark}: later"));
        assert!(reported[0].starts_with("a.sh:2: open:"), "{reported:?}");
        assert_eq!(found(NEVER[0]).len(), 1);
    }

    #[test]
    fn paths_of_a_machine_are_reported() {
        let reported = found(&format!("cd {}me/x", MACHINE[3]));
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert!(reported[0].starts_with("a.sh:1: machine:"), "{reported:?}");
    }

    #[test]
    fn the_changelog_is_kept() {
        let reported = lines(&check(&house("", &[("CHANGELOG.md", "# Changes")])));
        assert!(
            reported[0].starts_with("CHANGELOG.md: changelog:"),
            "{reported:?}"
        );
    }
}
