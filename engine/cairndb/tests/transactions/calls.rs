//! Calls that read and write as one step: both ends, `retain`; and the estimate of a count.

use std::collections::BTreeSet;
use std::sync::Mutex;

use cairndb::env::random::Random;
use cairndb::{Db, Job, Options};

use crate::{database, variable};

type Entry = (Vec<u8>, Vec<u8>);

fn owned(entry: Option<(cairndb::Value, cairndb::Value)>) -> Option<Entry> {
    entry.map(|(key, value)| (key.into_vec(), value.into_vec()))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "compared with what may be missing"
)]
fn pair(key: &str, value: &str) -> Option<Entry> {
    Some((key.as_bytes().to_vec(), value.as_bytes().to_vec()))
}

#[test]
fn both_ends_are_read_and_taken() {
    let db = database();
    assert_eq!(owned(db.first().unwrap()), None);
    assert_eq!(owned(db.pop_last().unwrap()), None);
    for (key, value) in [("b", "2"), ("a", "1"), ("d", "4"), ("c", "3")] {
        db.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    let snapshot = db.snapshot();
    assert_eq!(owned(db.first().unwrap()), pair("a", "1"));
    assert_eq!(owned(db.last().unwrap()), pair("d", "4"));
    assert_eq!(owned(db.pop_first().unwrap()), pair("a", "1"));
    assert_eq!(owned(db.pop_last().unwrap()), pair("d", "4"));
    assert_eq!(owned(db.first().unwrap()), pair("b", "2"));
    assert_eq!(owned(snapshot.first().unwrap()), pair("a", "1"));
    assert_eq!(owned(snapshot.last().unwrap()), pair("d", "4"));
    let transaction = db.transaction();
    transaction.put(b"a", b"own").unwrap();
    assert_eq!(owned(transaction.pop_first().unwrap()), pair("a", "own"));
    assert_eq!(owned(transaction.pop_first().unwrap()), pair("b", "2"));
    assert_eq!(owned(transaction.first().unwrap()), pair("c", "3"));
    assert_eq!(owned(transaction.last().unwrap()), pair("c", "3"));
    assert_eq!(owned(transaction.pop_last().unwrap()), pair("c", "3"));
    assert_eq!(owned(transaction.pop_last().unwrap()), None);
    assert_eq!(owned(db.first().unwrap()), pair("b", "2"));
    transaction.commit().unwrap();
    assert_eq!(owned(db.first().unwrap()), None);
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
    assert_eq!(owned(db.first().unwrap()), pair("b", "new"));
    assert_eq!(db.iter().try_count().unwrap(), 1);
}

#[test]
fn lent_entries_are_those_of_the_iterator() {
    let db = database();
    (0..1_000_u32).for_each(|n| db.put(&n.to_le_bytes(), &n.to_le_bytes()).unwrap());
    let range = || db.range([1, 1]..[200, 3]);
    let copied: Vec<Entry> = range().map(|entry| owned(entry.ok()).unwrap()).collect();
    let mut lent = Vec::new();
    let (mut entries, mut back) = (range().lending(), Vec::new());
    for turn in 0.. {
        let entry = if turn % 3 == 0 {
            entries.next_back().unwrap()
        } else {
            entries.next().unwrap()
        };
        let Some((key, value)) = entry else { break };
        let list = if turn % 3 == 0 { &mut back } else { &mut lent };
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
        let db: Db = Options::open(&options, "/db").unwrap();
        let mut keys = BTreeSet::new();
        for n in 0..ENTRIES {
            // Clusters of keys, and longer values in some of them.
            let cluster = random.below(40);
            let key = format!(
                "{}/{cluster:03}/{:07}",
                cluster % 3,
                random.below(1_000_000)
            );
            let len = if cluster.is_multiple_of(5) { 300 } else { 20 };
            db.put(key.as_bytes(), &vec![b'v'; len + random.index(len)])
                .unwrap();
            keys.insert(key.into_bytes());
            if n % 10_000 == 0 {
                db.flush().unwrap();
            }
        }
        db.compact_range(..).unwrap();
        while db.step_background(Job::Persist).unwrap() {}
        let sorted: Vec<_> = keys.into_iter().collect();
        let mut worst = 0.0_f64;
        for _ in 0..500 {
            let (a, b) = (random.index(sorted.len()), random.index(sorted.len()));
            let (from, to) = (a.min(b), a.max(b));
            let estimate = db.estimate_count(&sorted[from]..&sorted[to]).unwrap();
            let (truth, error) = ((to - from) as u64, estimate.abs_diff((to - from) as u64));
            assert!(
                error * 10 <= truth.max(10),
                "seed {seed}: {estimate} instead of {truth}"
            );
            worst = worst.max(
                f64::from(u32::try_from(error).unwrap())
                    / f64::from(u32::try_from(truth.max(1)).unwrap()),
            );
        }
        assert_eq!(db.estimate_count(..).unwrap(), sorted.len() as u64);
        println!("seed {seed}: off by {:.1} % at most", 100.0 * worst);
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
        assert!(
            estimate.abs_diff(truth) * 10 <= truth,
            "{estimate} of {truth}"
        );
    };
    near(100..300);
    near(0..50_000);
    near(10_000..30_000);
    assert_eq!(db.estimate_count(b"x".as_slice()..).unwrap(), 0);
    assert_eq!(db.estimate_count(..b"a".as_slice()).unwrap(), 0);
}
