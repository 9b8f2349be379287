//! Keys with many versions: a cursor does not step through all of them.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use cairndb::{Append, Comparator, Cursor, Db};

use crate::counting::Counting;
use crate::stepped;

const KEYS: u64 = 10;
const ROUNDS: u64 = 500;

fn key(n: u64) -> Vec<u8> {
    format!("hot {n:04}").into_bytes()
}

fn value(n: u64, round: u64) -> Vec<u8> {
    format!("{n} in round {round}").into_bytes()
}

/// Creates a database with ten keys that are overwritten repeatedly, with all versions in
/// memtables.
fn hot(order: &Arc<Counting>) -> Db {
    stepped()
        .memory_budget(16 << 20)
        .comparator(Arc::clone(order) as Arc<dyn Comparator>)
        .merge_operator(Arc::new(Append))
        .open("/db")
        .unwrap()
}

fn write_round(db: &Db, round: u64) {
    (0..KEYS).for_each(|n| db.put(&key(n), &value(n, round)).unwrap());
}

fn forward(cursor: &mut Cursor) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut seen = Vec::new();
    cursor.seek_to_first().unwrap();
    while cursor.valid() {
        seen.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next().unwrap();
    }
    seen
}

fn backward(cursor: &mut Cursor) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut seen = Vec::new();
    cursor.seek_to_last().unwrap();
    while cursor.valid() {
        seen.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev().unwrap();
    }
    seen.reverse();
    seen
}

/// Regression: a scan took one step for every version.
#[test]
fn versions_that_are_not_shown_are_not_walked() {
    let order = Arc::new(Counting::default());
    let db = hot(&order);
    write_round(&db, 0);
    let old = db.snapshot();
    (1..ROUNDS / 2).for_each(|round| write_round(&db, round));
    let middle = db.snapshot();
    (ROUNDS / 2..ROUNDS).for_each(|round| write_round(&db, round));
    let moments = [
        (old.cursor(), 0),
        (middle.cursor(), ROUNDS / 2 - 1),
        (db.cursor(), ROUNDS - 1),
    ];
    for (mut cursor, round) in moments {
        let expected: Vec<_> = (0..KEYS).map(|n| (key(n), value(n, round))).collect();
        let there = order.of(|| assert_eq!(forward(&mut cursor), expected, "round {round}"));
        let back = order.of(|| assert_eq!(backward(&mut cursor), expected, "round {round}"));
        // Each key has 500 versions.
        assert!(
            there < KEYS * 100 && back < KEYS * 100,
            "{there} and {back} comparisons in round {round}"
        );
    }
}

/// After a cursor has skipped versions, it may land on any kind of entry, in memtables and tables.
#[test]
fn keys_of_many_versions_are_shown_as_they_are() {
    let order = Arc::new(Counting::default());
    for flushed in [false, true] {
        let db = hot(&order);
        let mut moments = Vec::new();
        let mut expected: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let large = vec![b'v'; 10 << 10];
        for round in 0..4 {
            for _ in 0..20 {
                write_round(&db, round);
            }
            // Above more than twenty versions each: a tombstone, a value in a value file, operands.
            db.delete(&key(1)).unwrap();
            db.put(&key(3), &large).unwrap();
            (0..20).for_each(|_| db.merge(&key(5), b"+").unwrap());
            db.delete(&key(6)).unwrap();
            db.merge(&key(6), b"only").unwrap();
            if flushed {
                db.flush().unwrap();
            }
            expected.clear();
            for n in 0..KEYS {
                let shown = match n {
                    1 => continue,
                    3 => large.clone(),
                    5 => [value(n, round), vec![b'+'; 20]].concat(),
                    6 => b"only".to_vec(),
                    _ => value(n, round),
                };
                expected.push((key(n), shown));
            }
            moments.push((db.snapshot(), expected.clone()));
        }
        for (snapshot, expected) in &moments {
            let mut cursor = snapshot.cursor();
            assert_eq!(&forward(&mut cursor), expected, "flushed {flushed}");
            assert_eq!(&backward(&mut cursor), expected, "flushed {flushed}");
            // Move back and forth at each entry.
            for at in 1..expected.len() {
                cursor.seek(&expected[at].0).unwrap();
                cursor.prev().unwrap();
                assert_eq!(cursor.key(), expected[at - 1].0);
                assert_eq!(cursor.value(), expected[at - 1].1);
                cursor.next().unwrap();
                assert_eq!(cursor.key(), expected[at].0);
                assert_eq!(cursor.value(), expected[at].1);
            }
        }
    }
}

/// With one or two versions per run, a cursor does not search in either direction.
#[test]
fn a_few_versions_in_many_runs_are_walked() {
    let order = Arc::new(Counting::default());
    let comparisons = |versions: u64| {
        let db = hot(&order);
        let mut kept = Vec::new();
        for round in 0..versions {
            for n in 0..200 {
                db.put(&key(n), &value(n, round)).unwrap();
            }
            kept.push(db.snapshot());
            db.flush().unwrap();
        }
        let mut cursor = db.cursor();
        let back = order.of(|| assert_eq!(backward(&mut cursor).len(), 200));
        let there = order.of(|| assert_eq!(forward(&mut cursor).len(), 200));
        (back, there)
    };
    let (seven, nine) = (comparisons(7), comparisons(9));
    assert!(
        nine.0 < 2 * seven.0 && nine.1 < 2 * seven.1,
        "backward and forward: {seven:?} with seven versions, {nine:?} with nine"
    );
}

