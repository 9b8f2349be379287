//! What is printed, and where it cannot be: controls, and outputs that are full or closed.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::{NONE, cairn, cairn_with, command, numbers};
use crate::{Ran, assert_has, home, left, place, write_leveldb, write_table};

/// Characters that control a terminal, turn the direction of text, or end a line for some readers.
const UNSAFE: &str = "\u{7f}\u{80}\u{85}\u{90}\u{9b}\u{9d}\u{9f}\u{61c}\u{200e}\u{200f}\u{2028}\
    \u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{feff}";

/// Fails if something printed could do more to a terminal than show text.
#[track_caller]
fn assert_harmless(printed: &str) {
    let harmless = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || UNSAFE.contains(c));
    let found = printed.chars().find(|c| !harmless(*c));
    assert_eq!(found, None, "{printed:?}");
}

#[test]
fn json_escapes_what_controls_a_terminal() {
    let path = place("db");
    let text = format!("é石{UNSAFE}€’\u{d8}ؠ");
    write_table(&path, [(text.as_bytes(), text.clone().into_bytes())]);
    for (command, arguments) in [
        ("scan", &["--json"][..]),
        ("get", &["--json", &text]),
        ("tables", &["--json", "--entries"]),
        ("log", &["--json", "--entries"]),
        ("manifest", &["--json"]),
        ("export", &["--format=jsonl"]),
        ("scan", &[]),
        ("tables", &["--entries"]),
        ("manifest", &[]),
    ] {
        let printed = cairn(command, &path, arguments).done();
        assert_harmless(&printed);
        if arguments.contains(&"--json") {
            let values = printed.lines().map(serde_json::from_str::<Value>);
            values.for_each(|value| drop(value.expect(&printed)));
        }
    }
    let printed = cairn("scan", &path, &["--json"]).done();
    let entry: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(entry, serde_json::json!({"key": text, "value": text}));
    assert_has(&printed, &["é石\\u007f\\u0080\\u0085", "\\ufeff€’Øؠ"]);
}

#[test]
fn names_and_messages_control_no_terminal() {
    let parent = &*home();
    let name = format!("db\u{1b}]0;title\u{7}{UNSAFE}");
    let path = parent.join(&name);
    let [target, file] = ["copy", "f"].map(|name| parent.join(format!("{name}{UNSAFE}")));
    write_table(&path, [("key", "value")]);
    let ran = |command: &str, arguments: &[&Path]| {
        let ran = cairn(command, &path, arguments);
        assert_harmless(&ran.stderr);
        assert_harmless(&String::from_utf8(ran.stdout).unwrap());
        ran.code
    };
    assert_eq!(ran("get", &[name.as_ref()]), 1);
    assert_eq!(ran("dump", &[&file]), 0);
    assert_eq!(ran("load", &[&file]), 5);
    assert_eq!(ran("load", &[&target]), 5);
    assert_eq!(ran("tables", &[name.as_ref()]), 2);
    assert_eq!(ran("repair", &["--json".as_ref(), "--dry-run".as_ref()]), 0);
    assert_eq!(ran("upgrade", &[]), 0);
    assert_eq!(ran(&format!("no{UNSAFE}"), &[]), 2);
    assert_eq!(ran("scan", &[format!("--{UNSAFE}").as_ref()]), 2);
    let missing = cairn("tables", &path, &["999999.tbl"]);
    missing.failed(5, &["no file 999999.tbl", "prints those in use"]);
    let script = format!("help\nget {name}\n");
    let shell = cairn_with("shell", &path, &[], script.as_bytes());
    assert_harmless(&shell.stderr);
    assert_harmless(&String::from_utf8(shell.stdout).unwrap());
    let theirs = parent.join(format!("theirs{UNSAFE}"));
    write_leveldb(&theirs, [("key", "value")]);
    let refused = cairn("put", &theirs, &["key", "value"]);
    assert_eq!(refused.code, 5);
    assert_harmless(&refused.stderr);
}

