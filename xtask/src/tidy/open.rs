//! No open task without an issue number, and no machine-specific path.
//!
//! A commit's subject is `area: imperative summary`, with at most 60 characters; a commit that
//! changes 50 lines or more has a body. `xtask/subject.sh` checks the commits after the one named
//! in the settings, because older ones can no longer be changed; `make hooks` installs it as a hook
//! that checks a message before the commit is made.

use crate::findings::Findings;
use crate::house::House;

/// Marks that are not allowed; the first one is, with an issue number.
const MARKS: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
    concat!("HA", "CK"),
];
/// Folders at the root of a file system that exist on only one machine.
const MACHINE: [&str; 5] = ["work", "root", "farm", "home", "Users"];
/// Files that we did not write.
const FOREIGN: [&str; 3] = ["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"];

pub(super) fn check(house: &House, findings: &mut Findings) {
    for (path, text) in house.tree.files() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !FOREIGN.contains(&name) && !path.starts_with("testdata/") {
            marks(path, text, findings);
        }
    }
    let changelog = house.tree.text("CHANGELOG.md").unwrap_or_default();
    if !changelog.contains("## Unreleased") {
        let message = "needs a section `## Unreleased` that lists the changes for users";
        findings.add("CHANGELOG.md", 0, "changelog", message);
    }
    for line in house.commits.iter().flat_map(|refused| refused.lines()) {
        if let Some((hash, refused)) = line.split_once(' ') {
            let message = format!("{refused}; reword the commit before it is pushed");
            findings.add(&format!("commit {hash}"), 0, "subject", message);
        }
    }
}

fn marks(path: &str, text: &str, findings: &mut Findings) {
    let machine = MACHINE.map(|folder| format!("/{folder}/"));
    for (index, line) in text.lines().enumerate() {
        let numbered = line.contains(&format!("{}(#", MARKS[0]));
        for mark in MARKS.iter().skip(usize::from(numbered)) {
            if has_word(line, mark) {
                let advice = "fix it, or open an issue and name it";
                let message = format!("{mark}: {advice}, as in {}(#12)", MARKS[0]);
                findings.add(path, index + 1, "open", message);
            }
        }
        for place in machine.iter().filter(|place| line.contains(*place)) {
            let message = format!("`{place}` is a machine-specific path: make it relative");
            findings.add(path, index + 1, "machine", message);
        }
    }
}

/// Returns whether `line` contains `word` with no letter, digit or `_` next to it.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::{MACHINE, MARKS, check};
    use crate::findings::{Findings, expect};
    use crate::house::{SCRIPT, house, refused_commits};

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn marks_and_paths_of_a_machine_are_reported() {
        let (mark, place) = (MARKS[0], MACHINE[3]);
        let never = MARKS[1];
        let text =
            format!("# {mark}(#7): later\n# {mark}S\n# {mark}: later\n{never}\ncd /{place}/x");
        let parts = ["a.sh:3: open:", "a.sh:4: open:", "a.sh:5: machine:"];
        let files = [("a.sh", text.as_str()), ("CHANGELOG.md", "## Unreleased")];
        expect(check, "", &files, &parts);
        expect(
            check,
            "",
            &[("CHANGELOG.md", "# Changes")],
            &["CHANGELOG.md: changelog:"],
        );
    }

    #[test]
    fn a_refused_commit_is_reported() {
        let mut house = house("", &[("CHANGELOG.md", "## Unreleased")]);
        house.commits = Ok("12ab `Add it` starts with no area".to_owned());
        let mut findings = Findings::default();
        check(&house, &mut findings);
        let line = "commit 12ab: subject: `Add it` starts with no area; reword the commit before it \
                    is pushed";
        assert_eq!(findings.lines(), [line]);
    }

    #[test]
    fn hook_and_history_refuse_the_same_messages() {
        let long = format!("engine: add {}", "a".repeat(49));
        let commits = [
            (
                0,
                "engine: keep a memtable that crosses short segments",
                "",
                "",
            ),
            (0, "db_bench: address the report", "", ""),
            (0, "Engine: keep it", "", "no area"),
            (0, "keep it", "", "no area"),
            (0, "engine: Keep it", "", "lower case"),
            (0, "engine: keeps it", "", "imperative"),
            (0, "engine: added a lock", "", "imperative"),
            (0, "engine: adding a lock", "", "imperative"),
            (0, "engine: add a lock.", "", "full stop"),
            (0, &long, "", "61 characters"),
            (49, "engine: add less", "", ""),
            (50, "engine: add more", "", "has no body"),
            (50, "engine: give a reason", "Why.", ""),
        ];
        let disk = tempfile::tempdir().unwrap();
        let folder = disk.path();
        let script = root().join(SCRIPT);
        std::fs::create_dir(folder.join("xtask")).unwrap();
        std::fs::copy(&script, folder.join(SCRIPT)).unwrap();
        let run = |program: &Path, arguments: &[&str]| {
            let mut command = Command::new(program);
            let output = command.args(arguments).current_dir(folder).output();
            output.unwrap().status.success()
        };
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
            assert!(run(Path::new("git"), &[&who[..], arguments].concat()));
        };
        let hook = |message: &str| {
            std::fs::write(folder.join("message"), message).unwrap();
            run(&script, &["message"])
        };
        let commit = ["commit", "--quiet", "--allow-empty", "--no-verify", "-m"];
        git(&["init", "--quiet"]);
        git(&[&commit[..], &["Start"]].concat());
        git(&["tag", "start"]);
        let mut expected = Vec::new();
        for (at, (lines, subject, body, part)) in commits.into_iter().enumerate() {
            let name = at.to_string();
            std::fs::write(folder.join(&name), "a\n".repeat(lines)).unwrap();
            git(&["add", &name]);
            let passes = hook(&format!("# note\n\n{subject}\n\n{body}\n"));
            assert_eq!(passes, part.is_empty(), "{subject}");
            git(&[&commit[..], &[subject, "-m", body]].concat());
            expected.splice(0..0, (!part.is_empty()).then_some((subject, part)));
        }
        let refused = refused_commits(folder, "start").unwrap().unwrap();
        assert_eq!(refused.lines().count(), expected.len(), "{refused}");
        for (line, (subject, part)) in refused.lines().zip(expected) {
            assert!(line.contains(subject) && line.contains(part), "{line}");
        }
        assert!(hook("fixup! Add\n") && hook("Merge branch 'x'\n") && !hook(""));
    }

    #[test]
    fn a_missing_history_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("xtask")).unwrap();
        std::fs::copy(root().join(SCRIPT), folder.path().join(SCRIPT)).unwrap();
        let unknown = "0123456789012345678901234567890123456789";
        for root in [root(), folder.path()] {
            assert!(refused_commits(root, unknown).unwrap().is_err());
        }
    }
}
