//! Calls that read and write as one step: both ends, `retain`; and the estimate of a count.

use std::collections::BTreeSet;
use std::sync::Mutex;

use cairndb::env::random::Random;
use cairndb::{Job, Result, Value};

use crate::{Entry, database, entries, owned, variable};

/// Checks the entry that a call returns; an empty key stands for none.
#[track_caller]
fn yields(entry: Result<Option<(Value, Value)>>, key: &str, value: &str) {
    let expected = (!key.is_empty()).then(|| (key.into(), value.into()));
    assert_eq!(owned(entry.unwrap()), expected);
}

#[test]
fn both_ends_are_read_and_taken() {
    let db = database();
    yields(db.first(), "", "");
    yields(db.pop_last(), "", "");
    for (key, value) in [("b", "2"), ("a", "1"), ("d", "4"), ("c", "3")] {
        db.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    let snapshot = db.snapshot();
    yields(db.first(), "a", "1");
    yields(db.last(), "d", "4");
    yields(db.pop_first(), "a", "1");
    yields(db.pop_last(), "d", "4");
    yields(db.first(), "b", "2");
    yields(snapshot.first(), "a", "1");
    yields(snapshot.last(), "d", "4");
    let transaction = db.transaction();
    transaction.put(b"a", b"own").unwrap();
    yields(transaction.pop_first(), "a", "own");
    yields(transaction.pop_first(), "b", "2");
    yields(transaction.first(), "c", "3");
    yields(transaction.last(), "c", "3");
    yields(transaction.pop_last(), "c", "3");
    yields(transaction.pop_last(), "", "");
    yields(db.first(), "b", "2");
    transaction.commit().unwrap();
    yields(db.first(), "", "");
}

/// Every entry is taken by one thread, and each thread takes them in order, while others are put.
#[test]
fn threads_that_pop_get_different_entries_in_order() {
    const ENTRIES: u32 = 4_000;
    let db = database();
    let key = |n: u32| format!("job {n:08}").into_bytes();
    (0..ENTRIES / 2).for_each(|n| db.put(&key(n), b"work").unwrap());
    let taken = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| (ENTRIES / 2..ENTRIES).for_each(|n| db.put(&key(n), b"work").unwrap()));
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = Vec::new();
                while taken.lock().unwrap().len() < ENTRIES as usize {
                    let Some((key, _)) = db.pop_first().unwrap() else {
                        std::thread::yield_now();
                        continue;
                    };
                    assert!(*key > *last, "the first entry is never before one taken");
                    last = key.into_vec();
                    assert!(taken.lock().unwrap().insert(last.clone()), "taken twice");
                }
            });
        }
    });
    assert!(db.first().unwrap().is_none());
}

#[test]
fn retain_removes_what_is_not_kept_and_nothing_else() {
    let db = database();
    let key = |n: u32| format!("{n:05}").into_bytes();
    (0..5_000).for_each(|n| db.put(&key(n), &n.to_le_bytes()).unwrap());
    let odd = |_: &[u8], value: &[u8]| value[0] % 2 == 1;
    let removed = db.retain(key(1_000)..key(4_000), odd).unwrap();
    assert_eq!(removed, 1_500);
    for n in 0..5_000 {
        let kept = !(1_000..4_000).contains(&n) || n % 2 == 1;
        assert_eq!(db.contains(&key(n)).unwrap(), kept, "{n}");
    }
    let transaction = db.transaction();
    let removed = transaction.retain(key(4_000).., |_, _| false).unwrap();
    assert_eq!(removed, 1_000);
    assert_eq!(transaction.range(key(4_000)..).try_count().unwrap(), 0);
    assert_eq!(db.range(key(4_000)..).try_count().unwrap(), 1_000);
    drop(transaction);
    assert_eq!(db.range(key(4_000)..).try_count().unwrap(), 1_000);
}

/// An entry that is written during the call is judged by its new value.
#[test]
fn retain_judges_what_was_written_meanwhile() {
    let db = database();
    for key in [b"a", b"b", b"c", b"d"] {
        db.put(key, b"old").unwrap();
    }
    let mut calls = 0;
    let removed = db.retain(.., |key, value| {
        calls += 1;
        if calls == 1 {
            db.put(b"b", b"new").unwrap();
            db.delete(b"c").unwrap();
            db.put(b"d", b"old").unwrap();
        }
        assert!(calls < 20 && !key.is_empty());
        value == b"new"
    });
    assert_eq!(removed.unwrap(), 2);
    yields(db.first(), "b", "new");
    assert_eq!(db.iter().try_count().unwrap(), 1);
}

