//! The output of a suite on a terminal and in a pipe.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use bench_core::host::test_text::has;

use crate::common::{command, good, skip, stderr, stdout};
use crate::suites::own;

/// Sections named like those of the page of 2011, and enough others to fill a screen.
fn suite() -> String {
    let mut text = "num = 50\nrounds = 2\n".to_owned();
    for (name, workloads) in [
        (
            "1C",
            "\"fillseq\", \"1A: readseq\", \"1B: readrandom\", \"compact\", \"1A: readseq\"",
        ),
        ("1D", "\"fillrandom\""),
    ] {
        let _ = write!(
            text,
            "[[section]]\nname = \"{name}\"\nworkloads = [{workloads}]\n"
        );
    }
    for name in ["1A", "1B"] {
        let _ = write!(text, "[[section]]\nname = \"{name}\"\n");
    }
    for n in 0..70 {
        let _ = write!(
            text,
            "[[section]]\nname = \"s{n}\"\nworkloads = [\"fillseq\"]\n"
        );
    }
    text
}

fn fits(text: &str) {
    assert!(text.lines().count() <= 60, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn a_pipe_gets_a_line_a_section_and_round_and_a_summary() {
    let home = tempfile::tempdir().expect("a directory");
    let output = own(home.path(), &suite(), &["--engine=cairndb,null"]);
    let (text, progress) = (stdout(&output), stderr(&output));
    good(&output);
    assert!(
        !text.contains('\r') && !progress.contains('\r'),
        "{progress}"
    );
    fits(&text);
    for row in [
        "1A readseq ",
        "1A readseq, after compact ",
        "1B readrandom ",
        "1D fillrandom ",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(row)),
            "{row}\n{text}"
        );
    }
    for pass in ["round 1 of 2: ", "round 2 of 2: ", "timing pass: "] {
        let lines = progress.lines().filter(|line| line.starts_with(pass));
        assert_eq!(lines.count(), 72, "{pass}\n{progress}");
    }
    assert!(progress.lines().count() < 3 * 72 + 10, "{progress}");
}

#[test]
fn verbose_prints_every_row() {
    let home = tempfile::tempdir().expect("a directory");
    let output = own(home.path(), &suite(), &["--engine=cairndb,null --verbose"]);
    let progress = stderr(&output);
    let rows = progress
        .lines()
        .filter(|line| line.starts_with("round 1 s0 "));
    assert_eq!(rows.count(), 2, "{progress}");
    has(&stdout(&output), "## Every row");
}

/// Runs a command under `script`, which gives it a terminal; `None` without that program.
fn on_a_terminal(line: &str) -> Option<String> {
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", line, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    Some(text)
}

/// Returns the command line of a suite, for a shell.
fn line(home: &Path, words: &[&str]) -> String {
    let file = home.join("own.toml");
    std::fs::write(&file, suite()).expect("written");
    let suite = format!("--suite={}", file.display());
    let command = command(&home.join("db"), &[&[suite.as_str()], words].concat());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    format!("COLUMNS=120 {}", words.join(" "))
}

#[test]
fn a_terminal_gets_one_line_that_is_rewritten_and_a_summary() {
    let home = tempfile::tempdir().expect("a directory");
    let report = home.path().join("report");
    let report = format!("--report={}", report.display());
    let words = ["--engine=cairndb,null", report.as_str()];
    let Some(text) = on_a_terminal(&line(home.path(), &words)) else {
        return skip("progress on a terminal: install script (package bsdutils)");
    };
    // A terminal ends lines with \r\n; any other \r rewrites a line.
    let text = text.replace("\r\n", "\n");
    let rewritten = text.matches('\r').count();
    assert!(rewritten > 100, "{rewritten} in\n{text}");
    for part in [
        "\rround 1 of 2  section 1C  cairndb  fillseq  ",
        "\rtiming pass  section s69  ",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    let (progress, summary) = text.rsplit_once('\r').expect("a progress line");
    assert!(progress.lines().count() < 10, "{progress}");
    fits(summary);
    has(summary, "\n1D fillrandom ");
    has(summary, "\nreport: ");
}
