//! The contract between adapters and the harness, tested with each adapter that can be loaded here:
//! its answers, its cursors in both directions, and, if the adapter promises it, that a write has
//! left the process when its call returns.

mod edits;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use bench_core::engine::{
    Cursor as _, Durability, Engine, Role, Session as _, Store, Survival, Variant,
};
use bench_core::workload::settings::{Memory, Settings};

use bench_core::host::test_text::begins;

use crate::common::{skip, unable};
use crate::engines::{Act, act, for_each_engine};

/// Number of attempts to copy a directory.
const TRIES: u32 = 20;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A role that writes without appending, in the mode that survives the process.
const ROLE: Role = Role::single(Durability::Os);

fn settings(value_bytes: usize) -> Settings {
    Settings {
        entries: 1000,
        value_bytes,
        ..Settings::plain(Memory::split(16 << 20, false))
    }
}

/// Returns every entry in a store, in ascending order.
fn contents(store: &impl Store) -> Map {
    let mut session = store.session(ROLE).expect("a session");
    let mut cursor = session.cursor().expect("a cursor");
    let mut found = Map::new();
    cursor.first().expect("positioned");
    while cursor.valid() {
        let key = cursor.key().to_vec();
        let value = cursor.value().expect("a value").to_vec();
        assert!(found.insert(key, value).is_none(), "a duplicate key");
        cursor.next().expect("stepped");
    }
    cursor.check().expect("no error");
    found
}

fn key(index: u32) -> Vec<u8> {
    format!("{index:016}").into_bytes()
}

/// Puts, overwrites, deletes, batches and merges. Returns what must be stored then.
fn write(engine: &impl Engine, store: &impl Store, value_bytes: usize) -> Map {
    let able = engine.capabilities();
    let mut session = store.session(ROLE).expect("a session");
    let mut model = Map::new();
    let value = |index: u32, round: u8| {
        let mut value = vec![round; value_bytes];
        value.extend_from_slice(&index.to_le_bytes());
        value
    };
    for index in (0..600).rev() {
        session.put(&key(index), &value(index, 1)).expect("put");
        model.insert(key(index), value(index, 1));
    }
    for index in (0..600).step_by(3) {
        session.put(&key(index), &value(index, 9)).expect("put");
        model.insert(key(index), value(index, 9));
    }
    for index in (0..700).step_by(7) {
        session.delete(&key(index)).expect("deleted");
        model.remove(&key(index));
    }
    if able.batch {
        for index in 550..650 {
            session.batch_put(&key(index), b"").expect("added");
            model.insert(key(index), Vec::new());
        }
        session.batch_write().expect("written");
        session.batch_write().expect("an empty batch is none");
    }
    if able.merge {
        for (index, round) in [(1, 0), (2, 2), (3, 9), (7, 1), (600, 1), (700, 1), (2, 3)] {
            let operand = value(index, round);
            session.merge(&key(index), &operand).expect("merged");
            let stored = model.entry(key(index)).or_insert_with(|| operand.clone());
            *stored = operand.max(stored.clone());
        }
    }
    model
}

/// Checks point reads and multi-gets of present and absent keys.
fn check_reads(store: &impl Store, model: &Map) {
    let mut session = store.session(ROLE).expect("a session");
    let keys: Vec<Vec<u8>> = (0..720).map(key).chain([b"0".to_vec()]).collect();
    for key in &keys {
        let found = session.get(key, <[u8]>::to_vec).expect("read");
        assert_eq!(found.as_ref(), model.get(key), "{key:?}");
    }
    let keys: Vec<&[u8]> = keys.iter().rev().map(Vec::as_slice).collect();
    let mut answers = vec![None; keys.len()];
    let each = |at: usize, value: Option<&[u8]>| {
        answers[at] = Some(value.map(<[u8]>::to_vec));
    };
    session.multi_get(&keys, each).expect("read");
    for (key, answer) in keys.iter().zip(&answers) {
        let answer = answer.as_ref().expect("answered");
        assert_eq!(answer.as_ref(), model.get(*key), "{key:?}");
    }
}

