//! Repair of databases with keyspaces: what is intact stays in its keyspace, and what was dropped
//! stays away.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::{Background, Env};
use cairndb::{Compression, Db, ErrorKind, KeyspaceOptions, Options, RepairOptions};

use crate::repairs::{Files, files_of, repair_to};
use crate::{Reverse, fails_with, in_memory};

/// Entries of all keyspaces, by name; `None` is the default one.
pub(crate) type ByKeyspace = std::collections::BTreeMap<Option<String>, Vec<(Vec<u8>, Vec<u8>)>>;

pub(crate) fn is_table(name: &str) -> bool {
    Path::new(name).extension() == Some("tbl".as_ref())
}

pub(crate) fn all_keyspaces(db: &Db) -> ByKeyspace {
    let read = |iter: cairndb::Iter| {
        let entries = iter.map(|entry| {
            let (key, value) = entry.unwrap();
            (key.into_vec(), value.into_vec())
        });
        entries.collect::<Vec<_>>()
    };
    let names = db.keyspaces().into_iter();
    let others = names.map(|name| (Some(name.clone()), read(db.keyspace(&name).unwrap().iter())));
    others.chain([(None, read(db.iter()))]).collect()
}

/// Writes to the default keyspace and to `a`, `gone`, `b` and the reversed `r`: one table of each
/// section for each of two rounds, the second of which drops `gone`, and a log.
fn files_with_keyspaces() -> (Options, Files, ByKeyspace) {
    let (env, options) = in_memory(Background::Stepped);
    let options = options.register_comparator(Arc::new(Reverse));
    let options = options.memory_budget(4 << 20);
    let db = options.open("/db").unwrap();
    let plain = KeyspaceOptions::new();
    let [a, gone, b] = ["a", "gone", "b"].map(|name| db.create_keyspace(name, &plain).unwrap());
    let reverse = plain
        .clone()
        .comparator("test.Reverse")
        .merge_operator(cairndb::MergeOperator::name(&cairndb::Add));
    let [r, gone_too] = ["r", "gone too"].map(|name| db.create_keyspace(name, &reverse).unwrap());
    let large = db
        .create_keyspace("large", &reverse.compression(Compression::None))
        .unwrap();
    let put = |number: u32, value: &str| {
        let key = format!("key{number:04}");
        db.put(key.as_bytes(), value.as_bytes()).unwrap();
        for keyspace in [&a, &gone, &b, &r, &gone_too]
            .iter()
            .filter(|it| !it.is_dropped())
        {
            let value = format!("{} {value}", keyspace.name());
            keyspace.put(key.as_bytes(), value.as_bytes()).unwrap();
        }
    };
    (0..500).for_each(|number| put(number, "old value of some length"));
    large.put(b"large", &[7; 20_000]).unwrap();
    db.flush().unwrap();
    db.drop_keyspace("gone").unwrap();
    db.drop_keyspace("gone too").unwrap();
    (0..500).step_by(3).for_each(|number| put(number, "new"));
    db.flush().unwrap();
    (0..500).step_by(7).for_each(|number| put(number, "logged"));
    r.delete(b"key0001").unwrap();
    r.merge(b"sum", &5_u64.to_le_bytes()).unwrap();
    db.create_keyspace("empty", &KeyspaceOptions::new())
        .unwrap();
    let dir = env.open_dir(Path::new("/db"), false).unwrap();
    (options, files_of(&*dir), all_keyspaces(&db))
}

