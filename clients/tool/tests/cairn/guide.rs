//! Runs the examples of `docs/guide/cairn.md`, and those in the help of each command.
//!
//! In each block of the language `console`, a line that begins with `$ ` is run by the shell; what
//! follows it, up to the next such line, is what it must print on stdout and stderr. All blocks run
//! in one directory, in which `old` is a LevelDB database; the examples of each help, in one with
//! the database `fruit` as well.

use std::path::Path;
use std::process::Command;

use crate::{assert_has, home, write_leveldb};

/// A command of the guide, and what it prints.
#[derive(Debug, Default)]
struct Example {
    line: usize,
    command: String,
    expected: String,
}

fn examples(text: &str, mut inside: bool) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let continued = examples
            .last_mut()
            .filter(|last| last.command.ends_with('\\'));
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push(Example {
                line: index + 1,
                command: command.to_owned(),
                ..Example::default()
            });
        } else if let Some(last) = continued {
            last.command.extend(["\n", line]);
        } else if inside {
            let example = examples.last_mut().expect("a block begins with a command");
            example.expected.push_str(line);
            example.expected.push('\n');
        }
    }
    examples
}

/// Writes the database `old`.
fn write_old(directory: &Path) {
    let entries = (0..1000).map(|n| (format!("block/{n:04}"), "written by LevelDB"));
    write_leveldb(&directory.join("old"), entries);
}

/// Runs a line in the shell. Returns what it prints.
fn run(directory: &Path, command: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_cairn")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(directory)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs examples in one directory.
fn check(directory: &Path, what: &str, examples: Vec<Example>) {
    for example in examples {
        let Example { line, command, .. } = example;
        let printed = run(directory, &command);
        assert_eq!(printed, example.expected, "{what}, line {line}: {command}");
    }
}

#[test]
fn the_examples_print_what_the_guide_shows() {
    let parent = &*home();
    write_old(parent);
    let examples = examples(include_str!("../../../../docs/guide/cairn.md"), false);
    assert!(examples.len() >= 20, "only {} examples", examples.len());
    check(parent, "the guide", examples);
}

/// The commands that `cairn --help` lists, without `help`.
pub(crate) fn commands() -> Vec<String> {
    let help = run(Path::new("."), "cairn -h");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn the_help_of_each_command_ends_with_examples_that_work() {
    let pages = &*home();
    assert_eq!(run(pages, "cairn man ."), "");
    let commands = commands();
    assert_eq!(commands.len(), 35, "{commands:?}");
    for command in commands {
        let help = run(pages, &format!("cairn {command} --help"));
        let (_, text) = help.split_once("\nExamples:\n").expect(&command);
        let lines = text.lines().map(|line| line.strip_prefix("  ").unwrap());
        let text = lines.collect::<Vec<&str>>().join("\n");
        let page = std::fs::read_to_string(pages.join(format!("cairn-{command}.1"))).unwrap();
        let (_, page) = page.split_once(".SH EXAMPLES\n").unwrap();
        let page = page.replace("\\-", "-").replace("\\\\", "\\");
        let page = page.replace("\\*(Aq", "'");
        assert_has(&page, &text.lines().collect::<Vec<_>>());
        let parent = &*home();
        write_old(parent);
        let fruit = "put --create apple red\nput banana yellow\nput cherry 'dark\\nred'";
        let made = run(
            parent,
            &format!("cairn shell fruit <<'END'\n{fruit}\nEND\n"),
        );
        assert_eq!(made, "");
        check(parent, &command, examples(&text, true));
    }
}

#[test]
fn help_fits_into_80_columns() {
    for command in commands().into_iter().chain([String::new()]) {
        for option in ["--help", "-h"] {
            let help = run(Path::new("."), &format!("cairn {command} {option}"));
            assert_has(&help, &["Usage:"]);
            let mut lines = help.lines();
            assert_eq!(
                lines.find(|line| line.chars().count() > 80),
                None,
                "{command}"
            );
        }
    }
}
