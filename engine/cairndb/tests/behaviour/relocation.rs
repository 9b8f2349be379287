//! Value garbage collection: an idle database reclaims dead large values and compresses live ones.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::env::{Background, Env, MemEnv};
use cairndb::{Compression, Db, Durability, ErrorKind, Job, Options, WriteOptions};
use cairndb_sim::{Cause, Effect, Fault, OpKind, Profile, SimEnv};

use crate::stat;

/// Length of each large value, and number of keys that have one.
const VALUE_BYTES: usize = 20_000;
const KEYS: u32 = 200;
const LIVE: u64 = KEYS as u64 * VALUE_BYTES as u64;

/// Returns options without compression, so that the space taken by the values is known.
fn options(env: Arc<dyn Env>) -> Options {
    encoding(env).compression(Compression::None)
}

fn encoding(env: Arc<dyn Env>) -> Options {
    let options = Options::new().create_if_missing(true).env(env);
    options.memory_budget(1 << 20).value_file_bytes(1 << 20)
}

fn mem() -> (Arc<MemEnv>, Options) {
    let env = MemEnv::new(Background::Stepped);
    (env.clone(), options(env))
}

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// Returns the value of key `n` after it was put `round` times.
fn value(n: u32, round: u32) -> Vec<u8> {
    let seed = n.wrapping_mul(31).wrapping_add(round.wrapping_mul(7919));
    let words = (0..).map(|at: u32| at.wrapping_mul(seed | 1).rotate_left(9).to_le_bytes());
    words.flatten().take(VALUE_BYTES).collect()
}

/// Puts each key once, and then a third of the keys, scattered, `more` times again. Returns the
/// round of each key's value.
fn load(db: &Db, more: u32) -> Vec<u32> {
    let mut rounds = vec![0; KEYS as usize];
    for n in 0..KEYS {
        db.put(&key(n), &value(n, 0)).unwrap();
    }
    for step in 0..more * KEYS / 3 {
        let n = step.wrapping_mul(2_654_435_761) % KEYS;
        rounds[n as usize] += 1;
        db.put(&key(n), &value(n, rounds[n as usize])).unwrap();
    }
    rounds
}

fn check(db: &Db, rounds: &[u32]) {
    for (n, round) in (0..).zip(rounds) {
        let found = db.get(&key(n)).unwrap();
        assert!(found.as_deref() == Some(&value(n, *round)[..]), "key {n}");
    }
    let mut scanned = 0;
    for (entry, (n, round)) in db.iter().zip((0..).zip(rounds)) {
        let (found, bytes) = entry.unwrap();
        assert!(found == key(n) && bytes == value(n, *round), "key {n}");
        scanned += 1;
    }
    assert_eq!(scanned, rounds.len());
}

/// Returns the total length of the value files.
fn on_disk(env: &dyn Env) -> u64 {
    let dir = env.open_dir("/db".as_ref(), false).unwrap();
    let names = dir.list().unwrap();
    let values = names
        .iter()
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "val"));
    // A file may have been removed since it was listed.
    values.filter_map(|name| dir.size_of(name).unwrap()).sum()
}

fn is_little(bytes: u64) -> bool {
    // A fifth more than the live bytes, plus files that are still being written.
    bytes <= LIVE + LIVE / 5 + (64 << 10)
}