#[test]
fn lent_entries_are_those_of_the_iterator() {
    let db = database();
    (0..1_000_u32).for_each(|n| db.put(&n.to_le_bytes(), &n.to_le_bytes()).unwrap());
    let range = || db.range([1, 1]..[200, 3]);
    let copied: Vec<Entry> = entries(range());
    let (mut entries, mut lent, mut back) = (range().lending(), Vec::new(), Vec::new());
    for turn in 0.. {
        let (entry, list) = match turn % 3 {
            0 => (entries.next_back(), &mut back),
            _ => (entries.next(), &mut lent),
        };
        let Some((key, value)) = entry.unwrap() else {
            break;
        };
        list.push((key.to_vec(), value.to_vec()));
    }
    lent.extend(back.into_iter().rev());
    assert_eq!(lent, copied);
    assert!(!copied.is_empty());
}

#[test]
fn a_cloned_cursor_moves_by_itself() {
    let db = database();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"").unwrap();
    }
    let mut cursor = db.cursor();
    assert!(!cursor.try_clone().unwrap().valid());
    cursor.seek(b"b").unwrap();
    db.put(b"bb", b"later").unwrap();
    let mut clone = cursor.try_clone().unwrap();
    cursor.prev().unwrap();
    clone.next().unwrap();
    assert_eq!((cursor.key(), clone.key()), (&b"a"[..], &b"c"[..]));
    let transaction = db.transaction();
    let mut cursor = transaction.cursor();
    cursor.seek(b"b").unwrap();
    let mut clone = cursor.try_clone().unwrap();
    clone.next().unwrap();
    assert_eq!((cursor.key(), clone.key()), (&b"b"[..], &b"bb"[..]));
}

/// Within a tenth of the truth in compacted databases with keys and values of uneven lengths.
#[test]
fn estimates_are_within_a_tenth_after_a_compaction() {
    const ENTRIES: u64 = 60_000;
    let first = variable("CAIRN_SEED", 1);
    for seed in first..first + 3 {
        let mut random = Random::new(seed);
        let options = crate::options().memory_budget(8 << 20);
        let db = options.open("/db").unwrap();
        let mut keys = BTreeSet::new();
        for n in 0..ENTRIES {
            // Clusters of keys, and longer values in some of them.
            let cluster = random.below(40);
            let number = random.below(1_000_000);
            let key = format!("{}/{cluster:03}/{number:07}", cluster % 3).into_bytes();
            let len = if cluster.is_multiple_of(5) { 300 } else { 20 };
            let value = vec![b'v'; len + random.index(len)];
            db.put(&key, &value).unwrap();
            keys.insert(key);
            if n % 10_000 == 0 {
                db.flush().unwrap();
            }
        }
        db.compact_range(..).unwrap();
        while db.step_background(Job::Persist).unwrap() {}
        let sorted: Vec<_> = keys.into_iter().collect();
        let mut worst = 0;
        for _ in 0..500 {
            let (a, b) = (random.index(sorted.len()), random.index(sorted.len()));
            let (from, to) = (a.min(b), a.max(b));
            let estimate = db.estimate_count(&sorted[from]..&sorted[to]).unwrap();
            let truth = (to - from) as u64;
            let error = estimate.abs_diff(truth);
            assert!(
                error * 10 <= truth.max(10),
                "seed {seed}: {estimate} for {truth}"
            );
            worst = worst.max(error * 100 / truth.max(1));
        }
        assert_eq!(db.estimate_count(..).unwrap(), sorted.len() as u64);
        println!("seed {seed}: off by {worst} % at most");
    }
}

/// Keys in memory are counted, many of them by their distribution.
#[test]
fn estimates_include_keys_in_memory() {
    let options = crate::options().memory_budget(64 << 20);
    let db = options.open("/db").unwrap();
    let key = |n: u32| format!("key {n:08}").into_bytes();
    (0..50_000).for_each(|n| db.put(&key(n), b"value").unwrap());
    let near = |range: std::ops::Range<u32>| {
        let estimate = db.estimate_count(key(range.start)..key(range.end)).unwrap();
        let truth = u64::from(range.end - range.start);
        let is_near = estimate.abs_diff(truth) * 10 <= truth;
        assert!(is_near, "{estimate} of {truth}");
    };
    near(100..300);
    near(0..50_000);
    near(10_000..30_000);
    assert_eq!(db.estimate_count(b"x".as_slice()..).unwrap(), 0);
    assert_eq!(db.estimate_count(..b"a".as_slice()).unwrap(), 0);
}
