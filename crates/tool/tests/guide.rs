//! Runs the examples of `docs/guide/cairn.md`.
//!
//! In each block of the language `console`, a line that begins with `$ ` is run by the shell; what
//! follows it, up to the next such line, is what it must print on stdout and stderr. All blocks run
//! in one directory, in which `old` is a LevelDB database.

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

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let (line, command) = (index + 1, command.to_owned());
            examples.push(Example {
                line,
                command,
                expected: String::new(),
            });
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

#[test]
fn the_examples_print_what_the_guide_shows() {
    let parent = tempfile::tempdir().unwrap();
    write_leveldb(&parent.path().join("old")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_cairn")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let examples = examples(include_str!("../../../docs/guide/cairn.md"));
    assert!(examples.len() >= 20, "only {} examples", examples.len());
    for Example {
        line,
        command,
        expected,
    } in examples
    {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(parent.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, expected, "line {line}: {command}");
    }
}
