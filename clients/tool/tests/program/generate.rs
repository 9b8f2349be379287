//! `completions` and `man`: what `make install` installs beside the program.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Ran, cairn};

fn program(arguments: &[&str]) -> Ran {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cairn"));
    program
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into()
}

/// The commands that `cairn --help` lists.
fn commands() -> Vec<String> {
    let help = program(&["--help"]).done();
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .map(|line| line.split_whitespace().next().expect("a name").to_owned())
        .collect()
}

#[test]
fn every_command_has_a_page_and_is_completed() {
    let parent = tempfile::tempdir().unwrap();
    cairn("man", parent.path(), &[] as &[&str]).done();
    let scripts = ["bash", "zsh", "fish"].map(|shell| program(&["completions", shell]).done());
    let commands = commands();
    assert!(commands.len() >= 18, "{commands:?}");
    for command in commands.iter().filter(|command| *command != "help") {
        let page = parent.path().join(format!("cairn-{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|_| panic!("no {page:?}"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
        assert!(
            scripts.iter().all(|script| script.contains(command)),
            "{command}"
        );
    }
    let page = std::fs::read_to_string(parent.path().join("cairn.1")).unwrap();
    assert!(page.contains("Exit codes"), "{page}");
    for page in std::fs::read_dir(parent.path()).unwrap() {
        let page = std::fs::read_to_string(page.unwrap().path()).unwrap();
        let title = page.lines().find(|line| line.starts_with(".TH"));
        let version = concat!("\"cairn ", env!("CARGO_PKG_VERSION"));
        assert!(
            title.is_some_and(|line| line.contains(version)),
            "{title:?}"
        );
        // `man` indents by 7 of 80 columns, and does not wrap the lines that are kept.
        let kept = page.split("\n.nf\n").skip(1);
        let mut lines = kept.flat_map(|text| text.lines().take_while(|line| *line != ".fi"));
        let printed = |line: &str| line.replace("\\*(Aq", "'").replace("\\-", "-").len();
        assert_eq!(lines.find(|line| printed(line) > 73), None);
    }
    cairn("man", Path::new("/no/such"), &[] as &[&str]).failed(5, &["/no/such"]);
    assert_eq!(program(&["completions", "tcsh"]).code, 2);
}

#[test]
fn bash_completes_commands() {
    let script = program(&["completions", "bash"]).done();
    let asked =
        "COMP_WORDS=(cairn ver); COMP_CWORD=1; _cairn cairn ver cairn; echo \"${COMPREPLY[@]}\"";
    let bash = Command::new("bash")
        .args(["-c", &format!("{script}\n{asked}")])
        .output();
    // The system may have no bash; the build needs none.
    if let Ok(output) = bash {
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "verify\n",
            "{output:?}"
        );
    }
}