#[test]
fn an_idle_database_reclaims_overwritten_values() {
    let (env, options) = mem();
    let db = options.open("/db").unwrap();
    let mut rounds = load(&db, 4);
    assert!(on_disk(&*env) > 2 * LIVE);
    db.wait_idle().unwrap();
    let bytes = on_disk(&*env);
    assert!(is_little(bytes), "{bytes} for {LIVE}");
    let moved = stat(&db, "moved_value_bytes");
    assert!(0 < moved && moved <= 2 * LIVE, "{moved} copied");
    check(&db, &rounds);
    db.wait_idle().unwrap();
    assert_eq!(
        stat(&db, "moved_value_bytes"),
        moved,
        "values must be moved only once"
    );

    for n in (0..KEYS).step_by(2) {
        db.delete(&key(n)).unwrap();
    }
    for n in 0..KEYS / 4 {
        rounds[n as usize] += 1;
        db.put(&key(n), &value(n, rounds[n as usize])).unwrap();
    }
    for n in (0..KEYS / 4).chain((KEYS / 4..KEYS).filter(|n| n % 2 == 0)) {
        db.put(&key(n), &value(n, rounds[n as usize])).unwrap();
    }
    db.wait_idle().unwrap();
    assert!(is_little(on_disk(&*env)));
    check(&db, &rounds);
    db.close().unwrap();

    cairndb::verify("/db", &options).unwrap();
    let db = options.open("/db").unwrap();
    check(&db, &rounds);
    db.wait_idle().unwrap();
    assert!(is_little(on_disk(&*env)));
    db.close().unwrap();
}

#[test]
fn compacting_everything_reclaims_overwritten_values() {
    let (env, options) = mem();
    let db = options.open("/db").unwrap();
    let rounds = load(&db, 3);
    let before = on_disk(&*env);
    db.compact_range(key(0)..key(KEYS)).unwrap();
    assert_eq!(
        stat(&db, "moved_value_bytes"),
        0,
        "compacting a bounded range must not move values"
    );
    db.compact_range(..).unwrap();
    let after = on_disk(&*env);
    assert!(is_little(after), "{before} bytes before, {after} after");
    check(&db, &rounds);
    db.close().unwrap();
}

/// Snapshots and cursors keep the files that existed when they were created.
#[test]
fn snapshots_and_cursors_keep_their_values() {
    let (env, options) = mem();
    let db = options.open("/db").unwrap();
    let before = load(&db, 1);
    let snapshot = db.snapshot();
    let cursor = db.iter();
    for n in (0..KEYS).filter(|n| n % 5 != 0) {
        db.put(&key(n), &value(n, 99)).unwrap();
    }
    db.wait_idle().unwrap();
    for (n, round) in (0..).zip(&before) {
        let then = snapshot.get(&key(n)).unwrap();
        assert!(then.as_deref() == Some(&value(n, *round)[..]), "key {n}");
    }
    for (entry, (n, round)) in cursor.zip((0..).zip(&before)) {
        assert!(entry.unwrap().1 == value(n, *round), "key {n}");
    }
    drop(snapshot);
    db.compact_range(..).unwrap();
    assert!(is_little(on_disk(&*env)));
    let now = |n: u32| {
        if n.is_multiple_of(5) {
            before[n as usize]
        } else {
            99
        }
    };
    check(&db, &(0..KEYS).map(now).collect::<Vec<_>>());
    db.close().unwrap();
}

/// In a database that is never idle, dead bytes may equal live bytes, plus a few files. Values that
/// stay are mixed with values that do not, so that no file is ever entirely dead.
#[test]
fn under_load_dead_space_is_bounded() {
    let (env, options) = mem();
    let db = options.open("/db").unwrap();
    let jobs = [
        Job::Flush,
        Job::Compact,
        Job::Persist,
        Job::DropValues,
        Job::Reap,
    ];
    for step in 0..4000_u32 {
        let n = if step % 16 == 0 {
            KEYS + step
        } else {
            step % KEYS
        };
        db.put(&key(n), &value(n, step)).unwrap();
        if step % 64 == 0 {
            for job in jobs {
                while db.step_background(job).unwrap() {}
            }
            let live = LIVE + u64::from(step / 16) * VALUE_BYTES as u64;
            // In addition, some values are known to be dead only in uncompacted runs.
            let bytes = on_disk(&*env);
            assert!(
                bytes < 2 * live + (2 << 20) + (9 << 20),
                "{bytes} for {live}"
            );
        }
    }
    assert!(stat(&db, "moved_value_bytes") > 0);
    for step in 0..4000 {
        let n = if step % 16 == 0 {
            KEYS + step
        } else if step + KEYS >= 4000 {
            step % KEYS
        } else {
            continue;
        };
        let found = db.get(&key(n)).unwrap();
        assert!(found.as_deref() == Some(&value(n, step)[..]), "key {n}");
    }
    db.close().unwrap();
}