/// Checks scans, seeks and changes of direction, with consecutive cursors in one session.
fn check_cursors(engine: &impl Engine, store: &impl Store, model: &Map) {
    let able = engine.capabilities();
    let mut session = store.session(ROLE).expect("a session");
    if able.seek {
        let mut cursor = session.cursor().expect("a cursor");
        for index in (0..720).step_by(11) {
            cursor.seek(&key(index)).expect("sought");
            let expected = model.range(key(index)..).next();
            assert_eq!(cursor.valid(), expected.is_some(), "{index}");
            if let Some((key, value)) = expected {
                assert_eq!(cursor.key(), key);
                assert_eq!(cursor.value().expect("a value"), value);
            }
        }
    }
    if able.reverse {
        let mut cursor = session.cursor().expect("a cursor");
        cursor.last().expect("positioned");
        for (key, value) in model.iter().rev() {
            assert_eq!(cursor.key(), key);
            assert_eq!(cursor.value().expect("a value"), value);
            cursor.prev().expect("stepped");
        }
        assert!(!cursor.valid());
        cursor.check().expect("no error");
    }
    if able.reverse && able.seek {
        // Three steps forward, two back, from one end to the other.
        let keys: Vec<&Vec<u8>> = model.keys().collect();
        let mut cursor = session.cursor().expect("a cursor");
        cursor.seek(keys[0]).expect("sought");
        let mut at = 0;
        while at + 3 < keys.len() {
            for _ in 0..3 {
                cursor.next().expect("stepped");
            }
            cursor.prev().expect("stepped");
            cursor.prev().expect("stepped");
            at += 1;
            assert_eq!(cursor.key(), keys[at]);
        }
        cursor.first().expect("positioned");
        assert_eq!(cursor.key(), keys[0]);
        cursor.prev().expect("stepped");
        assert!(!cursor.valid(), "positioned before the first key");
    }
}

/// Copies the current files of a directory, as they would be after the death of the process. The
/// system's `cp` keeps the holes of a sparse file.
fn copy(from: &Path, to: &Path) {
    // WiredTiger renames the logs that it creates in advance: a listed name may have disappeared.
    let copied = (0..TRIES).any(|_| {
        let _ = std::fs::remove_dir_all(to);
        let copied = Command::new("cp").arg("-r").args([from, to]).status();
        copied.expect("cp runs").success()
    });
    assert!(copied, "not copied in {TRIES} tries");
}

struct Conforms;

impl Act for Conforms {
    fn with<E: Engine>(&self, engine: &E) {
        // Less than a write buffer, so that no file is created or removed during the copy.
        for value_bytes in [100, 1000] {
            let home = tempfile::tempdir().expect("a directory");
            let (dir, after) = (home.path().join("db"), home.path().join("after"));
            std::fs::create_dir(&dir).expect("created");
            let settings = settings(value_bytes);
            let mut store = engine.open(&dir, &settings).expect("opens");
            assert!(contents(&store).is_empty());
            let mut model = write(engine, &store, value_bytes);
            if engine.survival(Durability::Os, Variant::Fair) != Survival::BelowOs {
                // Nothing was closed, so the contents of the copy had left the process.
                copy(&dir, &after);
                let survivor = engine.open(&after, &settings).expect("opens");
                assert_eq!(contents(&survivor), model);
                survivor.close().expect("closes");
            }
            check_reads(&store, &model);
            check_cursors(engine, &store, &model);
            if engine.capabilities().flush {
                store.flush().expect("flushed");
            }
            if engine.capabilities().compact {
                store.compact().expect("compacted");
            }
            store.quiesce().expect("quiet");
            check_reads(&store, &model);
            check_cursors(engine, &store, &model);
            edits::check_edits(engine, &store, &mut model);
            assert!(!store.options().is_empty());
            store.close().expect("closes");
            let store = engine.open(&dir, &settings).expect("reopens");
            assert_eq!(contents(&store), model);
            if engine.capabilities().reverse {
                edits::drain(&store, model);
            }
        }
    }
}

/// Returns the error message with which a store in a directory is refused.
fn refusal<E: Engine>(engine: &E, dir: &Path) -> String {
    let opened = engine.open(dir, &settings(100));
    opened.map(|_| ()).expect_err("refused").to_string()
}

fn conforms(engine: &str) {
    act(engine, &Conforms);
}

for_each_engine! { conforms:
    cairndb_conforms "cairndb",
    cairndb_conforms_through_its_c_interface "cairndb-c",
    cairndb_conforms_through_leveldbs_c_interface "leveldb-on-cairndb",
    disk_conforms "disk",
    kyoto_treedb_conforms "kyoto_treedb",
    leveldb_conforms "leveldb",
    lmdb_conforms "lmdb",
    redb_conforms "redb",
    rocksdb_conforms "rocksdb",
    sqlite3_conforms "sqlite3",
    wiredtiger_btree_conforms "wiredtiger_btree",
    wiredtiger_lsm_conforms "wiredtiger_lsm",
}

/// A read of several keys sees no write made after one that it missed. (SQLite is tested in its own
/// crate: its only connection makes writers wait.)
struct ReadsAtOneMoment;

