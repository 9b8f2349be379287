//! The programs of the guide's page on C: compiled and run by its own commands.

use std::process::Command;

use crate::compiler::{has_compiler, here};
use crate::installed::{has_pkg_config, home, succeed};

/// Returns the blocks of the page in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let blocks = page.split(begin.as_str()).skip(1);
    blocks
        .map(|text| text.split("```").next().expect("a block"))
        .collect()
}

/// The first line of a program names its file: `/* stones.c: ...`. The commands that compile one
/// are run in order, as a user with the library in `$HOME/.local` does.
#[test]
fn the_programs_of_the_guide_run_by_its_commands() {
    if !has_compiler("c") || !has_pkg_config() {
        return;
    }
    let page = std::fs::read_to_string(here("../../docs/guide/c.md")).expect("the page");
    let work = tempfile::tempdir().expect("a directory");
    let programs = blocks(&page, "c");
    for program in &programs {
        let name = program.trim_start_matches("/* ").split(':').next();
        let file = work.path().join(name.expect("a name"));
        std::fs::write(file, program).expect("a file");
    }
    let commands = blocks(&page, "sh").into_iter();
    let builds = |block: &&str| block.lines().any(|line| line.starts_with("cc "));
    let commands: String = commands.filter(builds).collect();
    let mut command = Command::new("bash");
    command.args(["-euc", &commands]).current_dir(work.path());
    let printed = succeed(command.env("HOME", home()));
    assert!(programs.len() > 1);
    assert_eq!(printed, "granite is grey\ngranite is grey\nall is intact\n");
}
