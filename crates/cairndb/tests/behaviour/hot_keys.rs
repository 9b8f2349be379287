//! Keys with many versions: a cursor does not walk them all.

use std::sync::Arc;

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

/// Ten keys that are written again and again, all of it in memtables.
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

/// A scan cost a step for each version there was.
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
        // Of 500 versions of each key.
        assert!(
            there < KEYS * 100 && back < KEYS * 100,
            "{there} and {back} comparisons in round {round}"
        );
    }
}

/// What a cursor goes past at once may end in every kind of entry, in memtables and tables.
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
            // Nothing, a value in a value file, operands: above twenty versions each.
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
            // To and fro about each entry.
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
