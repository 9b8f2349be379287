//! Commands on a whole database.

use std::path::Path;

use cairndb::Db;
use serde_json::Value;

use super::{NONE, cairn, cairn_with, json, numbers};
use crate::{assert_has, files, home, open_reverse, place, read, write_leveldb, write_table};

#[test]
fn help_documents_the_exit_codes() {
    let help = cairn("--help", "".as_ref(), NONE).done();
    assert_has(
        &help,
        &[
            "0    done",
            "1    the key",
            "2    the command",
            "3    the database",
        ],
    );
    assert_has(&help, &["4    another", "5    any", "130  Ctrl-C"]);
}

#[test]
fn verify_counts_what_is_intact_and_changes_nothing() {
    let path = &*home();
    write_table(path, numbers(1000));
    let before = files(path);
    let text = cairn("verify", path, NONE).done();
    let expected = "intact: 1000 entries; 1000 stored versions in 1 table, 0 in the log; ";
    assert!(text.starts_with(expected), "{text}");
    let verified = json("verify", path);
    assert_eq!([&verified["entries"], &verified["tables"]], [1000, 1]);
    assert_eq!(files(path), before);
}

/// Puts a key four times, and may delete it. Snapshots keep every version until the end.
fn write_versions(path: &Path, deletes: bool) {
    let db = Db::open(path).unwrap();
    let mut snapshots = Vec::new();
    for value in ["1", "2", "3", "4"] {
        db.put(b"key", value.as_bytes()).unwrap();
        snapshots.push(db.snapshot());
    }
    if deletes {
        db.delete(b"key").unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    drop(snapshots);
}

#[test]
fn four_puts_of_a_key_are_one_entry_and_four_stored_versions() {
    let parent = &*home();
    for (deletes, entries, versions) in [(false, 1, 4), (true, 0, 5)] {
        let path = parent.join(versions.to_string());
        write_versions(&path, deletes);
        let text = cairn("verify", &path, NONE).done();
        let noun = if entries == 1 { "entry" } else { "entries" };
        let expected = format!("intact: {entries} {noun}; {versions} stored versions in ");
        assert!(text.starts_with(&expected), "{text}");
        let verified = json("verify", &path);
        assert_eq!(
            [&verified["entries"], &verified["versions"]],
            [entries, versions]
        );
        assert_eq!(json("stats", &path)["stats"]["versions"], versions);
        let text = cairn("stats", &path, NONE).done();
        let expected = format!("{versions} stored versions in ");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn delete_takes_ranges_which_all_commands_honour() {
    let parent = &*home();
    let at = |name: &str| parent.join(name);
    let path = &at("db");
    write_table(path, numbers(1000));
    for range in [
        &["--from", "00100", "--to", "00300"][..],
        &["--prefix", "005"],
        &["--from", "303939393939", "--hex"],
        &["--from", "b", "--to", "a"],
    ] {
        cairn("delete", path, range).done();
    }
    cairn("put", path, &["00550", "new"]).done();
    let count = |path: &Path| cairn("count", path, NONE).done();
    assert_eq!(count(path), "701\n");
    assert_eq!(cairn("count", path, &["--prefix", "005"]).done(), "1\n");
    cairn("dump", path, &[at("dumped")]).done();
    cairn("load", &at("loaded"), &[at("dumped")]).done();
    cairn("repair", path, &[at("repaired")]).done();
    cairn("fork", path, &[at("copied")]).done();
    let url = |name: &str| format!("file:{}", at(name).display());
    cairn("copy", url("db").as_ref(), &[url("moved")]).done();
    for name in ["loaded", "repaired", "copied", "moved"] {
        assert_eq!(read(&at(name)), read(path), "{name}");
    }
    let csv = cairn("export", path, &["--format=csv"]).done();
    assert_eq!(csv.lines().count(), 1 + 701);
    cairn("delete", path, &["--prefix="]).done();
    assert_eq!(count(path), "0\n");
}

#[test]
fn a_range_is_not_deleted_with_keys_nor_in_another_order() {
    let path = &*home();
    open_reverse(path, "rev:leveldb.BytewiseComparator")
        .close()
        .unwrap();
    for key in ["a", "b", "c"] {
        cairn("put", path, &[key, ""]).done();
    }
    cairn("delete", path, &["--prefix", "a"]).failed(2, &["--prefix needs bytewise"]);
    cairn("delete", path, &["a", "--from", "b"]).failed(2, &["cannot be used with"]);
    let store = format!("--store=file:{}", path.display());
    cairn("delete", "--from=a".as_ref(), &[store]).failed(2, &["cannot be used with"]);
    cairn("delete", path, &["--from", "b", "--to", "a"]).done();
    assert_eq!(cairn("scan", path, NONE).done(), "c\t\na\t\n");
}

#[test]
fn compact_removes_what_was_deleted() {
    let path = &*home();
    write_table(path, numbers(3));
    cairn("delete", path, &["00000", "00002", "absent"]).done();
    cairn("compact", path, &["--prefix", "0"]).done();
    let stats = &json("stats", path)["stats"];
    assert_eq!([&stats["versions"], &stats["deletes"]], [1, 0]);
    assert_eq!(
        cairn("scan", path, NONE).done(),
        "00001\tvalue 2654435761\n"
    );
}

#[test]
fn stats_draws_bars_and_changes_nothing() {
    let path = &*home();
    write_table(path, numbers(5000));
    let before = files(path);
    let text = cairn("stats", path, NONE).done();
    assert_has(&text, &["\n5000 stored versions in 1 table, 0 tombstones"]);
    let mut runs = text.lines().filter(|line| line.starts_with("run 1"));
    assert!(runs.next().unwrap().ends_with('█'), "{text}");
    let stats = json("stats", path);
    assert_eq!(stats["runs"][0]["bytes"], stats["space"]["table_bytes"]);
    let total: usize = before.values().map(Vec::len).sum();
    assert_eq!(stats["file_bytes"]["total"], total);
    assert_eq!(stats["runs"][0]["versions"], 5000);
    assert!(stats["stalls"]["memtable"]["count"].is_u64(), "{stats}");
    assert_eq!(stats["leveldb_original_bytes"], Value::Null);
    assert_eq!(files(path), before);
}

#[test]
fn upgrade_plans_then_converts_once() {
    let path = &*home();
    write_leveldb(path, numbers(2000));
    let before = files(path);
    let entries = cairn("scan", path, NONE).done();
    let plan = cairn("upgrade", path, &["--dry-run"]).done();
    assert_has(
        &plan,
        &[
            "LevelDB's files",
            "new files",
            "free space",
            "duration",
            "at most about",
        ],
    );
    assert_eq!(files(path), before);
    let text = cairn("upgrade", path, NONE).done();
    assert_has(&text, &["\nconverted 2000 entries into 1 table"]);
    for path in [path, &path.join("leveldb-original")] {
        assert_eq!(cairn("scan", path, NONE).done(), entries);
    }
    assert_has(&cairn("upgrade", path, NONE).done(), &["\nnothing to do"]);
    assert_has(&cairn("stats", path, NONE).done(), &["leveldb-original/"]);
    cairn("put", path, &["new", "value"]).done();
    cairn("verify", path, NONE).done();
}

#[test]
fn a_large_value_is_in_a_value_file() {
    let path = place("large");
    let value: Vec<u8> = (0..4_000_000u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    cairn_with("put", &path, &["--create", "large", "-"], &value).done();
    assert_eq!(cairn("get", &path, &["--raw", "large"]).stdout, value);
    let text = cairn("scan", &path, &["--hex"]).done();
    assert_eq!(text.len(), "6c61726765".len() + 2 + 2 * value.len());
    assert_has(
        &cairn("verify", &path, NONE).done(),
        &["1 value in value files"],
    );
    let bytes = json("stats", &path)["file_bytes"]["value_files"].as_u64();
    assert!(bytes >= Some(4_000_000), "{bytes:?}");
}
