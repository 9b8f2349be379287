//! Pops beside other writes: each takes the entry that is the end of the keys at that moment.

use std::collections::BTreeMap;

use cairndb::env::random::Random;
use cairndb::{Db, Job, WriteBatch};

use crate::{database, variable};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(n: u64) -> Vec<u8> {
    format!("{n:06}").into_bytes()
}

fn pop_first(db: &Db, contents: &mut Contents) {
    let popped = db.pop_first().unwrap();
    let popped = popped.map(|(key, value)| (key.into_vec(), value.into_vec()));
    assert_eq!(popped, contents.pop_first());
}

fn pop_last(db: &Db, contents: &mut Contents) {
    let popped = db.pop_last().unwrap();
    let popped = popped.map(|(key, value)| (key.into_vec(), value.into_vec()));
    assert_eq!(popped, contents.pop_last());
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
        let left = db.iter().map(|entry| entry.unwrap());
        let left = left.map(|(key, value)| (key.into_vec(), value.into_vec()));
        assert!(left.eq(contents), "seed {seed}");
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
    assert_eq!(
        db.pop_first().unwrap_err().kind(),
        cairndb::ErrorKind::Closed
    );
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
