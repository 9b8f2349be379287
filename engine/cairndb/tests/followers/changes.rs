//! The feed of changes through a follower delivers what the writer's own feed does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cairndb::env::random::Random;
use cairndb::{
    BatchEntry, Change, ChangeKind, Changes, ChangesOptions, ErrorKind, Job, KeyspaceOptions,
    Place, WriteBatch, WriteOptions,
};
use cairndb_sim::SimEnv;

use super::*;

/// Longer than a writer takes to notice a consumer, make durable what was written, and answer.
const LONG: Duration = Duration::from_secs(20);

/// Returns what happened in a change, without its time and durability.
fn line(change: &Change) -> String {
    let entries = match &change.kind {
        ChangeKind::Batch(entries) => entries,
        other => return format!("{} {other:?}", change.place),
    };
    let entries: Vec<String> = entries.iter().map(|it| format!("{it:?}")).collect();
    format!("{} {}", change.place, entries.join(" "))
}

/// Returns the changes up to a place, which is at the end of one.
fn until(changes: &mut Changes, place: Place) -> Vec<String> {
    let mut lines = Vec::new();
    while changes.place() != place {
        let change = changes.next_within(LONG).unwrap();
        lines.push(line(&change.expect("the place is reached")));
    }
    lines
}

/// Does `count` random things to a database.
fn write(db: &Db, random: &mut Random, count: usize) {
    let key = |random: &mut Random| format!("{:02}", random.index(60)).into_bytes();
    for _ in 0..count {
        let mut batch = WriteBatch::new();
        for _ in 0..=random.index(4) {
            let len = [10, 300, 9_000][random.index(3)];
            let value: Vec<u8> = (0..len)
                .map(|_| random.next_u64().to_le_bytes()[0])
                .collect();
            match (random.index(6), db.keyspace("space")) {
                (0, _) => batch.delete(&key(random)),
                (1, _) => batch.delete_range(key(random)..key(random)),
                (2, Ok(space)) => batch.put_in(&space, &key(random), &value),
                (3, _) => batch.merge(&key(random), &value[..10]),
                _ => batch.put(&key(random), &value),
            }
        }
        db.write(&batch).unwrap();
        match random.index(60) {
            0 => db.flush().unwrap(),
            1 => db.compact_range(..).unwrap(),
            2 if db.keyspaces().is_empty() => {
                drop(
                    db.create_keyspace("space", &KeyspaceOptions::new())
                        .unwrap(),
                );
            }
            3 if !db.keyspaces().is_empty() => db.drop_keyspace("space").unwrap(),
            4 => {
                let unlogged = WriteOptions::new().durability(cairndb::Durability::None);
                db.put_with(&key(random), b"unlogged", &unlogged).unwrap();
                db.flush().unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn both_feeds_deliver_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = options().open(&dir).unwrap();
    let mut random = Random::new(7);
    write(&db, &mut random, 100);
    let follower = follow(dir.path());
    let begin = db.place().unwrap();
    let options_here = ChangesOptions::new().lease("here");
    drop(db.changes(&options_here).unwrap());
    let mut there = follower
        .changes(&ChangesOptions::new().after(begin))
        .unwrap();
    for round in 0..4 {
        write(&db, &mut random, 300);
        let place = db.place().unwrap();
        let mut here = db.changes(&options_here).unwrap();
        let expected = until(&mut here, place);
        assert!(expected.len() > 250);
        assert_eq!(until(&mut there, place), expected, "round {round}");
        here.acknowledge(place).unwrap();
        drop(here);
        if round % 2 == 1 {
            // The next writer continues its history.
            db.close().unwrap();
            db = options().open(&dir).unwrap();
        }
    }
}

/// Numbers of segments begin again once nobody needs the log.
#[test]
fn a_feed_goes_on_over_writers_that_come_and_go() {
    for lease in [None, Some("held")] {
        for acknowledges in [1, 3] {
            let dir = tempfile::tempdir().unwrap();
            let db = options().open(&dir).unwrap();
            db.put(b"before", b"").unwrap();
            db.sync().unwrap();
            let follower = follow(dir.path());
            let wanted = ChangesOptions::new();
            let mut changes = follower
                .changes(&match lease {
                    Some(lease) => wanted.lease(lease),
                    None => wanted,
                })
                .unwrap();
            db.close().unwrap();
            for turn in 0..24 {
                let db = options().open(&dir).unwrap();
                for n in 0..=turn % 3 {
                    db.put(format!("{turn}-{n}").as_bytes(), &[b'v'; 40][..10 + n])
                        .unwrap();
                }
                let place = db.place().unwrap();
                let about = format!("{lease:?}, {acknowledges}, writer {turn}");
                if turn % 4 < 2 {
                    let lines = until(&mut changes, place);
                    assert_eq!(lines.len(), turn % 3 + 1, "{about}: {lines:?}");
                    changes.acknowledge(changes.place()).unwrap();
                }
                db.close().unwrap();
                while changes.place().seq < place.seq {
                    let change = changes.next_within(LONG).unwrap().expect("it was written");
                    assert!(
                        matches!(change.kind, ChangeKind::Batch(_)),
                        "{about}: {change:?}"
                    );
                }
                if turn % acknowledges == 0 {
                    changes.acknowledge(changes.place()).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_change_arrives_in_another_process_with_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"before", b"").unwrap();
    let follower = follow(dir.path());
    let unsynced = ChangesOptions::new().durability(cairndb::Durability::Os);
    let mut changes = follower.changes(&unsynced).unwrap();
    db.put(b"granite", b"grey").unwrap();
    let change = changes.next_within(LONG).unwrap().unwrap();
    let ChangeKind::Batch(entries) = &change.kind else {
        panic!("{change:?}")
    };
    let put = BatchEntry::Put {
        key: b"granite",
        value: b"grey",
    };
    assert_eq!(entries.iter().collect::<Vec<_>>(), [(None, put)]);
    // The writer notices the consumer, and logs the time from then on.
    let end = Instant::now() + LONG;
    while changes
        .next_within(Duration::ZERO)
        .unwrap()
        .is_none_or(|it| it.time.is_none())
    {
        db.put(b"granite", b"grey").unwrap();
        assert!(Instant::now() < end);
    }
    let mut durable = follower.changes(&ChangesOptions::new()).unwrap();
    db.put(b"slate", b"blue").unwrap();
    let change = durable.next_within(LONG).unwrap().unwrap();
    assert_eq!(change.durability, cairndb::Durability::Sync);
}

#[test]
fn a_keyspace_is_reported_although_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"before", b"").unwrap();
    let follower = follow(dir.path());
    let mut both = [&db, &follower].map(|db| db.changes(&ChangesOptions::new()).unwrap());
    db.create_keyspace("space", &KeyspaceOptions::new())
        .unwrap();
    for changes in &mut both {
        let change = changes.next_within(LONG).unwrap().expect("a keyspace");
        assert!(matches!(change.kind, ChangeKind::KeyspaceCreated { .. }));
    }
    let place = both[1].place();
    db.drop_keyspace("space").unwrap();
    let mut again = follower
        .changes(&ChangesOptions::new().after(place))
        .unwrap();
    for changes in both.iter_mut().chain([&mut again]) {
        let change = changes.next_within(LONG).unwrap().expect("its end");
        assert!(matches!(change.kind, ChangeKind::KeyspaceDropped { .. }));
    }
}

#[test]
fn the_writer_records_a_lease_that_a_follower_asks_for() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"a", b"1").unwrap();
    let follower = follow(dir.path());
    let lease = ChangesOptions::new().lease("index").bytes_max(64 << 20);
    let mut changes = follower.changes(&lease).unwrap();
    let leases = db.leases().unwrap();
    assert_eq!((&*leases[0].name, leases[0].place.seq), ("index", 1));
    let mut random = Random::new(3);
    write(&db, &mut random, 200);
    let half = db.place().unwrap();
    assert_eq!(follower.leases().unwrap(), leases);
    let delivered = until(&mut changes, half);
    assert!(
        delivered.len() > 150 && !delivered[0].contains("key: [97]"),
        "{delivered:?}"
    );
    changes.acknowledge(half).unwrap();
    write(&db, &mut random, 1_500);
    db.flush().unwrap();
    drop(changes);
    let place = db.place().unwrap();
    // It is durable, and the writer has taken note of what was acknowledged.
    db.close().unwrap();
    let leases = follower.leases().unwrap();
    assert_eq!((&*leases[0].name, leases[0].place.seq), ("index", half.seq));
    let mut changes = follower.changes(&lease).unwrap();
    assert!(until(&mut changes, place).len() > 1_000);
    let nobody = follower.drop_lease("index").unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::Locked);
    let db = options().open(&dir).unwrap();
    db.put(b"b", b"2").unwrap();
    let unknown = follower.drop_lease("other").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    follower.drop_lease("index").unwrap();
    assert!(db.leases().unwrap().is_empty() && follower.leases().unwrap().is_empty());
    assert_eq!(changes.try_next().unwrap_err().kind(), ErrorKind::Revoked);
}

#[test]
fn a_follower_falls_off_at_its_limit_and_begins_again() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"a", b"1").unwrap();
    let follower = follow(dir.path());
    let few = ChangesOptions::new().bytes_max(1 << 20);
    let mut changes = follower.changes(&few).unwrap();
    let mut random = Random::new(5);
    for _ in 0..8 {
        write(&db, &mut random, 300);
        db.flush().unwrap();
    }
    let fallen = std::iter::from_fn(|| changes.try_next().transpose()).find_map(Result::err);
    assert_eq!(fallen.map(|error| error.kind()), Some(ErrorKind::Revoked));
    let (snapshot, mut changes) = follower.snapshot_and_changes(&few).unwrap();
    assert_eq!(entries_at(&snapshot), entries(&db));
    db.put(b"b", b"2").unwrap();
    let change = changes.next_within(LONG).unwrap().unwrap();
    assert!(line(&change).contains("key: [98]"), "{change:?}");
    let foreign = Place {
        incarnation: 1,
        seq: 1,
    };
    let refused = follower.changes(&few.clone().after(foreign)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let beyond = Place {
        seq: u64::MAX >> 8,
        ..change.place
    };
    let refused = follower.changes(&few.after(beyond)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Revoked);
}

