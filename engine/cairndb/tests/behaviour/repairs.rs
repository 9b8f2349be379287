//! Repair through the public interface: what it refuses, what it keeps, and that a failed or
//! interrupted one leaves nothing that opens. The test `repair` covers the kinds of damage.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::{Background, Dir, Env};
use cairndb::{Append, Db, DoubtKind, ErrorKind, Job, Options, RepairOptions};
use cairndb_sim::SimEnv;

use crate::{Reverse, all, appending, fails, fails_with, in_memory, mem_db, paths, real_dir};

pub(crate) fn repair_to(options: &Options, target: &str) -> cairndb::Result<cairndb::RepairReport> {
    cairndb::repair("/db", target, &RepairOptions::new(options))
}

/// Writes a hundred keys in two runs; the second deletes and overwrites some.
fn fill(db: &Db) {
    let key = |number: u32| format!("key{number:03}").into_bytes();
    for number in 0..100 {
        db.put(&key(number), &[7; 200]).unwrap();
    }
    db.put(b"large", &vec![9; 20_000]).unwrap();
    db.flush().unwrap();
    for number in (0..100).step_by(10) {
        db.delete(&key(number)).unwrap();
    }
    db.put(b"key001", b"new").unwrap();
    db.merge(b"merged", b"a").unwrap();
    db.flush().unwrap();
    db.merge(b"merged", b"b").unwrap();
}

#[test]
fn an_intact_database_is_copied_whole() {
    let options = appending();
    let db = options.open("/db").unwrap();
    fill(&db);
    let expected = all(&db);
    db.close().unwrap();
    let report = repair_to(&options, "/new").unwrap();
    assert!(report.is_complete(), "{report}");
    assert_eq!(report.kept.keys, expected.len() as u64);
    assert_eq!(report.kept.large_values, 1);
    let again = options.open("/new").unwrap();
    assert!(again.open_report().clean);
    assert_eq!(all(&again), expected);
    assert_eq!(again.get(b"merged").unwrap().as_deref(), Some(&b"ab"[..]));
    again.merge(b"merged", b"c").unwrap();
    assert_eq!(again.get(b"merged").unwrap().as_deref(), Some(&b"abc"[..]));
    again.compact_range(..).unwrap();
    assert_eq!(again.get(b"merged").unwrap().as_deref(), Some(&b"abc"[..]));
    again.close().unwrap();
}

#[test]
fn what_cannot_be_repaired_is_refused_and_stays() {
    let (db, options) = mem_db();
    db.put(b"key", b"value").unwrap();
    fails(repair_to(&options, "/new"), ErrorKind::Locked);
    db.close().unwrap();
    fails_with(
        repair_to(&options, "/db"),
        ErrorKind::InvalidArgument,
        "not empty",
    );
    let reverse = options.clone().comparator(Arc::new(Reverse));
    fails_with(
        repair_to(&reverse, "/new"),
        ErrorKind::InvalidArgument,
        "test.Reverse",
    );
    fails(
        cairndb::repair("/none", "/new", &RepairOptions::new(&options)),
        ErrorKind::NotFound,
    );
    let db = options.open("/db").unwrap();
    assert_eq!(all(&db).len(), 1);
    db.close().unwrap();
}

#[test]
fn another_merge_operator_is_refused() {
    let (db, options) = mem_db();
    db.close().unwrap();
    let options = options.merge_operator(Arc::new(Append));
    let db = options.open("/db").unwrap();
    db.merge(b"key", b"operand").unwrap();
    db.close().unwrap();
    let add = options.clone().merge_operator(Arc::new(cairndb::Add));
    fails_with(
        repair_to(&add, "/new"),
        ErrorKind::InvalidArgument,
        "merge operator",
    );
    repair_to(&options, "/new").unwrap();
}

#[test]
fn a_directory_without_a_database_is_refused() {
    let dir = real_dir();
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("notes.txt"), "no database").unwrap();
    let options = RepairOptions::new(&Options::new());
    let target = dir.path().join("target");
    let refused = cairndb::repair(&source, &target, &options);
    fails_with(refused, ErrorKind::InvalidArgument, "no file of a database");
    assert!(!target.exists());
}

