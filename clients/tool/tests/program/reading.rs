//! Ranges, over the databases of both stores.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use crate::{cairn, cairn_with, command, files, write_cairn, write_leveldb};

fn fruit() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    ["apple", "apricot", "b", "ba", "cherry"]
        .into_iter()
        .map(|key| (key, key.len().to_string().into()))
}

/// Runs `check` on the same entries in a CairnDB and in a LevelDB directory, and checks that
/// neither has changed.
fn on_both(check: impl Fn(&Path)) {
    let parent = tempfile::tempdir().unwrap();
    let (ours, theirs) = (parent.path().join("cairn"), parent.path().join("leveldb"));
    write_cairn(&ours, fruit());
    write_leveldb(&theirs, fruit());
    for path in [ours, theirs] {
        let before = files(&path);
        check(&path);
        assert_eq!(files(&path), before, "{} has changed", path.display());
    }
}

#[test]
fn ranges_have_an_inclusive_start_and_an_exclusive_end() {
    on_both(|path| {
        let keys = |arguments: &str| {
            let arguments: Vec<&str> = arguments
                .split_whitespace()
                .chain(["--keys-only"])
                .collect();
            cairn("scan", path, &arguments).done().replace('\n', " ")
        };
        assert_eq!(keys(""), "apple apricot b ba cherry ");
        assert_eq!(keys("--from apricot --to ba"), "apricot b ");
        assert_eq!(keys("--from aq --to bb --reverse"), "ba b ");
        assert_eq!(keys("--from apricot --to ba --reverse"), "b apricot ");
        assert_eq!(keys("--reverse --limit 2"), "cherry ba ");
        assert_eq!(keys("--to z --reverse --limit 1"), "cherry ");
        assert_eq!(keys("--prefix ap"), "apple apricot ");
        assert_eq!(keys("--prefix b --reverse"), "ba b ");
        assert_eq!(keys("--prefix \\xff --reverse"), "");
        assert_eq!(keys("--from z"), "");
        assert_eq!(keys("--from c --to a"), "");
        assert_eq!(keys("--from c --to a --reverse"), "");
        assert_eq!(keys("--limit 0"), "");
        assert_eq!(cairn("count", path, &["--prefix", "ap"]).done(), "2\n");
        assert_eq!(cairn("count", path, &["--from", "b"]).done(), "3\n");
    });
}

#[test]
fn get_finds_a_key_or_fails_with_1() {
    on_both(|path| {
        assert_eq!(cairn("get", path, &["cherry"]).done(), "6\n");
        assert_eq!(cairn("scan", path, &["--limit", "1"]).done(), "apple\t5\n");
        let name = path.to_str().unwrap();
        cairn("get", path, &["kiwi\\n"]).failed(1, &["\"kiwi\\n\" is not in", name]);
    });
}

#[test]
fn a_prefix_is_refused_under_another_order() {
    use cairndb::env::{Env, RealEnv};
    use cairndb_leveldb::{NewDatabase, Orders, WriteOptions};
    let parent = tempfile::tempdir().unwrap();
    let dir = RealEnv::new().open_dir(parent.path(), true).unwrap();
    let name = "rev:leveldb.BytewiseComparator";
    let order = Orders::default().find(name).unwrap();
    let options = WriteOptions {
        order,
        ..WriteOptions::default()
    };
    let mut new = NewDatabase::create(&dir, options).unwrap();
    for key in ["c", "b", "a"] {
        new.put(key.as_bytes(), b"").unwrap();
    }
    new.finish().unwrap();
    let keys = |arguments: &[&str]| {
        cairn("scan", parent.path(), arguments)
            .done()
            .replace("\t\n", " ")
    };
    assert_eq!(keys(&[]), "c b a ");
    assert_eq!(keys(&["--reverse"]), "a b c ");
    assert_eq!(keys(&["--from", "b"]), "b a ");
    cairn("scan", parent.path(), &["--prefix", "b"]).failed(2, &["--prefix", name]);
}

#[test]
fn a_closed_pipe_ends_a_scan_quietly() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("long");
    write_cairn(
        &path,
        (0..20_000u32).map(|n| (n.to_le_bytes(), vec![b'v'; 100])),
    );
    let mut program = command("scan", &path, &[] as &[&str]);
    let mut child = program
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut [0; 10]).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_output_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let full = full.expect("Linux has the device");
    on_both(|path| {
        let mut program = command("scan", path, &[] as &[&str]);
        let output = program.stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(5));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("incomplete"), "{message}");
    });
}

#[test]
fn keys_or_values_are_printed_alone() {
    on_both(|path| {
        let scan = |arguments: &[&str]| cairn("scan", path, arguments).done();
        let whole = scan(&[]);
        let column = |at: usize| {
            let fields = whole.lines().filter_map(|line| line.split('\t').nth(at));
            fields.flat_map(|field| [field, "\n"]).collect::<String>()
        };
        assert!(!whole.is_empty());
        assert_eq!(scan(&["--keys-only"]), column(0));
        assert_eq!(scan(&["--values-only"]), column(1));
        let json = scan(&["--values-only", "--json", "--limit=1"]);
        assert!(
            json.starts_with("{\"value\":\"") && !json.contains("key"),
            "{json}"
        );
        cairn("scan", path, &["--values-only", "--keys-only"]).failed(2, &["--values-only"]);
    });
}

#[test]
fn the_name_of_another_program_is_answered_with_the_command() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    write_cairn(&path, [("key", b"value".to_vec())]);
    for (name, command) in [
        ("ls", "`scan --keys-only`"),
        ("list", "`scan --keys-only`"),
        ("keys", "`scan --keys-only`"),
        ("info", "`stats`"),
        ("fsck", "`verify`"),
    ] {
        let expected = format!("there is no command `{name}`; {command}");
        cairn(name, &path, &[] as &[&str]).failed(2, &[&expected]);
        let shell = cairn_with("shell", &path, &[], name.as_bytes());
        shell.failed(2, &[&expected]);
    }
    cairn("stat", &path, &[] as &[&str]).failed(2, &["`stats`"]);
    cairn("statz", &path, &[] as &[&str]).failed(2, &["'stats'"]);
}