/// A writer is killed at sampled operations, as a process: what it has synced is delivered whole
/// and in order, and the next writer's changes follow.
#[test]
fn a_feed_survives_a_writer_that_is_killed_anywhere() {
    let first = cairndb_env::testing::setting::setting("CAIRN_SEED").unwrap_or(1);
    let points = cairndb_env::testing::setting::setting("CAIRN_FOLLOW_POINTS").unwrap_or(60);
    let mut revoked = 0;
    for seed in first..first + points {
        let env = SimEnv::new(seed);
        env.record_ops(false);
        let mut random = Random::new(seed);
        let options_in = |env: &Arc<SimEnv>| options().memory_budget(256 << 10).env(env.clone());
        let writing = env.process();
        let db = options_in(&writing).open("/db").unwrap();
        db.put(b"first", b"").unwrap();
        db.sync().unwrap();
        let follower = options_in(&env.process()).follow().open("/db").unwrap();
        let lease = ChangesOptions::new().lease("l");
        assert_eq!(
            follower.changes(&lease).unwrap_err().kind(),
            ErrorKind::Locked
        );
        drop(db.changes(&lease).unwrap());
        let mut changes = follower.changes(&lease).unwrap();
        writing.kill_at(env.op_count() + random.below(1_500));
        let (mut found, mut synced) = (Vec::new(), 0);
        for n in 0..400_u32 {
            let mut batch = WriteBatch::new();
            batch.put(b"n", &n.to_le_bytes());
            batch.put(&[n.to_le_bytes()[0]], &[7; 500]);
            let done = db.write(&batch).and_then(|()| match random.index(12) {
                0 => db.sync().map(|()| synced = n + 1),
                1 => db.step_background(Job::Flush).map(drop),
                2 => db.step_background(Job::Persist).map(drop),
                _ => Ok(()),
            });
            if done.is_err() {
                break;
            }
            numbers(&mut changes, &mut found);
            if random.index(40) == 0 {
                changes.acknowledge(changes.place()).unwrap();
            }
        }
        drop(db);
        numbers(&mut changes, &mut found);
        assert!(found.len() >= synced as usize, "seed {seed}");
        let db = options_in(&env.process()).open("/db").unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"n", &1_000_000_u32.to_le_bytes());
        db.write(&batch).unwrap();
        db.sync().unwrap();
        let place = changes.place();
        match changes.try_next() {
            Ok(None) => {}
            Ok(Some(change)) => found.extend(number(&change)),
            // Without the writer that died in the middle of an announcement.
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Revoked, "seed {seed}: {error}");
                revoked += 1;
                changes = follower.changes(&lease.clone().after(place)).unwrap();
            }
        }
        numbers(&mut changes, &mut found);
        assert_eq!(found.pop(), Some(1_000_000), "seed {seed}");
        let expected: Vec<u32> = (0..).take(found.len()).collect();
        assert_eq!(found, expected, "seed {seed}");
    }
    assert!(revoked < points, "{revoked}");
}