/// Regression: of two value files with exchanged names, one had no readable header and kept the
/// name that the other needed. An older copy under the right name did the same.
#[test]
fn values_are_read_from_files_under_other_names() {
    let (env, options) = in_memory(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    for byte in 0..3 {
        let db = options.open("/db").unwrap();
        db.put(&[byte], &vec![byte; 20_000]).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
    }
    let whole = files_of(&*dir);
    let names: Vec<_> = whole.keys().filter(|name| name.contains(".val")).collect();
    assert!(names.len() >= 2, "{names:?}");
    let write = |name: &str, bytes: &[u8]| {
        dir.unlink(name).unwrap();
        dir.create(name).unwrap().append(bytes).unwrap();
    };
    let (one, other) = (&whole[names[0]], &whole[names[1]]);
    let headless = [&[0; 16], &one[16..]].concat();
    let shorter = &other[..other.len() / 2];
    for (first, second) in [(&other[..], &headless[..]), (&other[..], shorter)] {
        write(names[0], first);
        write(names[1], second);
        let report = repair_to(&options, "/new").unwrap();
        let db = options.open("/new").unwrap();
        // The copy took the place of the first file.
        let lost = usize::from(second == shorter);
        let found = (all(&db).len(), report.lost.len());
        assert_eq!(found, (3 - lost, lost), "{report}");
        db.close().unwrap();
        cairndb::destroy("/new", &options).unwrap();
    }
}

/// Regression: the last manifest was missing, and an older one, of a clean close, was taken for the
/// last, although a table had been written after it.
#[test]
fn a_table_after_a_clean_close_shows_that_the_manifest_is_old() {
    let (env, options) = in_memory(Background::Stepped);
    let write = |value: &[u8]| {
        let db = options.open("/db").unwrap();
        db.put(b"key", value).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
    };
    write(b"old");
    let dir = env.open_dir(Path::new("/db"), false).unwrap();
    let older = files_of(&*dir);
    write(b"new");
    for (name, _) in files_of(&*dir) {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            dir.unlink(&name).unwrap();
        }
    }
    let left = dir.list().unwrap();
    for (name, bytes) in older.iter().filter(|(name, _)| !left.contains(name)) {
        dir.create(name).unwrap().append(bytes).unwrap();
    }
    let report = repair_to(&options, "/new").unwrap();
    let is_old = |doubt: &cairndb::Doubt| doubt.kind == DoubtKind::Manifest;
    assert!(report.doubts.iter().any(is_old), "{report}");
    let db = options.open("/new").unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
    db.close().unwrap();
}

