//! A follower's answers are the writer's, whatever the writer does.

use cairndb::env::random::Random;
use cairndb::{Add, Durability, KeyspaceOptions, MergeOperator, WriteBatch, WriteOptions};

use super::*;

/// Draws a key of a few hundred.
fn key(random: &mut Random) -> Vec<u8> {
    format!("key{:05}", random.index(600)).into_bytes()
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = match random.index(40) {
        0 => 9_000 + random.index(2_000),
        1..10 => random.index(2_000),
        _ => random.index(100),
    };
    let byte = u8::try_from(random.index(256)).unwrap();
    vec![byte; len]
}

/// Does one random thing to the database.
fn act(db: &Db, random: &mut Random) {
    let sync = WriteOptions::new().durability(Durability::Sync);
    match random.index(1_000) {
        0..500 => db.put(&key(random), &value(random)).unwrap(),
        500..620 => db.delete(&key(random)).unwrap(),
        620..700 => db.merge(&key(random), &value(random)).unwrap(),
        700..720 => {
            let (a, b) = (key(random), key(random));
            db.delete_range(a.min(b.clone())..b).unwrap();
        }
        720..800 => {
            let mut batch = WriteBatch::new();
            for _ in 0..random.index(60) {
                match random.index(4) {
                    0 => batch.delete(&key(random)),
                    _ => batch.put(&key(random), &value(random)),
                }
            }
            db.write_with(&batch, &sync).unwrap();
        }
        800..960 => {
            let name = format!("space{}", random.index(4));
            let options = match random.index(3) {
                0 => KeyspaceOptions::new().merge_operator(Add.name()),
                _ => KeyspaceOptions::new(),
            };
            if !db.keyspaces().contains(&name) {
                db.create_keyspace(&name, &options).unwrap();
            } else if random.index(40) == 0 {
                db.drop_keyspace(&name).unwrap();
                return;
            }
            let space = db.keyspace(&name).unwrap();
            if random.index(10) == 0 {
                space.delete_range(key(random)..).unwrap();
            } else {
                space.put(&key(random), &value(random)).unwrap();
            }
        }
        960..975 => db.flush().unwrap(),
        975..980 => db.compact_range(..).unwrap(),
        _ => db.put_with(&key(random), &value(random), &sync).unwrap(),
    }
}

#[track_caller]
fn check(db: &Db, follower: &Db, random: &mut Random, seed: u64, step: usize) {
    for _ in 0..3 {
        let key = key(random);
        let (expected, found) = (db.get(&key).unwrap(), follower.get(&key).unwrap());
        assert_eq!(found, expected, "{key:?}, seed {seed}, step {step}");
    }
    if step.is_multiple_of(50) {
        assert!(entries(db) == entries(follower), "seed {seed}, step {step}");
        assert_eq!(db.keyspaces(), follower.keyspaces(), "seed {seed}");
        for name in db.keyspaces() {
            let [ours, theirs] = [db, follower].map(|db| {
                let space = db.keyspace(&name).unwrap();
                let entries = space.iter().map(|entry| entry.unwrap());
                entries.map(owned).collect::<Entries>()
            });
            assert!(ours == theirs, "{name}, seed {seed}, step {step}");
        }
    }
}

#[test]
fn every_answer_is_the_writers() {
    for seed in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        let mut random = Random::new(seed);
        let mut db = options().open(&dir).unwrap();
        let mut follower = follow(dir.path());
        let mut snapshots = Vec::new();
        for step in 0..2_500 {
            act(&db, &mut random);
            check(&db, &follower, &mut random, seed, step);
            match random.index(300) {
                0 => {
                    drop(follower);
                    follower = follow(dir.path());
                    snapshots.clear();
                }
                1 => {
                    db.close().unwrap();
                    drop(db);
                    db = options().open(&dir).unwrap();
                }
                2..6 => snapshots.push((follower.snapshot(), entries(&db))),
                _ => {}
            }
            if snapshots.len() > 3 {
                drop(snapshots.remove(random.index(3)));
            }
            if step.is_multiple_of(40) {
                for (snapshot, expected) in &snapshots {
                    assert!(
                        entries_at(snapshot) == *expected,
                        "seed {seed}, step {step}"
                    );
                }
            }
        }
    }
}

#[test]
fn keyspaces_are_seen_without_a_read_of_keys() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let follower = follow(dir.path());
    let space = db
        .create_keyspace("stones", &KeyspaceOptions::new())
        .unwrap();
    space.put(b"granite", b"grey").unwrap();
    let found = follower.keyspace("stones").unwrap();
    assert!(found.contains(b"granite").unwrap());
    db.create_keyspace("trees", &KeyspaceOptions::new())
        .unwrap();
    assert_eq!(follower.keyspaces(), ["stones", "trees"]);
    db.drop_keyspace("stones").unwrap();
    assert_eq!(follower.keyspaces(), ["trees"]);
    assert!(follower.keyspace("stones").is_err());
}
