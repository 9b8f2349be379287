//! Ctrl-C: long commands stop with code 130 and say what they leave; others end at once.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{NONE, cairn, command};
use crate::{Ran, home, place, remove, write_leveldb, write_table};

fn press(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Starts a command, and presses Ctrl-C as soon as it has a file of the database open.
fn interrupted(mut program: Command, database: &Path) -> Ran {
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let files = format!("/proc/{}/fd", child.id());
    let is_open = || {
        let open = std::fs::read_dir(&files).into_iter().flatten();
        let mut paths = open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        paths.any(|path| path.starts_with(database) && path != database)
    };
    while !is_open() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    press(&child);
    child.wait_with_output().unwrap().into()
}

fn entries() -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..60_000u32).map(|number| (format!("{number:08}"), vec![b'v'; 100]))
}

#[test]
fn a_long_command_says_what_it_leaves_and_can_be_run_again() {
    let parent = &*home();
    let at = parent.canonicalize().unwrap();
    let (ours, theirs, target) = (at.join("ours"), at.join("theirs"), at.join("target"));
    let to = target.to_str().unwrap();
    write_table(&ours, entries());
    for (name, path, arguments, left) in [
        ("verify", &ours, NONE, "nothing was changed"),
        ("verify", &theirs, NONE, "nothing was changed"),
        ("repair", &ours, &[to], "there is no new database"),
        (
            "export",
            &theirs,
            &[to, "--format=jsonl"],
            "run it again to continue",
        ),
        ("upgrade", &theirs, NONE, "run it again to convert it"),
    ] {
        // On a busy machine, the command may end before the signal arrives.
        let stopped = (0..20).find_map(|_| {
            remove(&theirs);
            write_leveldb(&theirs, entries());
            let ran = interrupted(command(name, path, arguments), path);
            if ran.code == 0 {
                remove(&target);
            }
            (ran.code != 0).then_some(ran)
        });
        let stopped = stopped.expect(name);
        stopped.failed(130, &["cairn: interrupted; ", left]);
        assert!(!target.exists(), "{name}");
        cairn(name, path, arguments).done();
        remove(&target);
        remove(&at.join("target.partial"));
    }
    let count = entries().count();
    assert_eq!(cairn("count", &theirs, NONE).done(), format!("{count}\n"));
}

#[test]
fn an_import_that_waits_for_its_input_continues_with_it() {
    let parent = &*home();
    let path = parent.join("db");
    let lines = ["a,1\n", "b,2\n"];
    let start = |restart: &[&str]| {
        let mut program = command("import", &path, &["--format=csv"]);
        program.args(restart);
        program.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(lines[0].as_bytes()).unwrap();
        (child, stdin)
    };
    let (mut child, stdin) = start(&["--restart"]);
    while !parent.join("db.cairn-import").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    press(&child);
    // Its input is still open.
    let ran = Ran::from(child.wait_with_output().unwrap());
    drop(stdin);
    ran.failed(130, &["cairn: interrupted; run it again without --restart"]);
    let (child, mut stdin) = start(&[]);
    stdin.write_all(lines[1].as_bytes()).unwrap();
    drop(stdin);
    Ran::from(child.wait_with_output().unwrap()).done();
    assert_eq!(cairn("scan", &path, NONE).done(), "a\t1\nb\t2\n");
}

#[test]
fn what_goes_to_stdout_ends_at_once() {
    let path = place("db");
    write_table(&path, entries());
    for name in ["dump", "scan"] {
        let mut program = command(name, &path, NONE);
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.as_mut().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        press(&child);
        let signal = child.wait().unwrap().signal();
        assert_eq!(signal, Some(Signal::INT.as_raw()), "{name}");
    }
}
