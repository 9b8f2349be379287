//! Random lists of operations of one transaction beside other writes, against the oracle.

use std::collections::BTreeSet;
use std::ops::Bound;

use cairndb::env::random::Random;
use cairndb::{
    Db, ErrorKind, Isolation, Job, Savepoint, Transaction, TransactionCursor, TransactionOptions,
};

use crate::oracle::{Change, Oracle};
use crate::{Contents, Entry, database, entries, fails, variable};

const KEYS: u64 = 40;

fn key(random: &mut Random) -> Vec<u8> {
    let number = random.below(KEYS);
    // Some keys are prefixes of others.
    let key = format!("key {number:02}");
    key.as_bytes()[..if number.is_multiple_of(7) { 5 } else { 6 }].to_vec()
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.below(30) {
        0 => 9_000,
        1..=3 => 200,
        _ => random.index(12),
    };
    let byte = u8::try_from(random.below(256)).unwrap();
    vec![byte; len]
}

/// A write of the database beside the transaction, which it must not see.
fn other_write(db: &Db, contents: &mut Contents, random: &mut Random) -> Vec<u8> {
    let (key, value) = (key(random), value(random));
    match random.below(4) {
        0 => {
            db.delete(&key).unwrap();
            contents.remove(&key);
        }
        1 => {
            db.merge(&key, &value).unwrap();
            contents.entry(key.clone()).or_default().extend(&value);
        }
        _ => {
            db.put(&key, &value).unwrap();
            contents.insert(key.clone(), value);
        }
    }
    key
}

fn upkeep(db: &Db, random: &mut Random) {
    match random.below(8) {
        0 => db.flush().unwrap(),
        1 => db.compact_range(..).unwrap(),
        2 => drop(db.snapshot()),
        3 => drop(db.step_background(Job::IdleCompact).unwrap()),
        4 => drop(db.step_background(Job::Persist).unwrap()),
        _ => {}
    }
}

/// Compares the cursor with the nearest entry in `seen`.
fn check_cursor(cursor: &TransactionCursor<'_>, expected: Option<(&Vec<u8>, &Vec<u8>)>) {
    let found = cursor.valid().then(|| (cursor.key(), cursor.value()));
    let expected = expected.map(|(key, value)| (key.as_slice(), value.as_slice()));
    assert_eq!(found, expected);
}

/// Moves a cursor at random, with own writes in between, and records what it has passed.
fn walk(transaction: &Transaction, oracle: &mut Oracle, random: &mut Random) {
    let mut cursor = transaction.cursor();
    let start = key(random);
    let included = Bound::Included(start.as_slice());
    let (mut at, mut forward);
    match random.below(4) {
        0 => {
            cursor.seek_to_first().unwrap();
            (at, forward) = (oracle.seen.first_key_value(), true);
        }
        1 => {
            cursor.seek_to_last().unwrap();
            (at, forward) = (oracle.seen.last_key_value(), false);
        }
        2 => {
            cursor.seek(&start).unwrap();
            let range = (included, Bound::Unbounded);
            (at, forward) = (oracle.seen.range::<[u8], _>(range).next(), true);
        }
        _ => {
            cursor.seek_for_prev(&start).unwrap();
            let range = (Bound::Unbounded, included);
            (at, forward) = (oracle.seen.range::<[u8], _>(range).next_back(), false);
        }
    }
    check_cursor(&cursor, at);
    let steps = random.index(20);
    for _ in 0..steps {
        let Some(place) = at.map(|(key, _)| key.clone()) else {
            break;
        };
        if random.below(4) == 0 {
            write(transaction, oracle, random);
        }
        if random.below(5) == 0 {
            forward = !forward;
        }
        let beyond = Bound::Excluded(place.as_slice());
        if forward {
            cursor.next().unwrap();
            let range = (beyond, Bound::Unbounded);
            at = oracle.seen.range::<[u8], _>(range).next();
        } else {
            cursor.prev().unwrap();
            let range = (Bound::Unbounded, beyond);
            at = oracle.seen.range::<[u8], _>(range).next_back();
        }
        check_cursor(&cursor, at);
    }
    // How far a cursor has gone is checked by the tests of ranges; here it may be anywhere.
    drop(cursor);
    oracle.stray();
}

/// Scans a range completely, in either direction.
fn scan(transaction: &Transaction, oracle: &mut Oracle, random: &mut Random) {
    let (from, to) = (key(random), key(random));
    let range = transaction.range(&from..&to);
    let found: Vec<Entry> = if random.below(2) == 0 {
        let mut found: Vec<Entry> = entries(range.rev());
        found.reverse();
        found
    } else {
        entries(range)
    };
    oracle.scan(Bound::Included(&from), Bound::Excluded(&to));
    let mut inside = oracle.seen.clone();
    inside.retain(|key, _| (&from..&to).contains(&key));
    assert!(found.into_iter().eq(inside));
}

