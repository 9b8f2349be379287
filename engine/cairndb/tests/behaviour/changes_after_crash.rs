//! A replica that stores the place of each change with what the change did is equal to its source
//! after any crash of both, without anything applied twice.

use std::sync::mpsc::channel;

use cairndb::env::Background;
use cairndb::env::random::Random;
use cairndb::{
    Append, BatchEntry, Change, ChangeKind, Changes, ChangesOptions, Db, Durability, ErrorKind,
    KeyspaceOptions, Options, Place, WriteBatch, WriteOptions,
};
use cairndb_sim::{Profile, SimEnv};
use std::sync::Arc;

use crate::{Entries, all, entries, noise};

/// Key of the replica under which the place is.
const PLACE: &[u8] = b"\0place";

fn options(env: &Arc<SimEnv>) -> Options {
    let options = Options::new().env(env.clone()).create_if_missing(true);
    options
        .memory_budget(256 << 10)
        .merge_operator(Arc::new(Append))
}

/// Applies a change and its place in one batch.
fn apply(replica: &Db, change: &Change) {
    let mut batch = WriteBatch::new();
    let keyspace = |name: &str| replica.keyspace(name).unwrap();
    match &change.kind {
        ChangeKind::KeyspaceCreated { name } => {
            // The place is stored after, so it may be there.
            let created = replica.create_keyspace(name, &KeyspaceOptions::new());
            let exists = created
                .as_ref()
                .is_err_and(|it| it.kind() == ErrorKind::InvalidArgument);
            assert!(created.is_ok() || exists);
        }
        ChangeKind::KeyspaceDropped { name } => {
            // The drop is durable at once. An older place would have what was written to the
            // keyspace applied again.
            replica.sync().unwrap();
            let dropped = replica.drop_keyspace(name);
            assert!(dropped.is_ok_and(|()| true) || replica.keyspace(name).is_err());
        }
        ChangeKind::Batch(entries) => {
            for (space, entry) in entries.iter() {
                let space = space.map(keyspace);
                let space = space.unwrap_or_else(|| replica.default_keyspace());
                match entry {
                    BatchEntry::Put { key, value } => batch.put_in(&space, key, value),
                    BatchEntry::Delete { key } => batch.delete_in(&space, key),
                    BatchEntry::Merge { key, operand } => batch.merge_in(&space, key, operand),
                    BatchEntry::DeleteRange { from, to: Some(to) } => {
                        batch.delete_range_in(&space, from..to);
                    }
                    BatchEntry::DeleteRange { from, to: None } => {
                        batch.delete_range_in(&space, from..);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        ChangeKind::Unlogged { .. } => {}
        other => panic!("{other:?}"),
    }
    batch.put(PLACE, change.place.to_string().as_bytes());
    replica.write(&batch).unwrap();
}

fn place(replica: &Db) -> Option<Place> {
    let stored = replica.get(PLACE).unwrap()?;
    Some(std::str::from_utf8(&stored).unwrap().parse().unwrap())
}

/// Continues where the replica is.
fn resumed(source: &Db, replica: &Db) -> cairndb::Result<Changes> {
    let lease = ChangesOptions::new().lease("replica");
    match place(replica) {
        Some(place) => source.changes(&lease.after(place)),
        None => source.changes(&lease),
    }
}

/// Applies all that is delivered. Returns how many changes that were.
fn follow(changes: &mut Changes, replica: &Db) -> usize {
    let mut count = 0;
    while let Some(change) = changes.try_next().unwrap() {
        assert_eq!(change.durability, Durability::Sync);
        apply(replica, &change);
        count += 1;
    }
    count
}

/// Returns everything that a database has, but the place.
fn contents(db: &Db) -> (Entries, Vec<(String, Entries)>) {
    let mut default = all(db);
    default.retain(|(key, _)| key != PLACE);
    let each = |name: String| {
        let found = entries(db.keyspace(&name).unwrap().iter());
        (name, found)
    };
    (default, db.keyspaces().into_iter().map(each).collect())
}

fn write(db: &Db, random: &mut Random) {
    let key = random.below(30).to_be_bytes();
    let durability = [Durability::Os, Durability::Os, Durability::Sync];
    let durability = WriteOptions::new().durability(durability[random.index(3)]);
    let mut batch = WriteBatch::new();
    for _ in 0..=random.below(3) {
        let len = if random.below(12) == 0 {
            9000
        } else {
            random.index(60)
        };
        let value = noise(random, len);
        match random.below(10) {
            0 => batch.delete(&key),
            1 => batch.delete_range(&key[..]..&random.below(30).to_be_bytes()[..]),
            2 => batch.merge(&key, &value),
            3 | 4 => match db.keyspace("space") {
                Ok(space) => batch.put_in(&space, &key, &value),
                Err(_) => batch.put(&key, &value),
            },
            _ => batch.put(&key, &value),
        }
    }
    db.write_with(&batch, &durability).unwrap();
    match random.below(60) {
        0 => db.flush().unwrap(),
        1 => db.compact_range(..).unwrap(),
        2 if db.keyspaces().is_empty() => {
            drop(
                db.create_keyspace("space", &KeyspaceOptions::new())
                    .unwrap(),
            );
        }
        2 => db.drop_keyspace("space").unwrap(),
        _ => {}
    }
}

/// Writes to a source and a replica, both of which are closed and opened at times.
fn run(options: &Options, seed: u64) {
    let mut random = Random::new(seed);
    let mut source = options.open("/source").unwrap();
    let mut replica = options.open("/replica").unwrap();
    let mut changes = resumed(&source, &replica).unwrap();
    for _ in 0..120 {
        write(&source, &mut random);
        match random.below(12) {
            0 => source.sync().unwrap(),
            1..4 => _ = follow(&mut changes, &replica),
            4 => {
                if let Some(place) = place(&replica) {
                    replica.sync().unwrap();
                    changes.acknowledge(place).unwrap();
                }
            }
            5 if random.below(4) == 0 => {
                drop(changes);
                source.close().unwrap();
                source = options.open("/source").unwrap();
                changes = resumed(&source, &replica).unwrap();
            }
            6 if random.below(4) == 0 => {
                replica.close().unwrap();
                replica = options.open("/replica").unwrap();
            }
            _ => {}
        }
    }
}

/// Opens both as they are after a crash, and checks that the replica becomes equal.
fn check(image: &Arc<SimEnv>, seed: u64) -> bool {
    let options = options(image).create_if_missing(false);
    let (Ok(source), Ok(replica)) = (options.open("/source"), options.open("/replica")) else {
        return false;
    };
    let begun = !source.leases().unwrap().is_empty();
    if !begun && place(&replica).is_none() {
        return false;
    }
    let mut changes = resumed(&source, &replica).unwrap();
    follow(&mut changes, &replica);
    assert_eq!(contents(&replica), contents(&source), "seed {seed}");
    // And goes on.
    let mut random = Random::new(seed);
    (0..10).for_each(|_| write(&source, &mut random));
    source.sync().unwrap();
    assert!(follow(&mut changes, &replica) > 0);
    assert_eq!(contents(&replica), contents(&source), "seed {seed}");
    true
}

#[test]
fn a_replica_is_equal_after_any_crash() {
    let mut checked = 0;
    for seed in 0..8 {
        let env = SimEnv::with(seed, Background::Stepped);
        let (sender, points) = channel();
        let mut number = 0_u64;
        env.watch(move |point| {
            number += 1;
            if number.is_multiple_of(5) {
                sender.send(point).unwrap();
            }
        });
        run(&options(&env), seed);
        env.unwatch();
        for point in points {
            for profile in [Profile::Kill, Profile::Weak] {
                for state in point.states(profile, seed, 3) {
                    checked += u32::from(check(&state.image, seed));
                }
            }
        }
    }
    assert!(checked > 100, "{checked}");
}
