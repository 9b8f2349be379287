//! Concurrent compactions with threads, and a power loss at a random time.
//!
//! Each writer has its own stream and compares the database with a map of its writes, using scans
//! that mix seeks and steps, snapshots read backward, and gets. A reader runs concurrently, and so
//! does a thread that continuously compacts everything or parts of it, so that writers compact
//! concurrently with large compactions. The values are records, so that tables have dictionaries,
//! shared and not. Rounds with an even seed end in a power loss or a kill of the process.
//! Afterwards the database must hold the state of each stream at some moment, no older than
//! promised.
//!
//! `CAIRN_SEED` is the seed of the first round, `CAIRN_ROUNDS` the number of rounds. The operating
//! system schedules the threads, so a seed replays the streams but not the interleaving.

#![expect(clippy::unwrap_used, reason = "a failure panics the test")]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb::{Db, Durability, Result, Snapshot, WriteOptions};
use cairndb_env::Background;
use cairndb_env::random::Random;
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};
use cairndb_testkit::oracle::PATH;
use cairndb_testkit::setting;
use cairndb_testkit::setup::Setup;

/// Number of writers in rounds that have more than one.
const WRITERS: u8 = 3;
/// Number of keys of a writer that are overwritten repeatedly.
const KEYS: u64 = 20_000;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Put,
    Append,
    Delete,
}

/// Returns write `n` of a writer, sometimes to random keys, sometimes to ascending keys after them.
fn write_of(writer: u8, n: u64) -> (Act, Vec<u8>, Vec<u8>) {
    let mixed = Random::new(n << 8 | u64::from(writer)).next_u64();
    let upwards = n % 6000 > 4000;
    let key = if upwards {
        format!("{writer}/~{n:08}")
    } else {
        format!("{writer}/{:06}", mixed % KEYS)
    };
    let act = match (mixed >> 20) % 8 {
        0 if !upwards => Act::Delete,
        1 if !upwards => Act::Append,
        _ => Act::Put,
    };
    let record = format!("{{\"number\":{n},\"writer\":{writer},\"city\":\"Bergen\"}}");
    let mut value = record.into_bytes();
    let for_a_value_file = (mixed >> 40).is_multiple_of(300);
    match act {
        Act::Append => value.truncate(3),
        Act::Put | Act::Delete => value.resize(if for_a_value_file { 9000 } else { 80 }, b'.'),
    }
    (act, key.into_bytes(), value)
}

fn apply(map: &mut Map, writer: u8, n: u64) {
    let (act, key, value) = write_of(writer, n);
    match act {
        Act::Put => drop(map.insert(key, value)),
        Act::Append => map.entry(key).or_default().extend_from_slice(&value),
        Act::Delete => drop(map.remove(&key)),
    }
}

/// Returns the contents of a stream after `n` writes.
fn after(writer: u8, n: u64) -> Map {
    let mut map = Map::new();
    (1..=n).for_each(|n| apply(&mut map, writer, n));
    map
}

/// Executes write `n`. Returns whether it was promised to survive a power loss.
fn write(db: &Db, writer: u8, n: u64) -> Result<bool> {
    let (act, key, value) = write_of(writer, n);
    let sync = n.is_multiple_of(97) && act != Act::Append;
    let durability = [Durability::Os, Durability::Sync][usize::from(sync)];
    let options = WriteOptions::new().durability(durability);
    match act {
        Act::Put => db.put_with(&key, &value, &options)?,
        Act::Append => db.merge(&key, &value)?,
        Act::Delete => db.delete_with(&key, &options)?,
    }
    Ok(sync)
}

fn prefix_of(writer: u8) -> Vec<u8> {
    format!("{writer}/").into_bytes()
}

/// Returns a writer's keys, read by a scan that mixes seeks with steps in both directions.
fn walk(db: &Db, writer: u8) -> Result<Map> {
    let (own, mut found, mut steps) = (prefix_of(writer), Map::new(), 0u64);
    let mut cursor = db.cursor();
    cursor.seek(&own)?;
    while cursor.valid() && cursor.key().starts_with(&own) {
        let here = cursor.key().to_vec();
        found.insert(here.clone(), cursor.value().to_vec());
        steps += 1;
        if steps.is_multiple_of(3) {
            cursor.seek(&here)?;
            let entry = (cursor.key(), cursor.value());
            assert_eq!(entry, (&here[..], &found[&here][..]));
        }
        if steps.is_multiple_of(7) {
            cursor.prev()?;
            if cursor.valid() {
                cursor.next()?;
            } else {
                cursor.seek_for_prev(&here)?;
            }
            assert_eq!(cursor.key(), here);
        }
        cursor.next()?;
    }
    Ok(found)
}

/// Returns a writer's keys in a snapshot, from the last to the first.
fn backwards(snapshot: &Snapshot, writer: u8) -> Result<Map> {
    let mut found = Map::new();
    for entry in snapshot.prefix(&prefix_of(writer)).rev() {
        let (key, value) = entry?;
        found.insert(key.to_vec(), value.to_vec());
    }
    Ok(found)
}

/// Compares a get, a seek and a step with the map.
fn probe(db: &Db, map: &Map, key: &[u8]) -> Result<()> {
    assert_eq!(db.get(key)?.as_deref(), map.get(key).map(Vec::as_slice));
    let mut cursor = db.cursor();
    cursor.seek(key)?;
    let mut rest = map.range::<[u8], _>((Bound::Included(key), Bound::Unbounded));
    for (key, value) in rest.by_ref().take(2) {
        assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
        cursor.next()?;
    }
    Ok(())
}

/// The progress of one writer, and the promises to it.
#[derive(Debug, Default)]
struct Mark {
    done: AtomicU64,
    synced: AtomicU64,
}