fn write(transaction: &Transaction, oracle: &mut Oracle, random: &mut Random) {
    let (key, end, value) = (key(random), key(random), value(random));
    let change = match random.below(11) {
        10 => {
            transaction.delete_range(&key..&end).unwrap();
            if key >= end {
                return;
            }
            Change::DeleteRange(end)
        }
        0..4 => {
            transaction.put(&key, &value).unwrap();
            Change::Put(value)
        }
        4..8 => {
            transaction.delete(&key).unwrap();
            Change::Delete
        }
        _ => {
            transaction.merge(&key, &value).unwrap();
            Change::Merge(value)
        }
    };
    oracle.write(&key, change);
}

fn turn(
    transaction: &Transaction,
    oracle: &mut Oracle,
    savepoints: &mut Vec<Savepoint>,
    random: &mut Random,
) {
    match random.below(12) {
        0..=3 => write(transaction, oracle, random),
        4..=6 => {
            let key = key(random);
            let (value, expected) = if random.below(3) == 0 {
                let value = transaction.get_for_update(&key);
                (value, oracle.get_for_update(&key))
            } else {
                (transaction.get(&key), oracle.get(&key))
            };
            assert_eq!(value.unwrap().as_deref(), expected.map(Vec::as_slice));
        }
        7 => scan(transaction, oracle, random),
        8 => walk(transaction, oracle, random),
        9 => {
            savepoints.push(transaction.savepoint());
            oracle.savepoint();
        }
        10 if !savepoints.is_empty() => {
            let index = random.index(savepoints.len());
            transaction.rollback_to(&savepoints[index]).unwrap();
            let later: Vec<_> = savepoints.drain(index + 1..).collect();
            for (savepoint, ended) in later.iter().zip(oracle.rollback_to(index)) {
                // One with the same writes still describes the current state.
                let refused = transaction.rollback_to(savepoint).is_err();
                assert_eq!(refused, ended);
            }
        }
        _ => {
            let keys: Vec<_> = (0..random.index(5)).map(|_| key(random)).collect();
            for (key, value) in keys.iter().zip(transaction.multi_get(&keys).unwrap()) {
                assert_eq!(value.as_deref(), oracle.get(key).map(Vec::as_slice));
            }
        }
    }
}

fn list(seed: u64) -> (bool, bool) {
    let mut random = Random::new(seed);
    let (db, mut contents) = (database(), Contents::new());
    for _ in 0..random.index(80) {
        other_write(&db, &mut contents, &mut random);
        upkeep(&db, &mut random);
    }
    let isolation = match random.below(4) {
        0 => Isolation::Snapshot,
        _ => Isolation::Serializable,
    };
    let transaction = db.transaction_with(&TransactionOptions::new().isolation(isolation));
    let (mut oracle, mut savepoints) = (Oracle::new(&contents), Vec::new());
    let others = [0, 0, 1, 20][random.index(4)];
    let mut written = BTreeSet::new();
    let turns = random.index(60);
    for _ in 0..turns {
        turn(&transaction, &mut oracle, &mut savepoints, &mut random);
        if others > 0 && random.below(60) < others {
            written.insert(other_write(&db, &mut contents, &mut random));
        }
        if random.below(8) == 0 {
            upkeep(&db, &mut random);
        }
    }
    let wrote = !transaction.is_empty();
    let result = transaction.commit();
    let conflicted = result.is_err();
    assert!(!conflicted || fails(result, ErrorKind::Conflict).key_text().is_some());
    let must = match isolation {
        Isolation::Serializable => oracle.conflicts(&written),
        _ => Some(oracle.overlaps(&written)),
    };
    let is_right = must.is_none_or(|must| must == conflicted);
    assert!(is_right, "{must:?}, but {conflicted}");
    if !conflicted {
        for (key, change) in oracle.writes() {
            change.apply(&mut contents, key);
        }
    }
    assert_eq!(entries::<Contents>(db.iter()), contents);
    (conflicted, wrote)
}

#[test]
fn random_lists_see_and_do_what_the_oracle_says() {
    let first = variable("CAIRN_SEED", 1);
    let lists = variable("CAIRN_LISTS", 300);
    let (mut conflicts, mut commits) = (0, 0);
    for seed in first..first + lists {
        println!("list {seed} (CAIRN_SEED={seed} CAIRN_LISTS=1)");
        let (conflicted, wrote) = list(seed);
        conflicts += u64::from(conflicted);
        commits += u64::from(wrote && !conflicted);
    }
    println!("{lists} lists from seed {first}: {commits} commits, {conflicts} conflicts");
    assert!(conflicts >= lists / 20 && commits >= lists / 4);
}