/// Every command, with arguments, and the code with which it ends: on the database `db`.
const ENDS: [(&str, &[&str], i32); 12] = [
    ("get", &["nokey"], 1),
    ("get", &["--no-such-option", "key"], 2),
    ("look", &[], 2),
    ("put", &["key", "\\q"], 2),
    ("delete", &[], 2),
    ("scan", &["--limit", "x"], 2),
    ("tables", &["none"], 2),
    ("fork", &["."], 5),
    ("load", &["/nowhere"], 5),
    ("import", &["/nowhere", "--format=csv"], 5),
    ("destroy", &[], 2),
    ("verify", &["--comparator=other"], 2),
];

fn full() -> Stdio {
    let mut options = File::options();
    options.write(true).open("/dev/full").unwrap().into()
}

/// A pipe that nobody reads.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[cfg(target_os = "linux")]
#[test]
fn a_failure_keeps_its_code_without_stderr() {
    let parent = &*home();
    let path = parent.join("db");
    write_table(&path, [("key", "value")]);
    for (name, arguments, code) in ENDS {
        for stderr in [full, unread] {
            let mut program = command(name, &path, arguments);
            let ran = Ran::from(program.stderr(stderr()).output().unwrap());
            assert_eq!(ran.code, code, "{name} {arguments:?}");
        }
        let mut closed = std::process::Command::new("sh");
        let program = env!("CARGO_BIN_EXE_cairn");
        closed.args(["-c", "exec \"$@\" 2>&- >&-", "sh", program, name]);
        let ran = Ran::from(closed.arg(&*path).args(arguments).output().unwrap());
        assert_eq!(ran.code, code, "{name} {arguments:?}");
    }
    // A note is no failure.
    let db = cairndb::Db::open(&path).unwrap();
    for stderr in [full, unread] {
        let mut program = command("tables", &path, NONE);
        let ran = Ran::from(program.stderr(stderr()).output().unwrap());
        assert!(ran.code == 0 && !ran.stdout.is_empty(), "{ran:?}");
    }
    db.close().unwrap();
    let mut shell = command("shell", &path, &["--keep-going"]);
    let script = parent.join("script");
    std::fs::write(&script, "get none\nlook\n").unwrap();
    shell.stdin(File::open(script).unwrap()).stderr(full());
    assert_eq!(shell.status().unwrap().code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_5_and_a_closed_one_ends_quietly() {
    let parent = &*home();
    let paths = ["one", "many", "theirs"].map(|name| parent.join(name));
    write_table(&paths[0], [("key", "a value of some bytes")]);
    // More than a buffer, so that the output fails on the way.
    write_table(&paths[1], numbers(50_000));
    write_leveldb(&paths[2], numbers(50_000));
    for path in &paths[..2] {
        // Keeps some of the log.
        cairn("changes", path, &["--lease=log"]).done();
        cairn("put", path, &["key", "a value of some bytes"]).done();
    }
    let commands: [(&str, &[&str], usize); 20] = [
        ("get", &["key"], 1),
        ("get", &["key", "--raw"], 1),
        ("scan", &[], 3),
        ("count", &[], 1),
        ("stats", &[], 2),
        ("stats", &["--json"], 1),
        ("tables", &[], 1),
        ("tables", &["--entries"], 3),
        ("log", &[], 2),
        ("manifest", &[], 2),
        ("verify", &[], 1),
        ("dump", &[], 3),
        ("export", &["--format=csv"], 3),
        ("export", &["--format=jsonl"], 3),
        ("export", &["--format=mdb_dump"], 3),
        ("export", &["--format=db_dump"], 3),
        ("repair", &["--dry-run"], 2),
        ("upgrade", &[], 1),
        ("get", &["--help"], 1),
        ("--version", &[], 1),
    ];
    for (name, arguments, count) in commands {
        for path in &paths[..count] {
            let ran = |stdout: Stdio| {
                let mut program = match name {
                    "--version" => command(name, "".as_ref(), arguments),
                    _ => command(name, path, arguments),
                };
                program.stderr(Stdio::piped()).stdout(stdout);
                Ran::from(program.spawn().unwrap().wait_with_output().unwrap())
            };
            let parts = ["the output cannot be written", "incomplete"];
            ran(full()).failed(5, &parts);
            ran(unread()).done();
            if count == 3 {
                left(command(name, path, arguments)).done();
            }
        }
    }
}
