//! Regression tests for bugs that the model test or reviews found, each reduced to a few lines.

use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::{Db, Options};

use crate::{all, all_backward, appending, keys, noise, real_dir, reverse, shown, stepped};

fn fill(db: &Db, keys: std::ops::Range<u32>, value: &[u8]) {
    for n in keys {
        db.put(&n.to_be_bytes(), value).unwrap();
    }
}

/// Regression: an absent bound was treated as the empty key, which is the last key in reverse
/// order.
#[test]
fn an_open_range_has_a_size_under_any_order() {
    let db = stepped().comparator(reverse()).open("/db").unwrap();
    fill(&db, 0..5_000, &[1; 60]);
    db.flush().unwrap();
    let whole = db.approximate_size(..).unwrap();
    assert!(whole > 50_000, "{whole}");
    assert_eq!(db.approximate_size(vec![0xff]..).unwrap(), whole);
}

#[derive(Debug)]
struct FoldCase;

impl cairndb::Comparator for FoldCase {
    fn name(&self) -> &'static str {
        "test.FoldCase"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }
}

fn fold_case() -> Options {
    appending().comparator(Arc::new(FoldCase))
}

/// Regression: a large value was tied to the exact bytes of its key and could not be read under an
/// equal key.
#[test]
fn a_large_value_is_found_under_every_equal_key() {
    let options = fold_case();
    let db = options.open("/db").unwrap();
    let large = vec![7; 20_000];
    db.put(b"Cairn", &large).unwrap();
    assert_eq!(db.get(b"cAIRN").unwrap().unwrap(), large);
    let snapshot = db.snapshot();
    db.merge(b"CAIRN", b"!").unwrap();
    db.compact_range(..).unwrap();
    assert_eq!(db.get(b"cairn").unwrap().unwrap().len(), 20_001);
    assert_eq!(snapshot.get(b"cairn").unwrap().unwrap(), large);
    drop(snapshot);
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(db.get(b"cairn").unwrap().unwrap().len(), 20_001);
}

/// Regression: backward scans returned the key of the oldest version. After a compaction even an
/// earlier snapshot returned the key of the newest version.
#[test]
fn a_scan_shows_the_key_as_last_written() {
    let db = fold_case().open("/db").unwrap();
    db.put(b"peak", b"1").unwrap();
    let snapshot = db.snapshot();
    db.delete(b"peaK").unwrap();
    db.put(b"PEAK", b"2").unwrap();
    for _ in 0..2 {
        assert_eq!(all(&db), [(b"PEAK".to_vec(), b"2".to_vec())]);
        assert_eq!(all_backward(&db), all(&db));
        for entry in [snapshot.iter().next(), snapshot.iter().next_back()] {
            assert_eq!(entry.unwrap().unwrap().0, b"peak");
        }
        db.compact_range(..).unwrap();
    }
}

/// Regression: the end of a prefix was computed for bytewise order even under other orders.
#[test]
fn a_prefix_under_another_order_ends_where_the_keys_do() {
    let db = fold_case().open("/db").unwrap();
    for key in ["ab", "abc", "abd", "aB", "abX", "b"] {
        db.put(key.as_bytes(), b"").unwrap();
    }
    assert_eq!(keys(db.prefix(b"abc")), [b"abc"]);
    // The first key at or after `ab` is spelled `aB`.
    assert!(keys(db.prefix(b"ab").rev()).is_empty());
    let db = stepped().comparator(reverse()).open("/other").unwrap();
    for key in ["a", "ab", "abc", "b"] {
        db.put(key.as_bytes(), b"").unwrap();
    }
    let counts = [db.prefix(b"ab").count(), db.prefix(b"ab").rev().count()];
    assert_eq!(counts, [1, 1]);
    assert_eq!(db.prefix(b"").rev().count(), 0, "the empty key is the last");
}

/// Regression: on the fast path, a lone seek to a key before the common prefix of a table's keys
/// landed on the first entry of the page that the rest of the key selected.
#[test]
fn a_lone_seek_before_the_first_key_finds_the_first() {
    let dir = real_dir();
    let db = Db::open(dir.path()).unwrap();
    let key = |n: u32| format!("user{n:06}");
    // Values that do not compress, not even in groups, because the fast path does not read pages of
    // groups.
    let mut random = Random::new(7);
    for n in 0..20_000_u32 {
        let value = noise(&mut random, 60);
        db.put(key(n).as_bytes(), &value).unwrap();
    }
    db.compact_range(..).unwrap();
    // The fast path reads only pages that have been verified.
    assert_eq!(db.iter().count(), 20_000);
    for round in 0..50 {
        let present = key(5_000 + round);
        for (sought, expected) in [
            ("item005000", Some(key(0))),
            ("usfr005000", None),
            (&present[..], Some(present.clone())),
        ] {
            let mut cursor = db.cursor();
            cursor.seek(sought.as_bytes()).unwrap();
            let found = shown(&cursor).map(|(key, _)| key);
            assert_eq!(found, expected.map(String::into_bytes), "seek {round}");
        }
    }
    let all = db.range(&b"item005000"[..]..).count();
    assert_eq!(all, 20_000);
    db.close().unwrap();
}
