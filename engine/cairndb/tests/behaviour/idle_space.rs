//! The disk space that an idle or closed database takes in addition to its live data.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cairndb::env::random::Random;
use cairndb::env::{Background, Dir, Env, Join, MemEnv, Priority};
use cairndb::{Db, Durability, Options, Result, WriteBatch, WriteOptions};

use crate::stat;

const MB: u64 = 1_000_000;

/// Returns incompressible bytes.
fn value(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
    words.flatten().take(len).collect()
}

fn key(n: u64) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

fn options(env: Arc<dyn Env>) -> Options {
    Options::new().create_if_missing(true).env(env)
}

/// Returns the total length of all files.
fn on_disk(env: &dyn Env) -> u64 {
    let dir = env.open_dir("/db".as_ref(), false).unwrap();
    let names = dir.list().unwrap();
    // A file may have been removed since it was listed.
    let sizes = names.iter().filter_map(|name| dir.size_of(name).unwrap());
    sizes.sum()
}

/// Returns the maximum size of an idle database.
fn bound(alive: u64) -> u64 {
    (alive + alive / 5).max(alive + 8 * MB)
}

#[track_caller]
fn check_bound(env: &dyn Env, alive: u64, what: &str) {
    let bytes = on_disk(env);
    assert!(
        bytes <= bound(alive),
        "{what}: {bytes} bytes on disk for {alive} live bytes"
    );
}

/// Pairs of the number of keys and the length of their values.
const SHAPES: [(u64, usize); 4] = [
    (25, 1_000_000),
    (201, 100_000),
    (1_000, 20_000),
    (2_001, 8_192),
];

type Hide = fn(&Db, u64);

/// Ways to make large values dead without writing another pointer.
const HIDES: [(&str, Hide); 4] = [
    ("deletes", |db, keys| {
        for n in 0..keys {
            db.delete(&key(n)).unwrap();
        }
    }),
    ("short overwrites", |db, keys| {
        for n in 0..keys {
            db.put(&key(n), b"short").unwrap();
        }
    }),
    ("a batch of deletes", |db, keys| {
        let mut batch = WriteBatch::new();
        for n in 0..keys {
            batch.delete(&key(n));
        }
        db.write(&batch).unwrap();
    }),
    ("unlogged deletes", |db, keys| {
        let unlogged = WriteOptions::new().durability(Durability::None);
        for n in 0..keys {
            db.delete_with(&key(n), &unlogged).unwrap();
        }
    }),
];

fn load(db: &Db, keys: u64, len: usize) {
    for n in 0..keys {
        db.put(&key(n), &value(n, len)).unwrap();
    }
    db.wait_idle().unwrap();
}

/// Regression: until a flush, nearly all bytes of deleted large values stayed on disk, both when
/// idle and after a clean close.
#[test]
fn values_that_only_the_memtable_hides_are_reclaimed() {
    for (keys, len) in SHAPES {
        for (at, (how, hide)) in HIDES.into_iter().enumerate() {
            let env = MemEnv::new(Background::Stepped);
            let db = options(env.clone()).open("/db").unwrap();
            load(&db, keys, len);
            hide(&db, keys);
            let closes = (keys % 2 == 0) == (at % 2 == 0);
            let what = format!("{how} of {keys} values of {len} bytes, closed: {closes}");
            if closes {
                db.close().unwrap();
            } else {
                db.wait_idle().unwrap();
            }
            check_bound(&*env, keys * 5, &what);
        }
    }
}

/// Values of less than 8 KiB are in tables. A compaction removes them after the memtable is
/// flushed.
#[test]
fn short_values_that_only_the_memtable_hides_are_reclaimed() {
    let env = MemEnv::new(Background::Stepped);
    let db = options(env.clone()).open("/db").unwrap();
    load(&db, 6_000, 3_000);
    for n in 0..6_000 {
        db.delete(&key(n)).unwrap();
    }
    db.wait_idle().unwrap();
    check_bound(&*env, 0, "6,000 values of 3,000 bytes");
}

