//! `tables`, `log` and `manifest`: over both stores, damaged files, and a database that is open.

use std::path::{Path, PathBuf};

use cairndb::{Db, WriteBatch};
use serde_json::Value;

use super::{NONE, cairn, numbers, overwrite};
use crate::{HOLDER, assert_has, file_of, files, home, names, place, write_leveldb, write_table};

const COMMANDS: [&str; 3] = ["tables", "log", "manifest"];

/// The rows of JSON lines, of one type.
fn rows(text: &str, kind: &str) -> Vec<Value> {
    let rows = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.filter(|row| row["type"] == kind).collect()
}

/// A database of each store with the same entries, and how the name of its table ends.
fn both(parent: &Path) -> [(PathBuf, &'static str); 2] {
    let (ours, theirs) = (parent.join("ours"), parent.join("theirs"));
    write_table(&ours, numbers(3000));
    write_leveldb(&theirs, numbers(3000));
    [(ours, ".tbl"), (theirs, ".ldb")]
}

#[test]
fn every_entry_of_a_table_is_printed() {
    let parent = &*home();
    for (path, ending) in &both(parent) {
        let expected = cairn("scan", path, NONE).done();
        let before = files(path);
        let table = file_of(path, ending);
        for arguments in [&[&*table][..], &["--entries"]] {
            let text = cairn("tables", path, arguments).done();
            let entries = text.lines().filter_map(|line| line.split_once(" put "));
            let entries: String = entries.flat_map(|(_, entry)| [entry, "\n"]).collect();
            assert_eq!(entries, expected, "{arguments:?}");
        }
        let json = cairn("tables", path, &["--json"]).done();
        let counted = [rows(&json, "contents"), rows(&json, "table")].concat();
        assert_eq!(counted[0]["entries"], 3000, "{json}");
        assert_eq!(rows(&json, "table")[0]["first"], "00000");
        assert_eq!(rows(&json, "table")[0]["last"], "02999");
        let entries = cairn("tables", path, &["--json", "--hex", &table]).done();
        assert_eq!(rows(&entries, "entry").len(), 3000);
        assert_eq!(rows(&entries, "entry")[7]["key"], "3030303037");
        assert_eq!(files(path), before);
    }
}

#[test]
fn tombstones_and_hidden_versions_are_counted() {
    let path = place("db");
    let db = Db::open(&path).unwrap();
    db.put(b"a", b"1").unwrap();
    let snapshot = db.snapshot();
    db.put(b"a", b"2").unwrap();
    db.delete(b"b").unwrap();
    db.flush().unwrap();
    drop(snapshot);
    db.close().unwrap();
    let json = cairn("tables", &path, &["--json", "--entries"]).done();
    let table = &rows(&json, "table")[0];
    for (field, expected) in [("entries", 3), ("tombstones", 1), ("hidden_versions", 1)] {
        assert_eq!(table[field], expected, "{field}: {json}");
    }
    let entries = rows(&json, "entry");
    let kinds: Vec<_> = entries.iter().map(|row| row["kind"].clone()).collect();
    assert_eq!(kinds, ["put", "put", "delete"]);
}

#[test]
fn the_log_is_printed_record_by_record() {
    let parent = &*home();
    let (live, copy) = (parent.join("live"), parent.join("copy"));
    let db = Db::open(&live).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"first", b"1");
    batch.delete(b"second");
    db.write(&batch).unwrap();
    db.put(b"third", &vec![b'v'; 100_000]).unwrap();
    // What a crash leaves.
    copy_files(&live, &copy);
    let before = files(&copy);
    let json = cairn("log", &copy, &["--json", "--entries"]).done();
    let records = rows(&json, "record");
    assert_eq!(records.len(), 2, "{json}");
    assert_eq!([&records[0]["seq"], &records[1]["seq"]], [1, 3]);
    let entries = rows(&json, "entry");
    assert_eq!(entries[1]["kind"], "delete");
    assert_eq!(entries[2]["value_bytes"], 100_000, "{json}");
    let segment = rows(&json, "segment")[0]["file"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_has(
        &cairn("log", &copy, &[segment]).done(),
        &["1 put first\t1\n"],
    );
    assert_eq!(files(&copy), before);
    db.close().unwrap();
}

#[test]
fn deleted_ranges_are_printed() {
    let parent = &*home();
    let (live, copy) = (parent.join("live"), parent.join("copy"));
    let db = Db::open(&live).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    // Keeps what the ranges hide, and so the ranges.
    let held = db.snapshot();
    db.delete_range("b".."d").unwrap();
    db.delete_range("c"..).unwrap();
    copy_files(&live, &copy);
    let text = cairn("log", &copy, &["--entries"]).done();
    assert_has(
        &text,
        &["\n    3 delete_range b\td\n", "\n    4 delete_range c\n"],
    );
    let json = cairn("log", &copy, &["--json", "--entries"]).done();
    let entries = rows(&json, "entry");
    let range = entries.iter().find(|row| row["seq"] == 3).unwrap();
    assert_eq!([&range["key"], &range["end"]], ["b", "d"], "{json}");
    db.flush().unwrap();
    let flushed = parent.join("flushed");
    copy_files(&live, &flushed);
    let json = cairn("manifest", &flushed, &["--json"]).done();
    let ranges = rows(&json, "deleted_range");
    assert_eq!(ranges.len(), 2, "{json}");
    // From `c` on the second one hides all that the first one does.
    assert_eq!(
        [&ranges[0]["first"], &ranges[0]["end"]],
        ["b", "c"],
        "{json}"
    );
    assert_eq!(ranges[1]["first"], "c");
    assert!(ranges[1]["end"].is_null(), "{json}");
    drop(held);
    db.close().unwrap();
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for (name, bytes) in files(from) {
        std::fs::write(to.join(name), bytes).unwrap();
    }
}

#[test]
fn leveldbs_log_and_manifest_are_printed() {
    use cairndb::env::{Env, RealEnv};
    use cairndb_leveldb::{BatchWriter, LogWriter};
    let path = &*home();
    write_leveldb(path, numbers(10));
    let manifest = cairn("manifest", path, &["--json"]).done();
    let comparator = &rows(&manifest, "comparator")[0]["name"];
    assert_eq!(comparator, "leveldb.BytewiseComparator");
    assert_eq!(rows(&manifest, "added_table")[0]["level"], 1, "{manifest}");
    let log = path.join("000099.log");
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let mut writer = LogWriter::new(dir.create("000099.log").unwrap());
    for seq in [100, 101] {
        let mut batch = BatchWriter::new(seq);
        batch.put(b"plum", b"blue");
        writer.append(batch.bytes()).unwrap();
    }
    let json = cairn("log", path, &["--json", "--entries"]).done();
    assert_eq!(rows(&json, "record")[1]["seq"], 101, "{json}");
    assert_eq!(rows(&json, "entry")[0]["value"], "blue");
    // A torn end is no damage, a damaged record before an intact one is.
    let intact = std::fs::read(&log).unwrap();
    overwrite(&log, intact.len() - 3, &[0xff]);
    let torn = cairn("log", path, &["--json"]).done();
    let counts = (rows(&torn, "record").len(), rows(&torn, "torn_end").len());
    assert_eq!(counts, (1, 1), "{torn}");
    std::fs::write(&log, &intact).unwrap();
    overwrite(&log, 10, &[0xff]);
    cairn("log", path, &["000099.log"]).ended(3, &["file 000099.log, offset 0"]);
}

#[test]
fn what_is_intact_of_a_damaged_table_is_printed() {
    let parent = &*home();
    for (path, ending) in &both(parent) {
        let table = file_of(path, ending);
        overwrite(&path.join(&table), 4096, &[0x55; 4096]);
        let before = files(path);
        let ran = cairn("tables", path, &["--json", &table]);
        let text = ran.ended(3, &[&table, "offset"]);
        let damage = rows(&text, "damage");
        let is_named = damage.iter().all(|row| row["file"] == *table);
        assert!(!damage.is_empty() && is_named, "{damage:?}");
        let entries = rows(&text, "entry");
        assert!((1000..3000).contains(&entries.len()), "{}", entries.len());
        // What follows the damage.
        assert_eq!(entries.last().unwrap()["key"], "02999");
        assert_eq!(files(path), before);
    }
}

#[test]
fn a_table_without_its_meta_block_and_a_missing_one_are_damage() {
    let path = place("db");
    write_table(&path, numbers(3000));
    let table = file_of(&path, ".tbl");
    let bytes = std::fs::read(path.join(&table)).unwrap();
    std::fs::write(path.join(&table), &bytes[..bytes.len() - 4096]).unwrap();
    let text = cairn("tables", &path, &["--json", "--entries"]).ended(3, &[&table]);
    assert_eq!(rows(&text, "entry").len(), 3000);
    std::fs::remove_file(path.join(&table)).unwrap();
    cairn("tables", &path, &["--json"]).ended(3, &["missing"]);
}

#[test]
fn a_database_without_a_manifest_shows_its_tables() {
    let parent = &*home();
    for (path, _) in &both(parent) {
        for name in names(path) {
            if name.starts_with("MANIFEST-") || name == "CURRENT" {
                std::fs::remove_file(path.join(name)).unwrap();
            }
        }
        let text = cairn("tables", path, &["--json", "--entries"]).ended(3, &["CURRENT"]);
        assert_eq!(rows(&text, "entry").len(), 3000);
        assert_eq!(cairn("manifest", path, NONE).code, 3);
    }
}

#[test]
fn edits_after_damage_in_a_manifest_are_printed() {
    let parent = &*home();
    let path = parent.join("db");
    let db = Db::open(&path).unwrap();
    for round in 0..5u8 {
        db.put(&[round], b"value").unwrap();
        db.flush().unwrap();
    }
    let copy = parent.join("copy");
    copy_files(&path, &copy);
    db.close().unwrap();
    let json = cairn("manifest", &copy, &["--json"]).done();
    let edits = rows(&json, "edit");
    assert!(edits.len() > 3, "{json}");
    let manifests = rows(&json, "manifest");
    let manifest = manifests[0]["file"].as_str().unwrap();
    let offset = usize::try_from(edits[1]["offset"].as_u64().unwrap()).unwrap();
    overwrite(&copy.join(manifest), offset + 20, &[0xff, 0xfe]);
    let text = cairn("manifest", &copy, &["--json"]).ended(3, &[manifest]);
    assert_eq!(rows(&text, "damage")[0]["offset"], offset);
    assert_eq!(rows(&text, "edit").len(), edits.len() - 1);
}

#[test]
fn an_open_database_is_read_without_its_lock() {
    let path = place("db");
    let db = Db::open(&path).unwrap();
    db.put(b"plum", b"blue").unwrap();
    db.flush().unwrap();
    db.put(b"pear", b"green").unwrap();
    for command in COMMANDS {
        assert!(!cairn(command, &path, NONE).ended(0, &[HOLDER]).is_empty());
    }
    let log = cairn("log", &path, &["--entries"]).ended(0, &[]);
    assert_has(&log, &["put pear\tgreen"]);
    db.close().unwrap();
}

/// Once, bytes that were being written could have been reported as damage.
#[test]
fn a_database_that_is_being_written_is_never_called_damaged() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let path = place("db");
    let options = cairndb::Options::new()
        .create_if_missing(true)
        .memory_budget(8 << 20);
    let db = options.open(&path).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0u32;
            while !stop.load(Ordering::Relaxed) {
                db.put(&(round % 5000).to_le_bytes(), &[b'v'; 300]).unwrap();
                round += 1;
            }
        });
        let rounds = 0..12;
        let failed = rounds.map(|round| COMMANDS[round % 3]).find_map(|command| {
            let ran = cairn(command, &path, &["--json"]);
            (!matches!(ran.code, 0 | 4)).then(|| format!("{command}: {}", ran.stderr))
        });
        stop.store(true, Ordering::Relaxed);
        assert_eq!(failed, None);
    });
    db.close().unwrap();
}

#[test]
fn only_a_file_of_the_right_kind_is_printed() {
    let path = place("db");
    write_table(&path, numbers(3));
    for (command, other) in [
        ("tables", "000002.log"),
        ("log", "000003.tbl"),
        ("manifest", "CURRENT"),
    ] {
        cairn(command, &path, &[other]).failed(2, &[other]);
    }
    cairn("tables", &path, &["000999.tbl"]).failed(5, &["000999.tbl"]);
    cairn("tables", &path, &["../x.tbl"]).failed(2, &["../x.tbl"]);
}
