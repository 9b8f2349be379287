//! Commands on a whole database.

use std::path::Path;

use cairndb::Db;
use serde_json::Value;

use crate::{cairn, cairn_with, files, write_cairn, write_leveldb};

const NONE: &[&str] = &[];

fn numbers(count: u32) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..count).map(|n| (format!("{n:05}"), format!("value {n}").into_bytes()))
}

#[test]
fn help_documents_the_exit_codes() {
    let help = cairn("--help", "".as_ref(), NONE).done();
    for line in [
        "0    done",
        "1    the key",
        "2    the command",
        "3    the database",
        "4    another",
        "5    any",
        "130  Ctrl-C",
    ] {
        assert!(help.contains(line), "{help}");
    }
}

#[test]
fn verify_counts_what_is_intact_and_changes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    write_cairn(parent.path(), numbers(1000));
    let before = files(parent.path());
    let text = cairn("verify", parent.path(), NONE).done();
    let expected = "intact: 1000 entries; 1000 stored versions in 1 table, 0 in the log; ";
    assert!(text.starts_with(expected), "{text}");
    let json: Value =
        serde_json::from_str(&cairn("verify", parent.path(), &["--json"]).done()).unwrap();
    assert_eq!(
        (&json["entries"], &json["tables"]),
        (&1000.into(), &1.into())
    );
    assert_eq!(files(parent.path()), before);
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
    let parent = tempfile::tempdir().unwrap();
    for (deletes, entries, versions) in [(false, 1, 4), (true, 0, 5)] {
        let path = parent.path().join(versions.to_string());
        write_versions(&path, deletes);
        let json = |command: &str| -> Value {
            serde_json::from_str(&cairn(command, &path, &["--json"]).done()).unwrap()
        };
        let text = cairn("verify", &path, NONE).done();
        let noun = if entries == 1 { "entry" } else { "entries" };
        let expected = format!("intact: {entries} {noun}; {versions} stored versions in ");
        assert!(text.starts_with(&expected), "{text}");
        let verified = json("verify");
        assert_eq!(verified["entries"], entries);
        assert_eq!(verified["versions"], versions);
        assert_eq!(json("stats")["stats"]["versions"], versions);
        let text = cairn("stats", &path, NONE).done();
        let expected = format!("{versions} stored versions in ");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn compact_removes_what_was_deleted() {
    let parent = tempfile::tempdir().unwrap();
    write_cairn(parent.path(), numbers(3));
    cairn("delete", parent.path(), &["00000", "00002", "absent"]).done();
    cairn("compact", parent.path(), &["--prefix", "0"]).done();
    let json: Value =
        serde_json::from_str(&cairn("stats", parent.path(), &["--json"]).done()).unwrap();
    assert_eq!(
        (&json["stats"]["versions"], &json["stats"]["deletes"]),
        (&1.into(), &0.into())
    );
    assert_eq!(
        cairn("scan", parent.path(), NONE).done(),
        "00001\tvalue 1\n"
    );
}

#[test]
fn a_checkpoint_is_a_database_and_destroy_removes_it() {
    let parent = tempfile::tempdir().unwrap();
    let (path, copy) = (parent.path().join("first"), parent.path().join("copy"));
    write_cairn(&path, numbers(100));
    cairn("checkpoint", &path, &[&copy]).done();
    cairn("delete", &path, &["00007"]).done();
    assert_eq!(cairn("get", &copy, &["00007"]).done(), "value 7\n");
    cairn("checkpoint", &path, &[&copy]).failed(5, &[copy.to_str().unwrap()]);
    cairn("destroy", &copy, &["--yes"]).done();
    assert!(!copy.exists());
    assert_eq!(cairn("count", &path, NONE).done(), "99\n");
}

#[test]
fn stats_draws_bars_and_changes_nothing() {
    let parent = tempfile::tempdir().unwrap();
    write_cairn(parent.path(), numbers(5000));
    let before = files(parent.path());
    let text = cairn("stats", parent.path(), NONE).done();
    assert!(
        text.starts_with("5000 stored versions in 1 table, 0 tombstones"),
        "{text}"
    );
    let table = text
        .lines()
        .find(|line| line.starts_with("run 1"))
        .expect("a line for the run");
    assert!(table.ends_with('█'), "{text}");
    let json: Value =
        serde_json::from_str(&cairn("stats", parent.path(), &["--json"]).done()).unwrap();
    assert_eq!(json["runs"][0]["bytes"], json["space"]["table_bytes"]);
    let total: usize = before.values().map(Vec::len).sum();
    assert_eq!(json["file_bytes"]["total"], total);
    assert_eq!(json["runs"][0]["versions"], 5000);
    assert!(json["stalls"]["memtable"]["count"].is_u64(), "{json}");
    assert_eq!(json["leveldb_original_bytes"], Value::Null);
    assert_eq!(files(parent.path()), before);
}

#[test]
fn upgrade_plans_then_converts_once() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path();
    write_leveldb(path, numbers(2000));
    let before = files(path);
    let entries = cairn("scan", path, NONE).done();
    let plan = cairn("upgrade", path, &["--dry-run"]).done();
    for row in ["LevelDB's files", "new files", "free space", "duration"] {
        assert!(plan.contains(row), "{plan}");
    }
    assert!(plan.contains("at most about"), "{plan}");
    assert_eq!(files(path), before);
    let text = cairn("upgrade", path, NONE).done();
    assert!(
        text.starts_with("converted 2000 entries into 1 table"),
        "{text}"
    );
    assert_eq!(cairn("scan", path, NONE).done(), entries);
    assert_eq!(
        cairn("scan", &path.join("leveldb-original"), NONE).done(),
        entries
    );
    assert!(
        cairn("upgrade", path, NONE)
            .done()
            .starts_with("nothing to do")
    );
    let stats = cairn("stats", path, NONE).done();
    assert!(stats.contains("leveldb-original/"), "{stats}");
    cairn("put", path, &["new", "value"]).done();
    cairn("verify", path, NONE).done();
}

#[test]
fn a_large_value_is_in_a_value_file() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("large");
    let value: Vec<u8> = (0..4_000_000u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    cairn_with("put", &path, &["--create", "large", "-"], &value).done();
    assert_eq!(cairn("get", &path, &["--raw", "large"]).stdout, value);
    let text = cairn("scan", &path, &["--hex"]).done();
    assert_eq!(text.len(), "6c61726765".len() + 2 + 2 * value.len());
    let text = cairn("verify", &path, NONE).done();
    assert!(text.contains("1 value in value files"), "{text}");
    let json: Value = serde_json::from_str(&cairn("stats", &path, &["--json"]).done()).unwrap();
    assert!(
        json["file_bytes"]["value_files"].as_u64() >= Some(4_000_000),
        "{json}"
    );
}
