//! The commits whose subjects are checked: those after the commit named in the settings.
//!
//! Only `xtask/subject.sh` defines what a subject must look like, because the commit-msg hook runs
//! it without building anything.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Path of the script, relative to the root.
const SCRIPT: &str = "xtask/subject.sh";

/// A commit whose message was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Abbreviated hash.
    pub(crate) hash: String,
    pub(crate) subject: String,
    /// What is wrong with the message; empty if nothing is.
    pub(crate) complaint: String,
}

/// The commits after the named one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum History {
    Known(Vec<Commit>),
    /// The reason why they cannot be read: no repository, no `git`, or a clone without that commit.
    Unknown(String),
}

/// Reads and checks the subjects of all commits after `commit`, merges excepted, and the bodies of
/// those after `bodies_after`.
///
/// # Errors
///
/// If the script is missing or fails.
pub(crate) fn after(root: &Path, commit: &str, bodies_after: &str) -> Result<History, String> {
    if commit.is_empty() {
        return Ok(History::Unknown("no commit is named".to_owned()));
    }
    let named = format!("{commit}^{{commit}}");
    if let Err(error) = git(root, &["rev-parse", "--quiet", "--verify", &named]) {
        return Ok(History::Unknown(format!("no commit {commit} here {error}")));
    }
    let range = format!("{commit}..HEAD");
    let listed = match git(root, &["log", "--no-merges", "--format=%h %s", &range]) {
        Ok(listed) => listed,
        Err(error) => return Ok(History::Unknown(format!("git log fails {error}"))),
    };
    let commits: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let subjects: Vec<&str> = commits.iter().map(|(_, subject)| *subject).collect();
    let complaints = complaints(root, &subjects)?;
    let commits = commits.into_iter().zip(complaints);
    let mut commits: Vec<Commit> = commits
        .map(|((hash, subject), complaint)| Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
            complaint,
        })
        .collect();
    for hash in without_body(root, bodies_after) {
        let long = commits.iter_mut().find(|commit| commit.hash == hash);
        if let Some(commit) = long.filter(|commit| commit.complaint.is_empty()) {
            commit.complaint = format!(
                "changes {BODY_LINES_MIN} lines or more and has no body: give the reason in one"
            );
        }
    }
    Ok(History::Known(commits))
}

/// Number of changed lines from which a commit needs a body. `subject.sh` has it too.
const BODY_LINES_MIN: usize = 50;

