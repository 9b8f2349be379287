//! Copies that continue after others have written to the target.

use std::path::Path;

use data_encoding::BASE64;

use super::{ascending, cairn, entries};
use crate::{Entries, file_of, home, read, write};

/// Writes the position of a copy of the first entries of `from` up to `last`, as an earlier version
/// did if `overwrite` is `None`.
fn save(at: &Path, last: Option<&str>, overwrite: Option<bool>) {
    let (from, to) = (at.join("from"), at.join("to"));
    let last = last.map(|key| BASE64.encode(key.as_bytes()));
    let mut state = serde_json::json!({
        "from": format!("file:{}", from.display()),
        "to": format!("file:{}", to.display()),
        "last": last,
        "copied": {"entries": u64::from(last.is_some()), "bytes": 8, "hash": 7},
        "changed": 1,
    });
    if let Some(overwrite) = overwrite {
        state["overwrite"] = overwrite.into();
    }
    let text = serde_json::json!({"version": 1, "state": state}).to_string();
    std::fs::write(at.join("to.cairn-copy"), text).unwrap();
}

fn fruit() -> Entries {
    entries(&[("apple", "red"), ("fig", "green"), ("plum", "blue")])
}

#[test]
fn what_others_have_written_is_neither_deleted_nor_replaced() {
    let fruit = fruit();
    for (last, held, part) in [
        (None, &[("mine", "1")][..], "lacks, \"mine\""),
        (None, &[("fig", "mine")], "another value of the key \"fig\""),
        (
            Some("apple"),
            &[("apple", "red"), ("zebra", "1")],
            "lacks, \"zebra\"",
        ),
        (
            Some("apple"),
            &[("apple", "red"), ("fig", "green"), ("plum", "mine")],
            "another value of the key \"plum\"",
        ),
    ] {
        for overwrite in [None, Some(false)] {
            let at = &*home();
            write(&at.join("from"), &fruit);
            let held = entries(held);
            write(&at.join("to"), &held);
            save(at, last, overwrite);
            // Again and again: what is saved then is good as well.
            for _ in 0..2 {
                let ran = cairn(at, &["copy", "file:from", "file:to"]);
                ran.failed(5, &["file:to holds", part, "--restart --overwrite"]);
                let left = read(&at.join("to"));
                for (key, value) in &held {
                    assert_eq!(left.get(key), Some(value), "{part}");
                }
            }
            let replace = ["copy", "file:from", "file:to", "--restart", "--overwrite"];
            cairn(at, &replace).done();
            assert_eq!(read(&at.join("to")), fruit);
        }
    }
}

#[test]
fn entries_of_the_copy_itself_are_accepted() {
    let fruit = fruit();
    for last in [None, Some("apple")] {
        let at = &*home();
        write(&at.join("from"), &fruit);
        // A kill after a write, and before the next save.
        write(&at.join("to"), [("apple", "red"), ("fig", "green")]);
        save(at, last, Some(false));
        let printed = cairn(at, &["copy", "file:from", "file:to"]).done();
        assert!(printed.starts_with("copied 3 entries"), "{printed}");
        assert_eq!(read(&at.join("to")), fruit);
    }
}

#[test]
fn a_copy_that_began_with_overwrite_continues_so() {
    let fruit = fruit();
    for (saved, arguments) in [
        (true, &["copy", "file:from", "file:to"][..]),
        (false, &["copy", "file:from", "file:to", "--overwrite"]),
    ] {
        let at = &*home();
        write(&at.join("from"), &fruit);
        write(
            &at.join("to"),
            [("apple", "red"), ("fig", "old"), ("zebra", "old")],
        );
        save(at, Some("apple"), Some(saved));
        cairn(at, arguments).done();
        assert_eq!(read(&at.join("to")), fruit);
    }
}

#[test]
fn a_copy_that_has_written_nothing_leaves_no_position() {
    let at = &*home();
    write(&at.join("from"), ascending(2000, 100));
    let table = at.join("from").join(file_of(&at.join("from"), ".tbl"));
    let intact = std::fs::read(&table).unwrap();
    let mut damaged = intact.clone();
    damaged[..intact.len() / 2].fill(b'x');
    std::fs::write(&table, damaged).unwrap();
    let copy = || cairn(at, &["copy", "file:from", "file:to"]);
    copy().failed(3, &["from"]);
    assert!(!at.join("to.cairn-copy").exists());
    // Later: the source is restored, and a program has begun to use the target.
    std::fs::write(&table, intact).unwrap();
    let mine = entries(&[("mine", "1")]);
    write(&at.join("to"), &mine);
    copy().failed(5, &["holds entries already", "--overwrite"]);
    assert_eq!(read(&at.join("to")), mine);
}