/// A cursor that changes direction searches instead of stepping over many entries.
#[test]
fn a_turn_walks_neither_newer_versions_nor_tombstones() {
    let order = Arc::new(Counting::default());
    let db = hot(&order);
    db.put(b"a", b"first").unwrap();
    db.put(b"k", b"shown").unwrap();
    let mut old = db.cursor();
    (0..5_000_u64).for_each(|n| db.put(b"k", &n.to_le_bytes()).unwrap());
    old.seek(b"k").unwrap();
    old.next().unwrap();
    old.seek(b"k").unwrap();
    let newer = order.of(|| old.prev().unwrap());
    assert_eq!(old.key(), b"a");
    assert!(newer < 500, "{newer} comparisons past newer versions");
    drop(old);

    let job = |n: u64| format!("m {n:06}").into_bytes();
    (0..5_000).for_each(|n| db.put(&job(n), b"job").unwrap());
    db.flush().unwrap();
    (0..4_999).for_each(|n| db.delete(&job(n)).unwrap());
    db.flush().unwrap();
    db.put(b"l", b"before them").unwrap();
    for _ in 0..2 {
        let mut cursor = db.cursor();
        cursor.seek(b"m").unwrap();
        assert_eq!(cursor.key(), job(4_999));
    }
    db.put(&job(5), b"again").unwrap();
    db.put(b"z", b"after them").unwrap();
    let mut cursor = db.cursor();
    cursor.seek(b"m").unwrap();
    assert_eq!(cursor.key(), job(5));
    let turned = order.of(|| cursor.prev().unwrap());
    assert_eq!(cursor.key(), b"l");
    assert!(turned < 500, "{turned} comparisons past tombstones");
}

/// Bytewise order until `on` is set. After that, keys that start with `lies` sort on the other side
/// of the hot key.
#[derive(Debug)]
struct Changed {
    lies: u8,
    on: AtomicBool,
}

const HOT: &[u8] = b"q hot";

impl Comparator for Changed {
    fn name(&self) -> &'static str {
        "test.Changed"
    }
    fn equality_is_identity(&self) -> bool {
        true
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = a.cmp(b);
        let lies = |key: &[u8], other: &[u8]| other == HOT && key.first() == Some(&self.lies);
        if self.on.load(Memory::Relaxed) && (lies(a, b) || lies(b, a)) {
            order.reverse()
        } else {
            order
        }
    }
}

/// Regression: a repositioned source could return to an earlier position of the cursor, and the
/// cursor never reached an end.
#[test]
fn cursors_end_under_a_comparator_that_changes() {
    for (lies, flushed) in [(b'p', false), (b'p', true), (b'z', false), (b'z', true)] {
        let order = Arc::new(Changed {
            lies,
            on: AtomicBool::new(false),
        });
        let db = stepped()
            .memory_budget(16 << 20)
            .comparator(Arc::clone(&order) as Arc<dyn Comparator>)
            .open("/db")
            .unwrap();
        let mut kept = Vec::new();
        for n in 0..60u8 {
            db.put(HOT, &[n; 3]).unwrap();
            kept.push(db.snapshot());
        }
        let other = |n: u32| [&[lies][..], format!("{n:04}").as_bytes()].concat();
        (0..300).for_each(|n| db.put(&other(n), b"").unwrap());
        kept.push(db.snapshot());
        (0..300).for_each(|n| db.delete(&other(n)).unwrap());
        db.delete(HOT).unwrap();
        if flushed {
            db.flush().unwrap();
        }
        order.on.store(true, Memory::Relaxed);
        // The results are undefined, but the calls must return.
        let mut cursor = db.cursor();
        let _ = cursor.seek_to_first();
        let _ = cursor.seek_to_last();
        for snapshot in &kept {
            let mut cursor = snapshot.cursor();
            let _ = cursor.seek_to_first();
            let _ = cursor.next();
            let _ = cursor.seek_to_last();
            let _ = cursor.prev();
        }
    }
}

/// An order in which one key is not equal to itself, like a floating-point NaN.
#[derive(Debug)]
struct Irreflexive;

impl Comparator for Irreflexive {
    fn name(&self) -> &'static str {
        "test.Irreflexive"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b"nan" {
            Ordering::Less
        } else {
            a.cmp(b)
        }
    }
}

#[test]
fn cursors_end_if_a_key_is_not_equal_to_itself() {
    for flushed in [false, true] {
        for operands in [false, true] {
            let db = stepped()
                .comparator(Arc::new(Irreflexive))
                .merge_operator(Arc::new(Append))
                .open("/db")
                .unwrap();
            for other in [&b"a"[..], b"z", b"nan"] {
                db.put(other, b"1").unwrap();
                if operands {
                    db.merge(other, b"2").unwrap();
                }
            }
            if flushed {
                // Writing a table may fail for keys that are out of order.
                let _ = db.flush();
            }
            for other in [&b"a"[..], b"z", b"nan"] {
                let _ = db.get(other);
            }
            let mut cursor = db.cursor();
            let mut steps = 0;
            let _ = cursor.seek_to_first();
            while cursor.valid() && steps < 20 && cursor.next().is_ok() {
                steps += 1;
            }
            assert!(steps < 20, "{steps} steps over three keys");
            steps = 0;
            let _ = cursor.seek_to_last();
            while cursor.valid() && steps < 20 && cursor.prev().is_ok() {
                steps += 1;
            }
            assert!(steps < 20, "{steps} steps backward over three keys");
            drop(cursor);
            let _ = db.compact_range(..);
        }
    }
}