fn number(change: &Change) -> Option<u32> {
    let ChangeKind::Batch(entries) = &change.kind else {
        return None;
    };
    match entries.iter().next() {
        Some((None, BatchEntry::Put { key: b"n", value })) => {
            Some(u32::from_le_bytes(value.try_into().unwrap()))
        }
        _ => None,
    }
}

/// Adds the numbers of the batches that are delivered now.
fn numbers(changes: &mut Changes, found: &mut Vec<u32>) {
    while let Some(change) = changes.try_next().unwrap() {
        found.extend(number(&change));
    }
}

#[test]
fn an_acknowledgement_outlives_its_feed() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"a", b"1").unwrap();
    let follower = follow(dir.path());
    let lease = ChangesOptions::new().lease("index");
    for n in 0..3_u8 {
        let mut changes = follower.changes(&lease).unwrap();
        db.put(&[n], b"").unwrap();
        let change = changes.next_within(LONG).unwrap().unwrap();
        assert!(line(&change).contains(&format!("key: [{n}]")), "{change:?}");
        // As a consumer does that runs now and then.
        changes.acknowledge(change.place).unwrap();
        drop(changes);
        let end = Instant::now() + LONG;
        while follower.leases().unwrap()[0].place != change.place {
            assert!(Instant::now() < end, "the writer takes note of it");
        }
    }
}