#[test]
fn background_threads_reclaim_dead_space() {
    let env = MemEnv::new(Background::Threads);
    let options = options(env.clone());
    let db = options.open("/db").unwrap();
    let rounds = load(&db, 6);
    db.wait_idle().unwrap();
    let bytes = on_disk(&*env);
    assert!(is_little(bytes), "{bytes} for {LIVE}");
    check(&db, &rounds);
    db.close().unwrap();
    cairndb::verify("/db", &options).unwrap();
}

#[test]
fn power_may_fail_while_values_are_copied() {
    let env = SimEnv::new(11);
    let db = options(env.clone()).open("/db").unwrap();
    let rounds = load(&db, 3);
    db.flush().unwrap();
    let mut given_back = 0;
    let all = on_disk(&*env);
    let jobs = [
        Job::IdleCompact,
        Job::IdleCompact,
        Job::IdleCompact,
        Job::IdleCompact,
    ];
    let jobs = jobs
        .into_iter()
        .chain([Job::Persist, Job::DropValues, Job::Reap]);
    for job in jobs {
        db.step_background(job).unwrap();
        for state in env.crash_states(Profile::Weak, 5, 8) {
            let image = state.image;
            let after = options(image.clone()).open("/db").unwrap();
            given_back += u32::from(on_disk(&*image) < all);
            check(&after, &rounds);
            after.wait_idle().unwrap();
            assert!(is_little(on_disk(&*image)));
            check(&after, &rounds);
            after.close().unwrap();
        }
    }
    assert!(given_back > 0, "some crash states must have less on disk");
    assert!(stat(&db, "moved_value_bytes") > 0);
    db.close().unwrap();
    assert!(env.violations().is_empty());
}

/// Every operation on a value file fails once. Nothing is lost, and no space stays occupied
/// permanently.
#[test]
fn a_failed_copy_is_repeated() {
    for kind in [OpKind::Create, OpKind::Append] {
        let mut struck = 0;
        for count in 0..6 {
            let env = SimEnv::new(3);
            let db = options(env.clone()).open("/db").unwrap();
            let rounds = load(&db, 3);
            db.flush().unwrap();
            while db.step_background(Job::Compact).unwrap() {}
            env.inject(Fault::on(kind, ".val", Effect::Fails(Cause::Full)).after(count));
            let mut failed = 0;
            for _ in 0..20 {
                failed += u32::from(db.step_background(Job::IdleCompact).is_err());
            }
            assert!(failed <= 1, "{failed} failures");
            struck += failed;
            check(&db, &rounds);
            db.wait_idle().unwrap();
            let bytes = on_disk(&*env);
            assert!(is_little(bytes), "{bytes} for {LIVE}, {kind:?} {count}");
            check(&db, &rounds);
            db.close().unwrap();
        }
        assert!(struck > 0, "{struck} times {kind:?}");
    }
}