/// Values are deleted one by one. The bound holds at each check even though not every deletion is
/// flushed.
#[test]
fn the_bound_holds_while_values_are_deleted_one_by_one() {
    for (keys, len) in SHAPES {
        let env = MemEnv::new(Background::Stepped);
        let db = options(env.clone()).open("/db").unwrap();
        load(&db, keys, len);
        let before = stat(&db, "flushes");
        let (mut alive, mut checks) = (keys, 0);
        for step in 0..keys * 3 / 4 {
            let n = step.wrapping_mul(7_919) % keys;
            if db.contains(&key(n)).unwrap() {
                db.delete(&key(n)).unwrap();
                alive -= 1;
            }
            if step % keys.div_ceil(40) == 0 {
                db.wait_idle().unwrap();
                checks += 1;
                check_bound(
                    &*env,
                    alive * len as u64,
                    &format!("{alive} values of {len} bytes"),
                );
            }
        }
        let flushes = stat(&db, "flushes") - before;
        assert!(
            flushes <= checks * 2 / 3,
            "{flushes} flushes at {checks} checks"
        );
        db.close().unwrap();
        check_bound(&*env, alive * len as u64, "closed");
    }
}

/// All but the newest of several versions in one memtable are dead, and no table records that.
#[test]
fn values_overwritten_in_the_memtable_are_reclaimed() {
    let env = MemEnv::new(Background::Stepped);
    let db = options(env.clone()).open("/db").unwrap();
    for round in 0..30 {
        db.put(b"one", &value(round, 500_000)).unwrap();
        db.wait_idle().unwrap();
        check_bound(&*env, 500_000, "one key");
    }
}

/// An idle database does not flush a memtable that makes no older data dead.
#[test]
fn short_entries_of_an_idle_database_are_not_flushed() {
    let env = MemEnv::new(Background::Stepped);
    let db = options(env.clone()).open("/db").unwrap();
    load(&db, 300, 100_000);
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let flushed = stat(&db, "flushes");
    for n in 0..1000 {
        db.put(&key(1_000_000 + n % 10), b"reading").unwrap();
        db.delete(&key(2_000_000 + n)).unwrap();
        db.wait_idle().unwrap();
    }
    assert_eq!(stat(&db, "flushes"), flushed);
}

/// With a small budget segments are short, so a memtable that spans two segments keeps only a small
/// part of the log.
#[test]
fn a_memtable_across_two_short_segments_is_not_flushed() {
    let env = MemEnv::new(Background::Stepped);
    let db = options(env).memory_budget(4 << 20).open("/db").unwrap();
    for n in 0..60_000 {
        db.put(&key(n), b"a short value of an idle database")
            .unwrap();
        if n % 1000 == 0 {
            db.wait_idle().unwrap();
            assert!(
                stat(&db, "versions") <= n,
                "the newest entries must stay in memory"
            );
        }
    }
    assert!(
        stat(&db, "flushes") > 1,
        "the load must span several segments"
    );
}

/// The log also counts: a memtable that spans two segments, and a segment created for one long
/// record.
#[test]
fn an_idle_database_keeps_one_segment_of_the_log() {
    let env = MemEnv::new(Background::Stepped);
    let db = options(env.clone()).open("/db").unwrap();
    for n in 0..4_000 {
        db.put(&key(n % 20), &value(n, 3_000)).unwrap();
        if n % 100 == 0 {
            db.wait_idle().unwrap();
            check_bound(&*env, 60_000, "values of 3,000 bytes");
        }
    }
    let mut batch = WriteBatch::new();
    for n in 0..100_000 {
        batch.put(&key(n), &value(n, 200));
    }
    db.write(&batch).unwrap();
    db.wait_idle().unwrap();
    check_bound(&*env, 100_000 * 208, "a batch of 20 MB");
}

/// An environment with stepped background work, whose clock advances one second per call.
#[derive(Debug)]
struct NoTime(Arc<MemEnv>, AtomicU64);

impl Env for NoTime {
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>> {
        self.0.open_dir(path, create)
    }

    fn background(&self) -> Background {
        Background::Stepped
    }