impl Act for ReadsAtOneMoment {
    fn with<E: Engine>(&self, engine: &E) {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("db");
        std::fs::create_dir(&dir).expect("created");
        let store = engine.open(&dir, &settings(100)).expect("opens");
        let mut writer = store.session(ROLE).expect("a session");
        writer.put(&key(1), b"old").expect("put");
        writer.put(&key(2), b"old").expect("put");
        let mut reader = store.session(ROLE).expect("a session");
        let keys = [key(1), key(2)];
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (expected, value) in [(b"old", b"new"), (b"new", b"end")] {
            let mut answers = Vec::new();
            let each = |at, found: Option<&[u8]>| {
                if at == 0 {
                    writer.put(&key(2), value).expect("put");
                }
                answers.push(found.map(<[u8]>::to_vec));
            };
            reader.multi_get(&keys, each).expect("read");
            let expected = [Some(b"old".to_vec()), Some(expected.to_vec())];
            assert_eq!(answers, expected);
        }
        drop((writer, reader));
        store.close().expect("closes");
    }
}

#[test]
fn several_keys_are_read_at_one_moment() {
    for engine in "cairndb,lmdb,redb,rocksdb,wiredtiger_btree,wiredtiger_lsm".split(',') {
        act(engine, &ReadsAtOneMoment);
    }
}

#[test]
fn rocksdb_shows_why_it_does_not_open() {
    let Ok(engine) = engine_rocksdb::RocksDb::load(None) else {
        return skip("RocksDB's errors: install librocksdb7.8");
    };
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("CURRENT"), "nonsense").expect("written");
    let text = refusal(&&engine, home.path());
    begins(&text, "Corruption: ");
}

#[test]
fn sqlite3_shows_why_it_does_not_open() {
    let Ok(engine) = engine_sqlite3::Sqlite::load(None) else {
        return skip("SQLite's errors: install libsqlite3-0");
    };
    let home = tempfile::tempdir().expect("a directory");
    let absent = refusal(&&engine, &home.path().join("absent"));
    assert_eq!(absent, "unable to open database file");
    std::fs::write(home.path().join("test.db"), [b'x'; 4096]).expect("written");
    let text = refusal(&&engine, home.path());
    assert_eq!(text, "file is not a database");
}

#[test]
fn sqlite3_pages_have_the_size_it_was_reported() {
    let Ok(engine) = engine_sqlite3::Sqlite::load(None) else {
        return skip("SQLite's settings: install libsqlite3-0");
    };
    let home = tempfile::tempdir().expect("a directory");
    let wide = Settings {
        memory: Memory::split(128 << 20, true),
        durability: Durability::Sync,
        ..settings(100)
    };
    let store = (&engine).open(home.path(), &wide).expect("opens");
    let reported = store.options();
    let reported: Vec<(&str, &str)> = reported
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected = [
        ("page_size", "1024"),
        ("cache_size", "131072"),
        ("journal_mode", "wal"),
        ("locking_mode", "exclusive"),
        ("synchronous", "2"),
        ("wal_autocheckpoint", "4096"),
        ("table", "without rowid"),
    ];
    for pair in expected {
        assert!(reported.contains(&pair), "{pair:?} in {reported:?}");
    }
    store.close().expect("closes");
    // The field in the file, big-endian, after the magic of sixteen bytes.
    let file = std::fs::read(home.path().join("test.db")).expect("there");
    assert_eq!(file[16..18], [4, 0]);
}

/// Returns the KiB of dirty pages in this process's mapping of a file.
fn dirty(file: &Path) -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps").expect("Linux reports it");
    let name = file.display().to_string();
    let map = text.lines().skip_while(|line| !line.ends_with(&name));
    let fields = map.skip(1).take_while(|line| !line.starts_with("VmFlags:"));
    let dirty = fields.filter(|line| line.contains("_Dirty:"));
    let numbers = dirty.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    numbers.sum()
}

/// The flush used to do nothing and was measured nevertheless.
#[test]
fn lmdb_flushes_the_pages_of_its_map() {
    let Ok(engine) = engine_lmdb::Lmdb::load(None) else {
        return skip("LMDB's flush: install liblmdb0");
    };
    // In the build directory, because pages of an in-memory file system never become clean.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    // The path as spelled in the system's list of mappings.
    let home = home.path().canonicalize().expect("there");
    let system = rustix::fs::statfs(&home).expect("reported");
    if system.f_type == 0x0102_1994 {
        return unable("LMDB's flush: the build directory is in memory");
    }
    let file = home.join("data.mdb");
    let mut store = (&engine).open(&home, &settings(100)).expect("opens");
    // Other programs may cause these pages to be written out at any time.
    let written = (0..TRIES).any(|_| {
        write(&&engine, &store, 100);
        dirty(&file) > 0
    });
    assert!(written, "nothing was written through the map");
    store.flush().expect("flushed");
    assert_eq!(dirty(&file), 0);
}
