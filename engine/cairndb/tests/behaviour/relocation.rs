//! Value garbage collection while other threads work.

use cairndb::Db;
use cairndb::env::random::Random;

use crate::{noise, threaded};

const KEYS: u32 = 200;
const ROUNDS: u32 = 12;

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// Returns a value that compresses to a fifth, or an incompressible value for some keys.
fn prose(n: u32, round: u32) -> Vec<u8> {
    if n % 7 == 3 {
        let mut random = Random::new(u64::from(n) << 32 | u64::from(round));
        return noise(&mut random, 20_000);
    }
    let line = |at: u32| format!("line {at} of text {n}, as it was put for the {round}th time\n");
    (0..400).flat_map(|at| line(at).into_bytes()).collect()
}

fn put(db: &Db, keys: impl Iterator<Item = u32>, round: u32) {
    for n in keys {
        db.put(&key(n), &prose(n, round)).unwrap();
    }
}

fn check(db: &Db) {
    for n in 0..KEYS {
        let found = db.get(&key(n)).unwrap();
        assert!(found.as_deref() == Some(&prose(n, ROUNDS)[..]), "key {n}");
    }
    let backwards = db.iter().rev().map(Result::unwrap);
    for ((found, value), n) in backwards.zip((0..KEYS).rev()) {
        assert!(found == key(n) && value == prose(n, ROUNDS), "key {n}");
    }
}

/// Two writers, a reader and two callers of `compact_range`, concurrently with the worker.
#[test]
fn values_are_moved_during_writes_reads_and_compactions() {
    let options = threaded()
        .memory_budget(1 << 20)
        .value_file_bytes(256 << 10);
    let db = options.open("/db").unwrap();
    put(&db, 0..KEYS, 0);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let db = &db;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    put(db, (0..KEYS).filter(|n| n % 2 == half), round);
                }
            });
            scope.spawn(move || {
                for _ in 0..6 {
                    db.compact_range(..).unwrap();
                }
            });
        }
        scope.spawn(|| {
            for step in 0..2000_u32 {
                let n = step.wrapping_mul(7919) % KEYS;
                let found = db.get(&key(n)).unwrap().unwrap();
                let round = (0..=ROUNDS).find(|round| prose(n, *round) == found[..]);
                assert!(round.is_some(), "key {n}");
            }
        });
    });
    check(&db);
    db.wait_idle().unwrap();
    check(&db);
    db.close().unwrap();
    cairndb::verify("/db", &options).unwrap();
    check(&options.open("/db").unwrap());
}