/// Returns the long commits after `commit` whose message is its subject alone.
fn without_body(root: &Path, commit: &str) -> Vec<String> {
    let range = format!("{commit}..HEAD");
    let format = "--format=%x00%h%x01%b%x01";
    let listed = git(root, &["log", "--no-merges", "--shortstat", format, &range]);
    let listed = listed.unwrap_or_default();
    let long = listed.split('\0').filter_map(|entry| {
        let (hash, rest) = entry.split_once('\u{1}')?;
        let (body, stat) = rest.split_once('\u{1}')?;
        // ` 3 files changed, 40 insertions(+), 12 deletions(-)`
        let changed: usize = stat
            .split(',')
            .skip(1)
            .filter_map(|part| part.trim().split(' ').next()?.parse::<usize>().ok())
            .sum();
        (body.trim().is_empty() && changed >= BODY_LINES_MIN).then(|| hash.to_owned())
    });
    long.collect()
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| format!("(git: {e})"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().next().unwrap_or("git finds none");
        return Err(format!("({line})"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the script's complaint about each subject.
fn complaints(root: &Path, subjects: &[&str]) -> Result<Vec<String>, String> {
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |e: std::io::Error| format!("{SCRIPT}: {e}");
    let mut script = Command::new(root.join(SCRIPT))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let text = subjects.join("\n") + "\n";
    // Written from a separate thread, because the script answers before it has read everything.
    let input = script.stdin.take();
    let writer = std::thread::spawn(move || match input {
        Some(mut input) => input.write_all(text.as_bytes()),
        None => Ok(()),
    });
    let output = script.wait_with_output().map_err(failed)?;
    let written = writer.join().unwrap_or(Ok(()));
    written.map_err(failed)?;
    let answers = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<String> = answers.lines().map(str::to_owned).collect();
    if !output.status.success() || answers.len() != subjects.len() {
        return Err(format!("{SCRIPT}: fails on {} subjects", subjects.len()));
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house_root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    fn run(root: &Path, arguments: &[&str]) -> String {
        git(root, arguments).unwrap()
    }

    /// Creates a repository with a commit for each subject; returns the hash of the first.
    fn repository(root: &Path, subjects: &[&str]) -> String {
        std::fs::create_dir(root.join("xtask")).unwrap();
        std::fs::copy(house_root().join(SCRIPT), root.join(SCRIPT)).unwrap();
        run(root, &["init", "--quiet"]);
        for subject in subjects {
            let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let commit = [
                "commit",
                "--quiet",
                "--allow-empty",
                "--no-verify",
                "-m",
                subject,
            ];
            run(root, &[&who[..], &commit[..]].concat());
        }
        let first = run(root, &["rev-list", "--max-parents=0", "HEAD"]);
        first.trim().to_owned()
    }

    #[test]
    fn subjects_after_the_named_commit_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let first = repository(folder.path(), &["Start", "Bad one", "engine: add a lock"]);
        let History::Known(commits) = after(folder.path(), &first, "").unwrap() else {
            panic!("the history is known");
        };
        let found: Vec<_> = commits
            .iter()
            .map(|commit| (commit.subject.as_str(), commit.complaint.is_empty()))
            .collect();
        assert_eq!(found, [("engine: add a lock", true), ("Bad one", false)]);
    }

    #[test]
    fn a_long_commit_needs_a_body() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let first = repository(root, &["Start"]);
        for (at, (lines, body)) in [(49, ""), (50, ""), (50, "Why.")].into_iter().enumerate() {
            let name = at.to_string();
            std::fs::write(root.join(&name), "a\n".repeat(lines)).unwrap();
            run(root, &["add", &name]);
            let message = format!("engine: add {at}\n\n{body}");
            let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let commit = ["commit", "--quiet", "--no-verify", "-m", &message];
            run(root, &[&who[..], &commit[..]].concat());
        }
        let History::Known(commits) = after(root, &first, &first).unwrap() else {
            panic!("the history is known");
        };
        let bad = commits.iter().filter(|commit| !commit.complaint.is_empty());
        let bad: Vec<&str> = bad.map(|commit| commit.subject.as_str()).collect();
        assert_eq!(bad, ["engine: add 1"]);
    }

    #[test]
    fn a_missing_history_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let unknown = "0123456789012345678901234567890123456789";
        for root in [folder.path(), house_root()] {
            let found = after(root, unknown, unknown).unwrap();
            assert!(matches!(found, History::Unknown(_)), "{found:?}");
        }
    }

    #[test]
    fn the_script_knows_good_subjects_from_bad() {
        let long = format!("engine: add {}", "a".repeat(49));
        let subjects = [
            ("engine: keep a memtable that crosses short segments", ""),
            ("db_bench: address the report", ""),
            ("Engine: keep it", "no area"),
            ("keep it", "no area"),
            ("engine: Keep it", "lower case"),
            ("engine: keeps it", "imperative"),
            ("engine: added a lock", "imperative"),
            ("engine: adding a lock", "imperative"),
            ("engine: add a lock.", "full stop"),
            (&long, "61 characters"),
        ];
        let lines: Vec<&str> = subjects.iter().map(|(subject, _)| *subject).collect();
        let found = complaints(house_root(), &lines).unwrap();
        for ((subject, part), complaint) in subjects.iter().zip(found) {
            let fits = complaint.contains(part) && complaint.is_empty() == part.is_empty();
            assert!(fits, "{subject}: {complaint}");
        }
    }

    #[test]
    fn the_hook_reads_the_first_line_of_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let message = folder.path().join("message");
        let passes = |text: &str| {
            std::fs::write(&message, text).unwrap();
            let mut script = Command::new(house_root().join(SCRIPT));
            let output = script.arg(&message).output().unwrap();
            output.status.success()
        };
        assert!(passes(
            "# note\n\nengine: add a lock\n\nBecause it is needed.\n"
        ));
        assert!(passes("fixup! engine: add a lock\n"));
        assert!(passes("Merge branch 'x'\n"));
        assert!(!passes("Add a lock\n"));
        assert!(!passes(""));
    }
}