    fn spawn(
        &self,
        name: &str,
        priority: Priority,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Join> {
        self.0.spawn(name, priority, body)
    }

    fn now_ns(&self) -> u64 {
        self.1.fetch_add(1_000_000_000, Ordering::Relaxed)
    }

    fn random_u64(&self) -> u64 {
        self.0.random_u64()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }
}

#[track_caller]
fn wait_for_bound(env: &dyn Env, alive: u64) {
    let begun = Instant::now();
    while on_disk(env) > bound(alive) {
        assert!(
            begun.elapsed().as_secs() < 60,
            "the space was not reclaimed"
        );
        std::thread::yield_now();
    }
}

/// Close stops reclaiming after a while. The next handle continues, even without a write.
#[test]
fn space_left_by_a_close_is_reclaimed_after_the_next_opening() {
    for partly in [false, true] {
        let disk = MemEnv::new(Background::Threads);
        let no_time = Arc::new(NoTime(disk.clone(), AtomicU64::new(0)));
        let db = options(no_time).open("/db").unwrap();
        load(&db, 300, 100_000);
        for n in (0..300).filter(|n| !partly || n % 2 == 0) {
            db.delete(&key(n)).unwrap();
        }
        db.close().unwrap();
        assert!(on_disk(&*disk) > 30 * MB);
        let alive = if partly { 15 * MB } else { 0 };
        let db = options(disk.clone()).open("/db").unwrap();
        wait_for_bound(&*disk, alive);
        db.close().unwrap();
        check_bound(&*disk, alive, "closed again");
        let db = options(disk.clone()).open("/db").unwrap();
        let left = db
            .iter()
            .filter(|entry| entry.as_ref().unwrap().1.len() == 100_000);
        assert_eq!(left.count(), if partly { 150 } else { 0 });
    }
}

/// An idle worker sleeps, and no memtable fills up here, so only the deletions can wake it.
#[test]
fn deletions_wake_an_idle_worker() {
    let env = MemEnv::new(Background::Threads);
    let db = options(env.clone()).open("/db").unwrap();
    load(&db, 300, 100_000);
    for n in 0..300 {
        db.delete(&key(n)).unwrap();
    }
    assert!(on_disk(&*env) > 30 * MB);
    wait_for_bound(&*env, 0);
    assert_eq!(db.iter().filter_map(Result::ok).count(), 0);
    db.close().unwrap();
}

/// Regression (case 2): versions kept for snapshots stayed until some later flush.
#[test]
fn versions_kept_for_snapshots_are_freed_after_the_last_release() {
    const KEYS: u64 = 500;
    const ROUNDS: u64 = 200;
    for reopened in [false, true] {
        let options = options(MemEnv::new(Background::Threads));
        let mut db = options.open("/db").unwrap();
        let mut snapshots = Vec::new();
        for round in 0..ROUNDS {
            for n in 0..KEYS {
                db.put(&key(n), &round.to_le_bytes()).unwrap();
            }
            snapshots.push(db.snapshot());
        }
        db.flush().unwrap();
        db.wait_idle().unwrap();
        assert_eq!(stat(&db, "versions"), KEYS * ROUNDS, "all are held");
        // The oldest one keeps a version of each key.
        snapshots.truncate(1);
        if reopened {
            drop(snapshots.pop());
            db.close().unwrap();
            db = options.open("/db").unwrap();
            // An idle worker starts with the first write.
            db.put(b"other", b"").unwrap();
        }
        db.wait_idle().unwrap();
        assert_eq!(stat(&db, "versions"), KEYS * (1 + snapshots.len() as u64));
        for snapshot in snapshots {
            assert_eq!(snapshot.get(&key(7)).unwrap().unwrap(), 0u64.to_le_bytes());
            drop(snapshot);
            db.wait_idle().unwrap();
            assert_eq!(stat(&db, "versions"), KEYS);
        }
    }
}

/// A snapshot that stays does not make an idle database compact again and again.
#[test]
fn a_held_snapshot_makes_no_work() {
    let db = options(MemEnv::new(Background::Stepped))
        .open("/db")
        .unwrap();
    for n in 0..1_000 {
        db.put(&key(n), b"old").unwrap();
    }
    let snapshot = db.snapshot();
    for n in 0..1_000 {
        db.put(&key(n), b"new").unwrap();
    }
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let merges = stat(&db, "merges");
    for _ in 0..10 {
        drop(db.snapshot());
        db.wait_idle().unwrap();
    }
    assert_eq!(stat(&db, "merges"), merges);
    assert_eq!(snapshot.get(&key(3)).unwrap().as_deref(), Some(&b"old"[..]));
}
