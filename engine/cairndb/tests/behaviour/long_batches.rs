//! Batches longer than what a flush takes, which are inserted into several memtables: visible at
//! once, within the memory budget, and not in the way of the next writer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cairndb::env::random::Random;
use cairndb::{Durability, Job, Options, Snapshot, WriteBatch, WriteOptions};

use crate::{Entries, all, appending, entries, field, real_dir, stepped, threaded};

/// The budget of the databases in memory too.
const BUDGET: usize = 256 << 10;

fn key(n: u64) -> Vec<u8> {
    format!("key {n:06}").into_bytes()
}

/// A batch that sets `count` keys to `round`, in random order.
fn batch(random: &mut Random, count: u64, round: u64) -> WriteBatch {
    let mut order: Vec<u64> = (0..count).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.index(at + 1));
    }
    let mut batch = WriteBatch::new();
    for n in order {
        let mut value = round.to_le_bytes().to_vec();
        value.resize(100, 7);
        batch.put(&key(n), &value);
    }
    batch
}

fn round_of(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().unwrap())
}

/// Readers of every kind see each batch whole or not at all, while it is inserted and flushed.
#[test]
fn readers_see_all_of_a_batch_or_nothing() {
    const KEYS: u64 = 3_000;
    let db = threaded().open("/db").unwrap();
    let mut random = Random::new(7);
    db.write(&batch(&mut random, KEYS, 0)).unwrap();
    let done = AtomicBool::new(false);
    let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let values = db.multi_get(&keys).unwrap();
                let rounds = values.iter().map(|value| round_of(value.as_ref().unwrap()));
                let first = round_of(values[0].as_ref().unwrap());
                assert!(rounds.into_iter().all(|round| round == first));
                assert!(first >= last, "a batch never disappears");
                last = first;
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let snapshot = db.snapshot();
                for entries in [db.iter(), snapshot.iter()] {
                    let rounds = entries.map(|entry| round_of(&entry.unwrap().1));
                    let mut seen: Vec<u64> = rounds.collect();
                    seen.dedup();
                    assert_eq!(seen.len(), 1, "a scan sees one batch");
                }
            }
        });
        for round in 1..=30 {
            let durability = [Durability::None, Durability::Os, Durability::Sync];
            let options = WriteOptions::new().durability(durability[(round % 3) as usize]);
            let batch = batch(&mut random, KEYS, round);
            db.write_with(&batch, &options).unwrap();
            let value = db.get(&key(round)).unwrap().unwrap();
            assert_eq!(round_of(&value), round, "the writer reads its batch");
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Long batches of several writers, some of which wait for their sync when the next one begins.
#[test]
fn long_batches_of_several_writers_wait_for_the_syncs_before() {
    const WRITERS: u64 = 4;
    const KEYS: u64 = 2_000;
    const ROUNDS: u64 = 12;
    let dir = real_dir();
    let options = Options::new().create_if_missing(true).memory_budget(BUDGET);
    let db = options.open(&dir).unwrap();
    let key = |writer: u64, n: u64| format!("writer {writer}, {n:06}").into_bytes();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let db = &db;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    let mut batch = WriteBatch::new();
                    for n in 0..KEYS {
                        let mut value = round.to_le_bytes().to_vec();
                        value.resize(100, 7);
                        batch.put(&key(writer, n), &value);
                    }
                    let durability = [Durability::Sync, Durability::Sync, Durability::Os];
                    let durability = durability[((writer + round) % 3) as usize];
                    let options = WriteOptions::new().durability(durability);
                    db.write_with(&batch, &options).unwrap();
                }
            });
        }
    });
    drop(db);
    let db = options.open(&dir).unwrap();
    assert_eq!(db.iter().try_count().unwrap(), WRITERS * KEYS);
    for writer in 0..WRITERS {
        let value = db.get(&key(writer, 7)).unwrap().unwrap();
        assert_eq!(round_of(&value), ROUNDS);
    }
}

/// Puts, deletes and operands of keys that occur several times, beside what was there before.
#[test]
fn a_long_batch_is_applied_in_order() {
    let db = appending().open("/db").unwrap();
    let mut contents: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut random = Random::new(11);
    let mut before: Option<(Snapshot, _)> = None;
    for _ in 0..6 {
        let mut batch = WriteBatch::new();
        for _ in 0..4_000 {
            let key = key(random.below(1_500));
            let value = vec![b'v'; 1 + random.index(60)];
            match random.below(4) {
                0 => {
                    batch.delete(&key);
                    contents.remove(&key);
                }
                1 => {
                    batch.merge(&key, &value);
                    contents.entry(key).or_default().extend(value);
                }
                _ => {
                    batch.put(&key, &value);
                    contents.insert(key, value);
                }
            }
        }
        db.write(&batch).unwrap();
        db.put(b"single", b"write").unwrap();
        contents.insert(b"single".to_vec(), b"write".to_vec());
        let now: Entries = contents.clone().into_iter().collect();
        assert!(all(&db) == now);
        if let Some((snapshot, then)) = before.replace((db.snapshot(), now)) {
            assert!(
                entries(snapshot.iter()) == then,
                "a snapshot keeps what it saw"
            );
        }
        while db.step_background(Job::Compact).unwrap() {}
    }
}

/// The memory of a batch forty times the budget stays within it, and what was written is in tables,
/// so that the next writer need not wait.
#[test]
fn a_long_batch_takes_no_more_memory_than_the_budget() {
    let db = stepped().open("/db").unwrap();
    let mut random = Random::new(13);
    db.write(&batch(&mut random, 100_000, 1)).unwrap();
    let memory = |owner: &str| field(&db, "cairndb.memory", owner);
    assert_eq!(memory("sealed"), 0);
    assert!(memory("mutable") + memory("pooled") <= BUDGET as u64);
    assert!(db.step_background(Job::Persist).unwrap());
    assert_eq!(db.iter().try_count().unwrap(), 100_000);
}

/// After a crash the log has the whole batch, although some of it was in tables.
#[test]
fn a_long_batch_is_recovered_whole() {
    let options = stepped();
    let db = options.open("/db").unwrap();
    let mut random = Random::new(17);
    for round in 0..5 {
        db.write(&batch(&mut random, 2_000, round)).unwrap();
        db.put(b"single", b"write").unwrap();
    }
    db.checkpoint("/copy").unwrap();
    drop(db);
    for path in ["/db", "/copy"] {
        let db = options.open(path).unwrap();
        assert_eq!(db.iter().try_count().unwrap(), 2_001);
        for n in 0..2_000 {
            assert_eq!(round_of(&db.get(&key(n)).unwrap().unwrap()), 4);
        }
    }
}