/// The database of one round, and the state that its threads share.
struct Round {
    env: Arc<SimEnv>,
    db: Db,
    marks: Vec<Mark>,
    writes: u64,
    working: AtomicU64,
    over: AtomicBool,
}

impl Round {
    /// Returns whether to continue. An error means that the power was lost.
    fn goes_on(&self, result: &Result<()>) -> bool {
        if let Err(error) = result {
            assert!(self.env.crashed(), "{error}");
        }
        result.is_ok() && !self.over.load(Ordering::Acquire)
    }

    /// Runs a writer's stream and checks the contents from time to time.
    fn stream(&self, writer: u8) -> Result<()> {
        let mark = &self.marks[usize::from(writer)];
        let (mut map, mut kept) = (Map::new(), Vec::new());
        for n in 1..=self.writes {
            let sync = write(&self.db, writer, n)?;
            mark.done.store(n, Ordering::Release);
            if sync {
                mark.synced.store(n, Ordering::Release);
            }
            apply(&mut map, writer, n);
            if n.is_multiple_of(7000) {
                kept.push((self.db.snapshot(), n));
            }
            if n.is_multiple_of(10_000) {
                assert!(walk(&self.db, writer)? == map, "writer {writer} at {n}");
                if kept.len() > 2 {
                    let (snapshot, at) = kept.remove(0);
                    let is_then = backwards(&snapshot, writer)? == after(writer, at);
                    assert!(is_then, "writer {writer}: snapshot at {at}");
                }
            }
            if n.is_multiple_of(128) {
                let (_, key, _) = write_of(writer, (n - n % 900).max(1));
                probe(&self.db, &map, &key)?;
            }
        }
        Ok(())
    }

    fn write(&self, writer: u8) {
        let result = self.stream(writer);
        self.goes_on(&result);
        if self.working.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.over.store(true, Ordering::Release);
        }
    }

    fn read(&self, mut random: Random) {
        let mut result = Ok(());
        while self.goes_on(&result) {
            let key = format!("{}/{:06}", random.below(3), random.below(KEYS));
            result = self.db.get(key.as_bytes()).map(drop);
        }
    }

    fn compact(&self, mut random: Random) {
        let mut result = Ok(());
        while self.goes_on(&result) {
            result = match random.below(12) {
                0..9 => self.db.compact_range(..),
                9 => self.db.flush(),
                10 => self.db.compact_range(&b"0/0010"[..]..&b"0/0020"[..]),
                _ => self.db.compact_range(&b"1/"[..]..),
            };
        }
    }
}

/// Checks that each stream is at some moment, no older than promised.
fn check_moments(db: &Db, marks: &[Mark], profile: Profile) {
    for (writer, mark) in (0u8..).zip(marks) {
        let done = mark.done.load(Ordering::Acquire);
        // If only the process dies, no acknowledged write is lost.
        let mut n = match profile {
            Profile::Kill => done,
            _ => mark.synced.load(Ordering::Acquire),
        };
        let found = walk(db, writer).unwrap();
        let mut map = after(writer, n);
        while found != map && n <= done {
            n += 1;
            apply(&mut map, writer, n);
        }
        assert!(found == map, "writer {writer}: no moment up to {done} + 1");
    }
}

/// Opens a database whose power may fail at some operation.
fn begin(setup: &Setup, seed: u64, random: &mut Random) -> Round {
    let env = SimEnv::with(seed, Background::Threads);
    env.record_ops(false);
    let db = setup.options(env.clone()).open(PATH).unwrap();
    let writes = 40_000 + random.below(20_000);
    if seed.is_multiple_of(2) {
        env.crash_at(env.op_count() + 200 + random.below(60_000));
    }
    let streams = if seed.is_multiple_of(3) { WRITERS } else { 1 };
    Round {
        env,
        db,
        marks: (0..streams).map(|_| Mark::default()).collect(),
        writes,
        working: AtomicU64::new(streams.into()),
        over: AtomicBool::new(false),
    }
}

fn round(seed: u64) {
    let mut random = Random::new(seed);
    let setup = Setup {
        compress: !seed.is_multiple_of(4),
        ..Setup::plain()
    };
    let round = begin(&setup, seed, &mut random);
    std::thread::scope(|scope| {
        for (writer, _) in (0u8..).zip(&round.marks) {
            let round = &round;
            scope.spawn(move || round.write(writer));
        }
        scope.spawn(|| round.read(Random::new(seed + 0x77)));
        scope.spawn(|| round.compact(Random::new(seed + 0x99)));
    });
    let crashed = round.env.crashed();
    let profile = match random.below(3) {
        0 if crashed => Profile::Kill,
        1 if crashed => Profile::Weak,
        _ => Profile::Strict,
    };
    if !crashed {
        round.db.close().unwrap();
        for mark in &round.marks {
            mark.synced.store(round.writes, Ordering::Release);
        }
    }
    let Round { env, db, marks, .. } = round;
    drop(db);
    eprintln!("round {seed}: crashed {crashed}, {profile:?}, {marks:?}");
    let image = env.crash_image(profile, &CrashChoice::new(Keep::None));
    let db = setup.options(image.clone()).open(PATH).unwrap();
    check_moments(&db, &marks, profile);
    db.compact_range(..).unwrap();
    check_moments(&db, &marks, profile);
    db.close().unwrap();
    cairndb::verify(PATH, &setup.options(image)).unwrap();
}

#[test]
fn concurrent_compactions_lose_nothing() {
    let first = setting("CAIRN_SEED", 1);
    for seed in first..first + setting("CAIRN_ROUNDS", 8) {
        round(seed);
    }
}