#[test]
fn what_nobody_waits_for_is_not_done_later() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    drop(db.changes(&ChangesOptions::new().lease("index")).unwrap());
    db.close().unwrap();
    let follower = follow(dir.path());
    let nobody = follower.drop_lease("index").unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::Locked);
    let nobody = follower
        .changes(&ChangesOptions::new().lease("other"))
        .unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::Locked);
    let db = options().open(&dir).unwrap();
    db.put(b"a", b"1").unwrap();
    // Another request is answered in a later look than the first one.
    follower.drop_lease("none").unwrap_err();
    let leases = db.leases().unwrap();
    assert_eq!((leases.len(), &*leases[0].name), (1, "index"));
}

/// Without a writer, what is in the log of a process that was killed is left to the next one.
#[test]
fn the_log_of_a_killed_writer_is_not_taken_for_unlogged() {
    let env = SimEnv::new(1);
    let options_in = |env: &Arc<SimEnv>| options().env(env.clone());
    let writing = env.process();
    let db = options_in(&writing).open("/db").unwrap();
    let lease = ChangesOptions::new().lease("l");
    drop(db.changes(&lease).unwrap());
    for n in 0..5_u8 {
        db.put(&[n], b"").unwrap();
    }
    db.flush().unwrap();
    db.put(b"last", b"").unwrap();
    db.sync().unwrap();
    writing.kill();
    drop(db);
    let follower = options_in(&env.process()).follow().open("/db").unwrap();
    let mut changes = follower.changes(&lease).unwrap();
    let nothing = changes.try_next().unwrap();
    assert!(nothing.is_none(), "{nothing:?}");
    let db = options_in(&env.process()).open("/db").unwrap();
    db.put(b"again", b"").unwrap();
    db.sync().unwrap();
    let found: Vec<Change> = std::iter::from_fn(|| changes.try_next().unwrap()).collect();
    assert_eq!(found.len(), 7, "{found:?}");
    assert!(
        found
            .iter()
            .all(|it| matches!(it.kind, ChangeKind::Batch(_)))
    );
}
