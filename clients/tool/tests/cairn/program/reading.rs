//! Ranges, over the databases of both stores.

use std::path::Path;

use cairndb_leveldb::{Orders, WriteOptions};

use super::{NONE, cairn, cairn_with};
use crate::{files, home, place, write_leveldb, write_leveldb_with, write_table};

fn fruit() -> impl Iterator<Item = (&'static str, String)> {
    let keys = ["apple", "apricot", "b", "ba", "cherry"].into_iter();
    keys.map(|key| (key, key.len().to_string()))
}

/// Runs `check` on the same entries in a CairnDB and in a LevelDB directory, and checks that
/// neither has changed.
fn on_both(check: impl Fn(&Path)) {
    let parent = &*home();
    let (ours, theirs) = (parent.join("cairn"), parent.join("leveldb"));
    write_table(&ours, fruit());
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
            let arguments = arguments.split_whitespace().chain(["--keys-only"]);
            let scanned = cairn("scan", path, &arguments.collect::<Vec<_>>());
            scanned.done().replace('\n', " ")
        };
        for (arguments, expected) in [
            ("", "apple apricot b ba cherry "),
            ("--from apricot --to ba", "apricot b "),
            ("--from aq --to bb --reverse", "ba b "),
            ("--from apricot --to ba --reverse", "b apricot "),
            ("--reverse --limit 2", "cherry ba "),
            ("--to z --reverse --limit 1", "cherry "),
            ("--prefix ap", "apple apricot "),
            ("--prefix=", "apple apricot b ba cherry "),
            ("--prefix b --reverse", "ba b "),
            ("--prefix \\xff --reverse", ""),
            ("--from z", ""),
            ("--from c --to a", ""),
            ("--from c --to a --reverse", ""),
            ("--limit 0", ""),
        ] {
            assert_eq!(keys(arguments), expected, "{arguments}");
        }
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
    let path = &*home();
    let name = "rev:leveldb.BytewiseComparator";
    let options = WriteOptions {
        order: Orders::default().find(name).unwrap(),
        ..WriteOptions::default()
    };
    write_leveldb_with(path, options, ["c", "b", "a"].map(|key| (key, "")));
    let keys = |arguments: &[&str]| cairn("scan", path, arguments).done().replace("\t\n", " ");
    assert_eq!(keys(&[]), "c b a ");
    assert_eq!(keys(&["--reverse"]), "a b c ");
    assert_eq!(keys(&["--from", "b"]), "b a ");
    cairn("scan", path, &["--prefix", "b"]).failed(2, &["--prefix", name]);
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
        assert_eq!(json, "{\"value\":\"5\"}\n");
        cairn("scan", path, &["--values-only", "--keys-only"]).failed(2, &["--values-only"]);
    });
}

#[test]
fn the_name_of_another_program_is_answered_with_the_command() {
    let path = place("db");
    write_table(&path, [("key", "value")]);
    for (name, command) in [
        ("ls", "`scan --keys-only`"),
        ("list", "`scan --keys-only`"),
        ("keys", "`scan --keys-only`"),
        ("info", "`stats`"),
        ("fsck", "`verify`"),
    ] {
        let expected = format!("there is no command `{name}`; {command}");
        cairn(name, &path, NONE).failed(2, &[&expected]);
        let shell = cairn_with("shell", &path, &[], name.as_bytes());
        shell.failed(2, &[&expected]);
    }
    cairn("stat", &path, NONE).failed(2, &["`stats`"]);
    cairn("statz", &path, NONE).failed(2, &["'stats'"]);
}
