//! `completions` and `man`: what `make install` installs with the program.

use std::path::Path;
use std::process::Command;

use super::cairn;
use crate::guide::commands;
use crate::{Ran, assert_has, home};

fn program(arguments: &[&str]) -> Ran {
    let mut program = crate::command(".".as_ref(), arguments);
    program.output().unwrap().into()
}

#[test]
fn every_command_has_a_page_and_is_completed() {
    let parent = &*home();
    cairn("man", parent, &[] as &[&str]).done();
    let scripts = ["bash", "zsh", "fish"].map(|shell| program(&["completions", shell]).done());
    for command in &commands() {
        let page = parent.join(format!("cairn-{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|_| panic!("no {page:?}"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
        for script in &scripts {
            assert_has(script, &[command]);
        }
    }
    let page = std::fs::read_to_string(parent.join("cairn.1")).unwrap();
    assert!(page.contains("Exit codes"), "{page}");
    for page in std::fs::read_dir(parent).unwrap() {
        let page = std::fs::read_to_string(page.unwrap().path()).unwrap();
        let title = page.lines().find(|line| line.starts_with(".TH"));
        let version = concat!("\"cairn ", env!("CARGO_PKG_VERSION"));
        assert_has(title.unwrap(), &[version]);
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
    let mut bash = Command::new("bash");
    let bash = bash.args(["-c", &format!("{script}\n{asked}")]).output();
    // The system may have no bash; the build needs none.
    if let Ok(output) = bash {
        assert_eq!(output.stdout, b"verify verify-backup\n", "{output:?}");
    }
}
