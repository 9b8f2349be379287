//! Repair of databases with deleted ranges: an intact deletion holds, and nothing newer is lost.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::{Background, Env};
use cairndb::{Db, DoubtKind, KeyspaceOptions, Options, RepairReport};

use crate::repaired_keyspaces::{ByKeyspace, all_keyspaces, is_table, repair_keyspaces};
use crate::repairs::{Files, files_of};
use crate::{Reverse, in_memory};

/// Calls `write` for the default keyspace, `a`, and the reversed `r`.
fn in_each(db: &Db, write: impl Fn(&dyn Fn(u32, &str), &dyn Fn(u32, u32))) {
    let key = |number: u32| format!("key{number:04}").into_bytes();
    write(
        &|number, value| db.put(&key(number), value.as_bytes()).unwrap(),
        &|from, to| db.delete_range(key(from)..key(to)).unwrap(),
    );
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name).unwrap();
        let put = |number, value: &str| keyspace.put(&key(number), value.as_bytes()).unwrap();
        write(&put, &|from, to| {
            let (from, to) = if name == "r" {
                (to - 1, from - 1)
            } else {
                (from, to)
            };
            keyspace.delete_range(key(from)..key(to)).unwrap();
        });
    }
}

/// Deletes ranges of keys whose numbers a compaction has dropped: one before another compaction,
/// one before a flush, and one that is only in the log. Each has a newer key.
fn files_with_ranges() -> (Options, Files, ByKeyspace) {
    let (env, options) = in_memory(Background::Stepped);
    let options = options.register_comparator(Arc::new(Reverse));
    let options = options.memory_budget(4 << 20);
    let db = options.open("/db").unwrap();
    let plain = KeyspaceOptions::new();
    db.create_keyspace("a", &plain).unwrap();
    db.create_keyspace("r", &plain.comparator("test.Reverse"))
        .unwrap();
    let compact = || {
        db.flush().unwrap();
        db.compact_range(..).unwrap();
        for name in db.keyspaces() {
            db.keyspace(&name).unwrap().compact_range(..).unwrap();
        }
    };
    in_each(&db, |put, _| (0..500).for_each(|number| put(number, "old")));
    compact();
    in_each(&db, |put, delete| {
        delete(100, 200);
        put(150, "compacted");
    });
    compact();
    in_each(&db, |put, delete| {
        delete(300, 350);
        put(320, "flushed");
    });
    db.flush().unwrap();
    in_each(&db, |put, delete| {
        delete(340, 400);
        put(370, "logged");
    });
    let dir = env.open_dir(Path::new("/db"), false).unwrap();
    (options, files_of(&*dir), all_keyspaces(&db))
}

type Entry = (Vec<u8>, Vec<u8>);

fn says(report: &RepairReport, part: &str) -> bool {
    report
        .doubts
        .iter()
        .any(|doubt| doubt.reason.contains(part))
}

/// Checks that all live keys were found. A value may be an old one only where the report says that
/// the order is not known.
#[track_caller]
fn check_keys((found, live): (&[Entry], &[Entry]), report: &RepairReport) {
    let is_guess = |key: &Vec<u8>| {
        let mut doubts = report.doubts.iter();
        doubts.any(|doubt| doubt.kind == DoubtKind::Order && doubt.keys.first.as_ref() == Some(key))
    };
    for (key, value) in live {
        let known = found.iter().find(|(it, _)| it == key);
        let known = known.unwrap_or_else(|| panic!("{key:?} is lost: {report}"));
        assert!(known.1 == *value || is_guess(key), "{key:?}: {report}");
    }
}

#[test]
fn deleted_ranges_stay_deleted() {
    let (options, files, expected) = files_with_ranges();
    assert_eq!(expected[&None].len(), 500 - 200 + 3);
    let (report, found) = repair_keyspaces(&options, &files);
    assert!(report.lost.is_empty(), "{report}");
    assert!(!says(&report, "range"), "{report}");
    assert!(found == expected, "{report}");
}

#[test]
fn without_manifests_only_deletions_in_the_log_hold() {
    let (options, mut files, expected) = files_with_ranges();
    files.retain(|name, _| !name.starts_with("MANIFEST"));
    let (report, found) = repair_keyspaces(&options, &files);
    assert!(says(&report, "deletions of ranges that it held are lost"));
    let tables = files.keys().filter(|name| is_table(name));
    let named = tables.filter(|name| says(&report, &format!("applied in {name}: keys")));
    assert!(named.count() > 0, "{report}");
    check_keys((&found[&None], &expected[&None]), &report);
    let a = Some("a".to_owned());
    let invented = Some("keyspace-2".to_owned());
    check_keys((&found[&invented], &expected[&a]), &report);
}

/// Each part of the manifest is damaged in turn. Deleted keys are back only if the report says so.
#[test]
fn a_damaged_manifest_never_deletes_what_is_newer() {
    let (options, files, expected) = files_with_ranges();
    let manifests = files.keys().filter(|name| name.starts_with("MANIFEST"));
    let mut came_back = 0;
    for manifest in manifests {
        for at in (64..files[manifest].len()).step_by(61) {
            let mut damaged = files.clone();
            damaged.get_mut(manifest).unwrap()[at] ^= 1;
            let (report, found) = repair_keyspaces(&options, &damaged);
            check_keys((&found[&None], &expected[&None]), &report);
            if found[&None] != expected[&None] {
                assert!(says(&report, "ranges"), "{report}");
                came_back += 1;
            }
        }
    }
    assert!(came_back > 0);
}
