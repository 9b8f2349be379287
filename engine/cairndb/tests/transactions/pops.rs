//! Pops beside other writes: each takes the entry that is the end of the keys at that moment.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use cairndb::env::random::Random;
use cairndb::{Comparator, Db, ErrorKind, Job, WriteBatch};

use crate::{Contents, database, entries, fails, options, owned, variable};

fn key(n: u64) -> Vec<u8> {
    format!("{n:06}").into_bytes()
}

fn pop_first(db: &Db, contents: &mut Contents) {
    assert_eq!(owned(db.pop_first().unwrap()), contents.pop_first());
}

fn pop_last(db: &Db, contents: &mut Contents) {
    assert_eq!(owned(db.pop_last().unwrap()), contents.pop_last());
}

fn put(db: &Db, contents: &mut Contents, key: Vec<u8>, value: u64) {
    db.put(&key, &value.to_le_bytes()).unwrap();
    contents.insert(key, value.to_le_bytes().to_vec());
}

/// One write that is not a pop: near the front, near the back, or anywhere.
fn write(db: &Db, contents: &mut Contents, random: &mut Random, n: u64) {
    let front = contents.first_key_value().map(|(key, _)| key.clone());
    let back = contents.last_key_value().map(|(key, _)| key.clone());
    let near = |key: Option<Vec<u8>>, end: &[u8]| {
        let mut key = key.unwrap_or_else(|| b"5".to_vec());
        key.truncate(6);
        key.extend_from_slice(end);
        key
    };
    match random.below(8) {
        0 | 1 => put(db, contents, key(random.below(1_000_000)), n),
        2 => put(db, contents, near(back, b"z"), n),
        3 => {
            let key = near(front, b"");
            db.delete(&key).unwrap();
            contents.remove(&key);
        }
        4 => put(db, contents, near(front, b"1"), n),
        5 => {
            let key = near(front, b"");
            db.merge(&key, b"+").unwrap();
            contents.entry(key).or_default().push(b'+');
        }
        6 => {
            // The second entry, which a kept cursor reaches next.
            if let Some(key) = contents.keys().nth(1).cloned() {
                db.delete(&key).unwrap();
                contents.remove(&key);
            }
        }
        _ => {
            let mut batch = WriteBatch::new();
            for at in 0..random.below(20) {
                let key = key(900_000 + random.below(100_000));
                batch.put(&key, &at.to_le_bytes());
                contents.insert(key, at.to_le_bytes().to_vec());
            }
            db.write(&batch).unwrap();
        }
    }
}

#[test]
fn pops_between_random_writes_take_the_ends() {
    let first = variable("CAIRN_SEED", 1);
    for seed in first..first + variable("CAIRN_LISTS", 300) / 10 {
        println!("pops of CAIRN_SEED={seed} CAIRN_LISTS=10");
        let mut random = Random::new(seed);
        let (db, mut contents) = (database(), Contents::new());
        for n in 0..2_000 {
            put(&db, &mut contents, key(random.below(1_000_000)), n);
        }
        // With few other writes most pops continue where the last one ended.
        let rarely = 1 + random.below(30);
        for n in 0..4_000 {
            match random.below(2 + rarely) {
                0 => write(&db, &mut contents, &mut random, n),
                1 => pop_last(&db, &mut contents),
                _ => pop_first(&db, &mut contents),
            }
            if random.below(500) == 0 {
                while db.step_background(Job::Flush).unwrap() {}
                while db.step_background(Job::Compact).unwrap() {}
            }
            if contents.len() < 10 {
                (0..1_000).for_each(|n| {
                    put(&db, &mut contents, key(random.below(1_000_000)), n);
                });
            }
        }
        assert!(entries::<Contents>(db.iter()) == contents, "seed {seed}");
    }
}

/// The cursor that a pop keeps must not keep memtables and tables that nothing else needs.
#[test]
fn what_a_pop_keeps_goes_with_its_view() {
    let db = database();
    (0..20_000).for_each(|n| db.put(&key(n), &[7; 100]).unwrap());
    assert!(db.pop_first().unwrap().is_some() && db.pop_last().unwrap().is_some());
    db.flush().unwrap();
    db.compact_range(..).unwrap();
    let memory = db.property("cairndb.memory").unwrap();
    assert!(memory.contains("\"pinned\":0,"), "{memory}");
    assert!(db.pop_first().unwrap().is_some());
    db.close().unwrap();
    fails(db.pop_first(), ErrorKind::Closed);
}

