//! Runs the examples of `docs/guide/cairn.md`, and those in the help of each command.
//!
//! In each block of the language `console`, a line that begins with `$ ` is run by the shell; what
//! follows it, up to the next such line, is what it must print on stdout and stderr. All blocks run
//! in one directory, in which `old` is a LevelDB database; the examples of each help, in one with
//! the database `fruit` as well.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::process::Command;

use cairndb::env::{Env, RealEnv};
use cairndb_leveldb::{NewDatabase, WriteOptions};

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
            let (line, command) = (index + 1, command.to_owned());
            examples.push(Example {
                line,
                command,
                expected: String::new(),
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

fn write_leveldb(path: &Path) -> cairndb::Result<()> {
    let dir = RealEnv::new().open_dir(path, true)?;
    let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
    for number in 0..1000 {
        new.put(
            format!("block/{number:04}").as_bytes(),
            b"written by LevelDB",
        )?;
    }
    new.finish()?;
    Ok(())
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
    for Example {
        line,
        command,
        expected,
    } in examples
    {
        assert_eq!(
            run(directory, &command),
            expected,
            "{what}, line {line}: {command}"
        );
    }
}

#[test]
fn the_examples_print_what_the_guide_shows() {
    let parent = tempfile::tempdir().unwrap();
    write_leveldb(&parent.path().join("old")).unwrap();
    let examples = examples(include_str!("../../../docs/guide/cairn.md"), false);
    assert!(examples.len() >= 20, "only {} examples", examples.len());
    check(parent.path(), "the guide", examples);
}

/// The commands that `cairn --help` lists, without `help`.
fn commands() -> Vec<String> {
    let help = run(Path::new("."), "cairn -h");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn the_help_of_each_command_ends_with_examples_that_work() {
    let pages = tempfile::tempdir().unwrap();
    assert_eq!(run(pages.path(), "cairn man ."), "");
    let commands = commands();
    assert_eq!(commands.len(), 23, "{commands:?}");
    for command in commands {
        let help = run(pages.path(), &format!("cairn {command} --help"));
        let (_, text) = help.split_once("\nExamples:\n").expect(&command);
        let lines = text.lines().map(|line| line.strip_prefix("  ").unwrap());
        let text = lines.collect::<Vec<&str>>().join("\n");
        let page = std::fs::read_to_string(pages.path().join(format!("cairn-{command}.1")));
        let (_, page) = page.unwrap().split_once(".SH EXAMPLES\n").map(own).unwrap();
        let page = page
            .replace("\\-", "-")
            .replace("\\\\", "\\")
            .replace("\\*(Aq", "'");
        for line in text.lines() {
            assert!(page.contains(line), "no {line}: {page}");
        }
        let parent = tempfile::tempdir().unwrap();
        write_leveldb(&parent.path().join("old")).unwrap();
        let fruit = "put --create apple red\nput banana yellow\nput cherry 'dark\\nred'";
        let made = run(
            parent.path(),
            &format!("cairn shell fruit <<'END'\n{fruit}\nEND\n"),
        );
        assert_eq!(made, "");
        check(parent.path(), &command, examples(&text, true));
    }
}

fn own((before, after): (&str, &str)) -> (String, String) {
    (before.to_owned(), after.to_owned())
}

#[test]
fn help_fits_into_80_columns() {
    let mut texts = vec!["cairn --help".to_owned(), "cairn -h".to_owned()];
    for command in commands() {
        texts.push(format!("cairn {command} --help"));
        texts.push(format!("cairn {command} -h"));
    }
    for command in texts {
        let help = run(Path::new("."), &command);
        assert!(help.contains("Usage:"), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}