/// Repairs a directory with these files, and returns the report and the entries.
pub(crate) fn repair_keyspaces(
    options: &Options,
    files: &Files,
) -> (cairndb::RepairReport, ByKeyspace) {
    let env = in_memory(Background::Stepped).0;
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    for (name, bytes) in files {
        dir.create(name).unwrap().append(bytes).unwrap();
    }
    let options = options.clone().env(env);
    let dry_run = RepairOptions::new(&options).dry_run(true);
    let mut planned = cairndb::repair("/db", "/new", &dry_run).unwrap();
    planned.dry_run = false;
    let report = repair_to(&options, "/new").unwrap();
    assert_eq!(report, planned);
    cairndb::verify("/new", &options).unwrap();
    let db = options.open("/new").unwrap();
    let found = all_keyspaces(&db);
    let keys: usize = found.values().map(Vec::len).sum();
    assert_eq!(report.kept.keys, keys as u64);
    let again = db
        .create_keyspace("again", &KeyspaceOptions::new())
        .unwrap();
    assert_eq!(again.iter().count(), 0);
    db.compact_range(..).unwrap();
    db.close().unwrap();
    (report, found)
}

#[test]
fn keyspaces_keep_their_entries_and_dropped_ones_stay_dropped() {
    let (options, files, expected) = files_with_keyspaces();
    let (report, found) = repair_keyspaces(&options, &files);
    assert!(report.lost.is_empty(), "{report}");
    assert!(found == expected, "{report}");
}

/// Each table loses its first page in turn: only keys that the report names differ.
#[test]
fn losses_name_the_keyspaces() {
    let (options, files, expected) = files_with_keyspaces();
    let mut touched = std::collections::BTreeSet::new();
    for name in files.keys().filter(|name| is_table(name)) {
        let mut damaged = files.clone();
        damaged.get_mut(name).unwrap()[100] ^= 1;
        let (report, found) = repair_keyspaces(&options, &damaged);
        assert_eq!(report.lost.len(), 1, "{report}");
        let span = &report.lost[0].keys;
        touched.extend(span.keyspaces.iter().cloned());
        for (keyspace, entries) in &expected {
            let is_named = match keyspace {
                Some(keyspace) => span.keyspaces.contains(keyspace),
                None => span.keyspaces.is_empty(),
            };
            assert!(
                is_named || found[keyspace] == *entries,
                "{keyspace:?} {report}"
            );
        }
        assert!(found != expected, "{report}");
    }
    assert!(
        touched.contains("a") && touched.contains("r"),
        "{touched:?}"
    );
    assert!(!touched.contains("gone"), "{touched:?}");
}

#[test]
fn without_manifests_keyspaces_get_invented_names() {
    let (options, mut files, expected) = files_with_keyspaces();
    files.retain(|name, _| !name.starts_with("MANIFEST"));
    // The section of a table without its last page is seen from its keys.
    let tables: Vec<_> = files.keys().filter(|it| is_table(it)).cloned().collect();
    for name in [None].into_iter().chain(tables.iter().map(Some)) {
        let mut files = files.clone();
        if let Some(table) = name.and_then(|name| files.get_mut(name)) {
            *table.last_mut().unwrap() ^= 1;
        }
        let (report, found) = repair_keyspaces(&options, &files);
        let invented = |number: &str| found[&Some(format!("keyspace-{number}"))].clone();
        let named = |name: &str| expected[&Some(name.to_owned())].clone();
        assert!(invented("2") == named("a"), "{report}");
        assert!(invented("6") == named("b"), "{report}");
        assert!(found[&None] == expected[&None], "{report}");
        let of_r = |keys: &cairndb::KeySpan| keys.keyspaces == ["keyspace-2147483648"];
        assert!(report.lost.iter().any(|loss| of_r(&loss.keys)), "{report}");
        assert_eq!(found.len(), 4, "`gone` is back: {report}");
    }
}

#[test]
fn a_keyspaces_comparator_must_be_registered() {
    let (_, files, _) = files_with_keyspaces();
    let (env, options) = in_memory(Background::Stepped);
    let dir = env.open_dir(Path::new("/db"), true).unwrap();
    for (name, bytes) in &files {
        dir.create(name).unwrap().append(bytes).unwrap();
    }
    let kind = ErrorKind::InvalidArgument;
    let error = fails_with(repair_to(&options, "/new"), kind, "test.Reverse");
    assert!(error.to_string().contains("keyspace \"r\""), "{error}");
}