/// Reads of the damaged value's key still report the damage. All other values are moved, and no job
/// retries forever.
#[test]
fn a_damaged_value_stays_where_it_is() {
    let env = SimEnv::new(5);
    let options = options(env.clone());
    let db = options.open("/db").unwrap();
    let sync = WriteOptions::new().durability(Durability::Sync);
    for n in 0..KEYS {
        db.put_with(&key(n), &value(n, 0), &sync).unwrap();
    }
    for n in (0..KEYS).filter(|n| n % 3 != 0) {
        db.put_with(&key(n), &value(n, 1), &sync).unwrap();
    }
    let files = env.files();
    let first = files
        .iter()
        .find(|(path, _)| path.extension().is_some_and(|end| end == "val"));
    let (path, _) = first.unwrap();
    // Damage the first value, which is live.
    assert!(env.corrupt(path, 5000, 1));
    // Close also reclaims space, and reads the damaged value.
    db.close().unwrap();

    let db = options.open("/db").unwrap();
    db.wait_idle().unwrap();
    let error = db.get(&key(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(
        error.file_name(),
        path.file_name().and_then(|name| name.to_str())
    );
    assert_eq!(error.file_offset(), Some(64));
    for n in 1..KEYS {
        let found = db.get(&key(n)).unwrap();
        assert!(
            found.as_deref() == Some(&value(n, u32::from(n % 3 != 0))[..]),
            "key {n}"
        );
    }
    // One file is kept because of one value.
    let bytes = on_disk(&*env);
    assert!(is_little(bytes - (1 << 20)), "{bytes} for {LIVE}");
    db.put(&key(0), b"repaired").unwrap();
    db.flush().unwrap();
    db.wait_idle().unwrap();
    assert!(is_little(on_disk(&*env)));
    db.close().unwrap();
}

/// Returns a value that compresses to a fifth, or an incompressible value for some keys.
fn prose(n: u32, round: u32) -> Vec<u8> {
    if n % 7 == 3 {
        let mut random = Random::new(u64::from(n) << 32 | u64::from(round));
        let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
        return words.flatten().take(VALUE_BYTES).collect();
    }
    let line = |at: u32| format!("line {at} of text {n}, as it was put for the {round}th time\n");
    (0..400).flat_map(|at| line(at).into_bytes()).collect()
}

fn put_prose(db: &Db, keys: impl Iterator<Item = u32>, round: u32) {
    for n in keys {
        db.put(&key(n), &prose(n, round)).unwrap();
    }
}

fn check_prose(db: &Db, round: impl Fn(u32) -> u32) {
    for n in 0..KEYS {
        let found = db.get(&key(n)).unwrap();
        assert!(found.as_deref() == Some(&prose(n, round(n))[..]), "key {n}");
    }
    let backwards = db.iter().rev().map(Result::unwrap);
    for ((found, value), n) in backwards.zip((0..KEYS).rev()) {
        assert!(found == key(n) && value == prose(n, round(n)), "key {n}");
    }
}

#[test]
fn compressible_values_are_compressed_when_idle() {
    let env = MemEnv::new(Background::Stepped);
    let options = encoding(env.clone());
    let db = options.open("/db").unwrap();
    put_prose(&db, 0..KEYS, 0);
    db.flush().unwrap();
    let raw = on_disk(&*env);
    check_prose(&db, |_| 0);
    db.wait_idle().unwrap();
    let encoded = on_disk(&*env);
    assert!(2 * encoded < raw, "{encoded} of {raw} bytes");
    check_prose(&db, |_| 0);
    let moved = stat(&db, "moved_value_bytes");
    db.wait_idle().unwrap();
    assert_eq!(
        stat(&db, "moved_value_bytes"),
        moved,
        "values must be moved only once"
    );
    db.close().unwrap();

    // Values are also not moved after reopening or without compression. Compressed values stay
    // compressed when they are moved.
    cairndb::verify("/db", &options).unwrap();
    let db = options.clone().compression(Compression::None);
    let db = db.open("/db").unwrap();
    check_prose(&db, |_| 0);
    put_prose(&db, (0..KEYS).filter(|n| n % 3 == 0), 1);
    db.wait_idle().unwrap();
    check_prose(&db, |n| u32::from(n % 3 == 0));
    let partly = on_disk(&*env);
    assert!(encoded < partly && partly < raw, "{partly} bytes");
    db.close().unwrap();

    let db = options.open("/db").unwrap();
    db.wait_idle().unwrap();
    let again = on_disk(&*env);
    assert!(
        5 * again < 6 * encoded + (64 << 10),
        "{again} for {encoded}"
    );
    check_prose(&db, |n| u32::from(n % 3 == 0));
    assert!(stat(&db, "moved_value_bytes") < raw / 2);
    db.close().unwrap();
    cairndb::verify("/db", &options).unwrap();
}

#[test]
fn incompressible_values_are_left_in_place() {
    let env = MemEnv::new(Background::Stepped);
    let options = encoding(env);
    let db = options.open("/db").unwrap();
    put_prose(&db, (0..700).map(|n| 7 * n + 3), 0);
    db.wait_idle().unwrap();
    assert_eq!(stat(&db, "moved_value_bytes"), 0);
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    db.wait_idle().unwrap();
    assert_eq!(stat(&db, "moved_value_bytes"), 0);
    db.close().unwrap();
}

#[test]
fn compact_range_compresses_large_values_and_snapshots_see_them() {
    let env = MemEnv::new(Background::Threads);
    let db = encoding(env.clone()).open("/db").unwrap();
    put_prose(&db, 0..KEYS, 0);
    let snapshot = db.snapshot();
    put_prose(&db, (0..KEYS).filter(|n| n % 2 == 0), 1);
    let raw = LIVE + LIVE / 2;
    db.compact_range(..).unwrap();
    let (moved, files) = (stat(&db, "moved_value_bytes"), stat(&db, "value_files"));
    // The worker may hold a version with the old files while it examines it.
    db.wait_idle().unwrap();
    let bytes = on_disk(&*env);
    assert!(2 * bytes < raw, "{bytes} of {raw} bytes");
    assert_eq!(
        stat(&db, "moved_value_bytes"),
        moved,
        "compact_range must move all values"
    );
    assert_eq!(
        stat(&db, "value_files"),
        files,
        "compact_range must drop all dead files"
    );
    check_prose(&db, |n| u32::from(n % 2 == 0));
    for n in 0..KEYS {
        let then = snapshot.get(&key(n)).unwrap();
        assert!(then.as_deref() == Some(&prose(n, 0)[..]), "key {n}");
    }
    drop(snapshot);
    db.close().unwrap();
}

#[test]
fn power_may_fail_while_large_values_are_compressed() {
    let env = SimEnv::new(13);
    let db = encoding(env.clone()).open("/db").unwrap();
    put_prose(&db, 0..KEYS, 0);
    db.flush().unwrap();
    let raw = on_disk(&*env);
    let mut encoded = 0;
    let jobs = [Job::IdleCompact, Job::IdleCompact, Job::IdleCompact];
    let jobs = jobs
        .into_iter()
        .chain([Job::Persist, Job::DropValues, Job::Reap]);
    for job in jobs {
        db.step_background(job).unwrap();
        for state in env.crash_states(Profile::Weak, 5, 8) {
            let image = state.image;
            let after = encoding(image.clone()).open("/db").unwrap();
            encoded += u32::from(2 * on_disk(&*image) < raw);
            check_prose(&after, |_| 0);
            after.wait_idle().unwrap();
            assert!(2 * on_disk(&*image) < raw);
            check_prose(&after, |_| 0);
            after.close().unwrap();
        }
    }
    assert!(
        encoded > 0,
        "some crash states must have only the compressed files"
    );
    db.close().unwrap();
    assert!(env.violations().is_empty());
}

/// Regression: a value that compresses to a few bytes consists mostly of its header. The header was
/// counted as dead space, so the value was copied repeatedly.
#[test]
fn values_that_compress_to_almost_nothing_are_copied_once() {
    let env = MemEnv::new(Background::Stepped);
    let options = encoding(env.clone()).value_file_bytes(20_000);
    let db = options.open("/db").unwrap();
    for n in 0..KEYS {
        db.put(&key(n), &vec![n.to_le_bytes()[0]; 8192]).unwrap();
    }
    db.wait_idle().unwrap();
    let moved = stat(&db, "moved_value_bytes");
    assert!(0 < moved && moved < 200 * u64::from(KEYS), "{moved}");
    for _ in 0..3 {
        db.compact_range(..).unwrap();
        db.wait_idle().unwrap();
    }
    assert_eq!(stat(&db, "moved_value_bytes"), moved);
    assert!(on_disk(&*env) < 200 * u64::from(KEYS));
    for n in 0..KEYS {
        let found = db.get(&key(n)).unwrap();
        assert!(found.as_deref() == Some(&vec![n.to_le_bytes()[0]; 8192][..]));
    }
    db.close().unwrap();
}

#[test]
fn values_in_files_of_their_own_are_copied_once() {
    let env = MemEnv::new(Background::Stepped);
    let db = encoding(env.clone())
        .value_file_bytes(0)
        .open("/db")
        .unwrap();
    db.put(b"zeros", &[0; 8192]).unwrap();
    put_prose(&db, 0..KEYS, 0);
    db.wait_idle().unwrap();
    let moved = stat(&db, "moved_value_bytes");
    db.compact_range(..).unwrap();
    db.wait_idle().unwrap();
    assert_eq!(stat(&db, "moved_value_bytes"), moved);
    assert_eq!(db.get(b"zeros").unwrap().unwrap(), [0; 8192]);
    db.delete(b"zeros").unwrap();
    check_prose(&db, |_| 0);
    db.close().unwrap();
}

#[test]
fn nothing_remains_of_deleted_values() {
    for asked in [false, true] {
        let (env, options) = mem();
        let db = options.open("/db").unwrap();
        load(&db, 1);
        for n in 0..KEYS {
            db.delete(&key(n)).unwrap();
        }
        if asked {
            db.compact_range(..).unwrap();
        } else {
            db.flush().unwrap();
            db.wait_idle().unwrap();
        }
        assert_eq!(on_disk(&*env), 0, "{asked}");
        db.put(&key(1), &value(1, 1)).unwrap();
        assert!(db.get(&key(1)).unwrap().unwrap() == value(1, 1));
        db.close().unwrap();
    }
}

/// On a full disk, copies would take the space that is needed to free space.
#[test]
fn copies_of_a_failed_relocation_are_removed() {
    let env = SimEnv::new(3);
    let db = options(env.clone()).open("/db").unwrap();
    let rounds = load(&db, 3);
    db.flush().unwrap();
    while db.step_background(Job::Compact).unwrap() {}
    while db.step_background(Job::DropValues).unwrap() {}
    db.step_background(Job::Reap).unwrap();
    let before = on_disk(&*env);
    let full = Effect::Fails(Cause::Full);
    env.inject(Fault::on(OpKind::Append, ".val", full).after(20));
    let error = loop {
        if let Err(error) = db.step_background(Job::IdleCompact) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    db.step_background(Job::Reap).unwrap();
    assert!(on_disk(&*env) <= before);
    check(&db, &rounds);
    db.wait_idle().unwrap();
    assert!(is_little(on_disk(&*env)));
    check(&db, &rounds);
    db.close().unwrap();
}

/// Two writers, a reader and two callers of `compact_range`, concurrently with the worker.
#[test]
fn values_are_moved_during_writes_reads_and_compactions() {
    const ROUNDS: u32 = 12;
    let env = MemEnv::new(Background::Threads);
    let options = encoding(env.clone()).value_file_bytes(256 << 10);
    let db = options.open("/db").unwrap();
    put_prose(&db, 0..KEYS, 0);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let db = &db;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    put_prose(db, (0..KEYS).filter(|n| n % 2 == half), round);
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
    check_prose(&db, |_| ROUNDS);
    db.wait_idle().unwrap();
    check_prose(&db, |_| ROUNDS);
    db.close().unwrap();
    cairndb::verify("/db", &options).unwrap();
    let db = options.open("/db").unwrap();
    check_prose(&db, |_| ROUNDS);
    db.close().unwrap();
}

/// An idle worker sleeps, and writes that do not fill a memtable do not wake it.
#[test]
fn large_values_wake_an_idle_worker() {
    let env = MemEnv::new(Background::Threads);
    let db = options(env.clone()).open("/db").unwrap();
    let mut rounds = load(&db, 0);
    db.wait_idle().unwrap();
    assert!(is_little(on_disk(&*env)));
    for n in 0..45 {
        rounds[n as usize] = 1;
        db.put(&key(n), &value(n, 1)).unwrap();
    }
    assert!(!is_little(on_disk(&*env)));
    let begun = std::time::Instant::now();
    while !is_little(on_disk(&*env)) {
        assert!(begun.elapsed().as_secs() < 60, "the worker was not woken");
        std::thread::yield_now();
    }
    check(&db, &rounds);
    db.close().unwrap();
}