/// With the feature, the tests of `cairndb-testkit` repair such directories.
#[test]
#[cfg(not(feature = "leveldb"))]
fn a_leveldb_directory_is_refused_without_the_feature() {
    use cairndb_leveldb::{NewDatabase, WriteOptions};

    let (env, options) = in_memory(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    let mut new = NewDatabase::create(&dir, WriteOptions::default()).unwrap();
    new.put(b"key", b"value").unwrap();
    new.finish().unwrap();
    let before = files_of(&*dir);
    let error = fails_with(
        repair_to(&options, "/new"),
        ErrorKind::NotSupported,
        "LevelDB",
    );
    assert!(error.to_string().contains("feature `leveldb`"), "{error}");
    let error = options.open("/db").unwrap_err();
    assert!(error.to_string().contains("feature"), "{error}");
    let after = files_of(&*dir);
    let mut before = before.iter().filter(|(name, _)| *name != "LOCK");
    assert!(before.all(|(name, bytes)| after[name] == *bytes));
}

#[test]
fn unnamed_tables_are_included_only_on_request() {
    let dir = real_dir();
    let source = dir.path().join("source");
    let db = Db::open(&source).unwrap();
    db.put(b"deleted", b"value").unwrap();
    db.put(b"kept", b"value").unwrap();
    db.flush().unwrap();
    let old = &paths(&source, "tbl")[0];
    let table = std::fs::read(old).unwrap();
    db.delete(b"deleted").unwrap();
    db.compact_range(..).unwrap();
    db.close().unwrap();
    assert!(!paths(&source, "tbl").contains(old));
    std::fs::write(old, table).unwrap();
    let repair = |options: &RepairOptions, target: &str| {
        let target = dir.path().join(target);
        let report = cairndb::repair(&source, &target, options).unwrap();
        let db = Db::open(&target).unwrap();
        let found = db.get(b"deleted").unwrap().is_some();
        assert!(db.get(b"kept").unwrap().is_some());
        db.close().unwrap();
        (report, found)
    };
    let plain = RepairOptions::new(&Options::new());
    let (report, found) = repair(&plain, "apart");
    assert!(report.is_complete() && !found, "{report}");
    let unnamed: Vec<_> = report
        .unnamed
        .iter()
        .map(|it| (it.entries, it.included))
        .collect();
    assert_eq!(unnamed, [(2, false)]);
    let (report, found) = repair(&plain.include_unnamed(true), "included");
    let is_named = found && report.unnamed[0].included;
    assert!(is_named && !report.is_complete(), "{report}");
}

/// Files by name.
pub(crate) type Files = std::collections::BTreeMap<String, Vec<u8>>;

pub(crate) fn files_of(dir: &dyn Dir) -> Files {
    let read = |name: String| {
        let file = dir.open_read(&name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        (name, bytes)
    };
    dir.list().unwrap().into_iter().map(read).collect()
}

/// Writes fifty keys, and returns the files of the open database after 25 of them and after all,
/// and the name of the log.
pub(crate) fn files_of_unclosed() -> (Files, Files, String) {
    let (env, options) = in_memory(Background::Stepped);
    let db = options.open("/db").unwrap();
    let dir = env.open_dir(Path::new("/db"), false).unwrap();
    let mut older = Files::new();
    for number in 0..50u8 {
        if number == 25 {
            older = files_of(&*dir);
        }
        db.put(&[number], &[number; 20]).unwrap();
    }
    let newer = files_of(&*dir);
    let mut names = newer.keys();
    let log = names.find(|name| older[*name] != newer[*name]);
    let log = log.unwrap().clone();
    (older, newer, log)
}

/// Repairs a directory with these files.
fn repair_files(files: &Files) -> cairndb::RepairReport {
    let (env, options) = in_memory(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    for (name, bytes) in files {
        dir.create(name).unwrap().append(bytes).unwrap();
    }
    repair_to(&options, "/new").unwrap()
}

#[test]
fn a_log_is_read_under_another_name_beside_an_older_copy_of_it() {
    let (older, newer, log) = files_of_unclosed();
    for (of_this_name, of_another) in [(&older, &newer), (&newer, &older)] {
        let mut files = newer.clone();
        files.insert(log.clone(), of_this_name[&log].clone());
        files.insert("000999.log".to_owned(), of_another[&log].clone());
        let report = repair_files(&files);
        assert_eq!(report.kept.log_entries, 50, "{report}");
        assert!(report.lost.is_empty(), "{report}");
        let mut copies = report.harmless.iter();
        assert!(copies.any(|it| it.reason.contains("copy")), "{report}");
    }
}

#[test]
fn a_log_without_a_header_is_read_under_another_name() {
    let (_, mut files, log) = files_of_unclosed();
    let mut bytes = files.remove(&log).unwrap();
    // The header and the first records.
    bytes[..1_000].fill(0);
    files.insert("000999.log".to_owned(), bytes);
    let report = repair_files(&files);
    assert!((20..50).contains(&report.kept.keys), "{report}");
    assert_eq!(report.lost[0].file, "000999.log", "{report}");
}

/// Returns a simulated environment with a database that was not closed, and options for it.
fn crashed() -> (Arc<SimEnv>, Options) {
    let env = SimEnv::new(3);
    let options = appending().env(env.clone());
    let db = options.open("/db").unwrap();
    fill(&db);
    db.step_background(Job::Persist).unwrap();
    drop(db);
    (env, options)
}

#[test]
fn a_repair_without_room_removes_what_it_wrote() {
    for capacity in (200_000..1_200_000).step_by(100_000) {
        let (env, options) = crashed();
        let used = env.open_dir(Path::new("/db"), false).unwrap();
        env.set_capacity(capacity);
        match repair_to(&options, "/new") {
            Ok(report) => assert!(report.kept.keys > 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                let left = env.open_dir(Path::new("/new"), false);
                assert!(left.is_err() || left.unwrap().list().unwrap().is_empty());
            }
        }
        assert!(!used.list().unwrap().is_empty());
    }
}