/// A queue: what is appended does not make a pop seek.
#[test]
fn a_queue_is_popped_in_order() {
    let db = database();
    let (mut head, mut tail) = (0, 0);
    let append = |tail: &mut u64| {
        db.put(&key(*tail), b"job").unwrap();
        *tail += 1;
    };
    for length in [1, 50, 3] {
        while tail - head < length {
            append(&mut tail);
        }
        for _ in 0..10_000 {
            append(&mut tail);
            while tail - head > length {
                let (popped, _) = db.pop_first().unwrap().expect("the queue is not empty");
                assert_eq!(*popped, key(head));
                head += 1;
            }
        }
    }
}

/// Pops of one transaction, between its own writes and rollbacks.
#[test]
fn a_transaction_pops_what_it_sees() {
    let first = variable("CAIRN_SEED", 1);
    for seed in first..first + variable("CAIRN_LISTS", 300) / 10 {
        println!("pops in transactions of CAIRN_SEED={seed} CAIRN_LISTS=10");
        let mut random = Random::new(seed);
        let (db, mut contents) = (database(), Contents::new());
        for n in 0..500 {
            put(&db, &mut contents, key(random.below(1_000)), n);
        }
        let transaction = db.transaction();
        let mut saved = (transaction.savepoint(), contents.clone());
        for n in 0..600_u64 {
            let key = key(random.below(1_000));
            match random.below(40) {
                0..18 => {
                    let popped = owned(transaction.pop_first().unwrap());
                    assert_eq!(popped, contents.pop_first(), "seed {seed}");
                }
                18..30 => {
                    let popped = owned(transaction.pop_last().unwrap());
                    assert_eq!(popped, contents.pop_last(), "seed {seed}");
                }
                30..35 => {
                    transaction.put(&key, &n.to_le_bytes()).unwrap();
                    contents.insert(key, n.to_le_bytes().to_vec());
                }
                35 => {
                    transaction.merge(&key, b"+").unwrap();
                    contents.entry(key).or_default().push(b'+');
                }
                36 => {
                    transaction.delete(&key).unwrap();
                    contents.remove(&key);
                }
                37 => saved = (transaction.savepoint(), contents.clone()),
                38 => {
                    transaction.rollback_to(&saved.0).unwrap();
                    contents.clone_from(&saved.1);
                }
                _ => assert_eq!(owned(transaction.first().unwrap()), {
                    let first = contents.first_key_value();
                    first.map(|(key, value)| (key.clone(), value.clone()))
                }),
            }
        }
        transaction.commit().unwrap();
        assert!(entries::<Contents>(db.iter()) == contents, "seed {seed}");
    }
}

/// A transaction depends on the keys from the end up to what it popped last, and on no others.
#[test]
fn pops_of_a_transaction_conflict_with_writes_in_their_range() {
    for (written, conflicts) in [(5, true), (95, true), (50, false), (19, true), (20, false)] {
        let db = database();
        (10..90).for_each(|n| db.put(&key(n), b"stored").unwrap());
        let transaction = db.transaction();
        for n in 10..20 {
            let (popped, _) = transaction.pop_first().unwrap().unwrap();
            assert_eq!(*popped, key(n));
            let (popped, _) = transaction.pop_last().unwrap().unwrap();
            assert_eq!(*popped, key(99 - n));
        }
        db.put(&key(written), b"other").unwrap();
        assert_eq!(transaction.commit().is_err(), conflicts, "{written}");
    }
}

/// Bytewise order that counts its comparisons.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &'static str {
        "tests.counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Memory::Relaxed);
        a.cmp(b)
    }
}

/// Regression: each pop stepped over everything that the transaction had popped before.
#[test]
fn pops_of_a_transaction_do_not_step_over_what_it_popped() {
    let order = Arc::new(Counting::default());
    let db = options().comparator(order.clone()).open("/db").unwrap();
    (0..20_000).for_each(|n| db.put(&key(n), b"job").unwrap());
    let transaction = db.transaction();
    let pops = |numbers: Range<u64>| {
        let before = order.0.load(Memory::Relaxed);
        for n in numbers {
            assert_eq!(*transaction.pop_first().unwrap().unwrap().0, key(n));
        }
        order.0.load(Memory::Relaxed) - before
    };
    let early = pops(0..100);
    pops(100..9_900);
    let late = pops(9_900..10_000);
    assert!(late < 4 * early, "{early} and {late} comparisons");
}
