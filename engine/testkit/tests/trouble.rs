//! Bugs found by review, each as the smallest run that reproduces it: failures that a full or
//! failing disk, a long key or user code must not cause.

#![expect(clippy::big_endian_bytes, reason = "big-endian keys sort as numbers")]

use cairndb::{
    Comparator, Compression, Db, Durability, ErrorKind, Job, MergeOperator, Options, Result,
    WriteBatch, WriteOptions,
};
use cairndb_env::Background;
use cairndb_env::random::Random;
use cairndb_sim::{Cause, CrashChoice, Effect, Fault, Keep, OpKind, Profile, SimEnv};
use cairndb_testkit::oracle::PATH;
use cairndb_testkit::setup::Setup;

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

fn options(env: &Arc<SimEnv>) -> Options {
    Setup::plain().options(env.clone())
}

fn open(env: &Arc<SimEnv>) -> Db {
    options(env).open(PATH).expect("the database must open")
}

fn after(env: &SimEnv, profile: Profile, keep: Keep) -> Arc<SimEnv> {
    env.crash_image(profile, &CrashChoice::new(keep))
}

fn files(env: &SimEnv, suffix: &str) -> usize {
    let names = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
    let files = names.files();
    let names = files.iter().map(|(name, _)| name.to_string_lossy());
    names.filter(|name| name.ends_with(suffix)).count()
}

/// Appends operands. With `huge`, `merge` and `combine` return values above the maximum length.
#[derive(Debug, Default)]
struct Join {
    huge: bool,
}

impl MergeOperator for Join {
    fn name(&self) -> &'static str {
        "testkit.join"
    }

    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let combined = self.combine(key, operands).unwrap_or_default();
        if self.huge {
            return Ok(combined);
        }
        Ok([base.unwrap_or_default(), &combined].concat())
    }

    fn combine(&self, _key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let huge = self.huge.then(|| vec![0; (1 << 30) + 1]);
        huge.or_else(|| Some(operands.concat()))
    }
}

#[track_caller]
fn holds(db: &Db, key: &[u8], value: &[u8]) {
    assert!(
        db.get(key).expect("it is readable").as_deref() == Some(value),
        "{}",
        key.escape_ascii()
    );
}

fn with_join(env: &Arc<SimEnv>, huge: bool) -> Db {
    let joined = options(env).merge_operator(Arc::new(Join { huge }));
    joined.open(PATH).expect("the database must open")
}

/// Regression: a folded value of more than 1 GiB made its flush fail repeatedly, and then every
/// write and every open.
#[test]
fn a_folded_value_that_no_table_can_hold_leaves_its_operands_alone() {
    let env = SimEnv::new(1);
    let db = with_join(&env, true);
    db.put(b"k", b"base").unwrap();
    for operand in [b"1", b"2"] {
        db.merge(b"k", operand).unwrap();
        db.merge(b"without base", operand).unwrap();
        db.flush().unwrap();
    }
    db.compact_range(..).unwrap();
    db.close().unwrap();
    let db = with_join(&env, false);
    holds(&db, b"k", b"base12");
    holds(&db, b"without base", b"12");
}

/// Regression: one session without the merge operator lost the operator's name, so any other
/// operator was accepted afterwards.
#[test]
fn a_session_without_the_merge_operator_keeps_its_name() {
    let env = SimEnv::new(1);
    let db = with_join(&env, false);
    db.merge(b"k", b"1").unwrap();
    db.close().unwrap();
    for _ in 0..2 {
        let without = Options::new().env(env.clone());
        let db = without.open(PATH).unwrap();
        db.put(b"other", b"1").unwrap();
        db.close().unwrap();
    }
    let other = options(&env).merge_operator(Arc::new(cairndb::Add));
    let error = other.open(PATH).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let db = with_join(&env, false);
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Regression: a name that is too long for the manifest was written to it, and the database never
/// opened again.
#[test]
fn settings_that_would_prevent_reopening_are_refused() {
    #[derive(Debug)]
    struct Named(String);
    impl MergeOperator for Named {
        fn name(&self) -> &str {
            &self.0
        }
        fn merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Result<Vec<u8>> {
            Ok(Vec::new())
        }
    }
    let env = SimEnv::new(1);
    let named = |len| options(&env).merge_operator(Arc::new(Named("n".repeat(len))));
    for refused in [named(256), options(&env).filter_bits_per_key(101)] {
        let error = refused.open(PATH).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    named(255).open(PATH).unwrap().close().unwrap();
    named(255).open(PATH).unwrap();
}

/// Regression: the manifest had to describe all tables in one edit of less than 2 GiB. Sixteen keys
/// of the maximum length were too many, and no further writes were possible. Now the memory budget
/// bounds an edit.
#[test]
fn bounds_of_tables_may_be_longer_than_one_edit() {
    let env = SimEnv::new(1);
    let db = open(&env);
    let key = |n: u8| vec![n; 300 << 10];
    for n in 0..8 {
        db.put(&key(n), &[n]).unwrap();
        while db.step_background(Job::Flush).unwrap() {}
    }
    db.flush().unwrap();
    for profile in [Profile::Kill, Profile::Strict] {
        let image = after(&env, profile, Keep::None);
        for _ in 0..2 {
            let db = open(&image);
            (0..8).for_each(|n| holds(&db, &key(n), &[n]));
            db.put(b"later", b"1").unwrap();
            db.close().unwrap();
        }
    }
}

/// Regression: each attempt to put a large value on a full disk appended it once more.
#[test]
fn refused_large_values_take_no_room() {
    let env = SimEnv::new(1);
    let db = open(&env);
    db.put(b"a", &[1; 9000]).unwrap();
    let values = || {
        let ops = env.ops().into_iter();
        let appends = ops.filter(|op| op.kind == OpKind::Append && op.name.contains(".val"));
        appends.count()
    };
    let full = Effect::Fails(Cause::Full);
    env.inject(Fault::on(OpKind::CreateLog, ".log", full).sticky());
    // Fills the segment. There is no room for another segment.
    for len in [4000, 0] {
        let refused = |n: &u32| db.put(&n.to_be_bytes(), &vec![7; len]).is_err();
        let found = (0..100_000_u32).find(refused);
        assert!(found.is_some(), "the log never needed another segment");
    }
    let before = values();
    for _ in 0..5 {
        db.put(b"b", &[2; 9000]).unwrap_err();
        let mut batch = WriteBatch::new();
        batch.put(b"c", &[3; 9000]);
        db.write(&batch).unwrap_err();
    }
    assert_eq!(values(), before);
    assert!(files(&env, ".val") <= 1);
}

/// Reverse bytewise order that panics once the flag is set.
#[derive(Debug, Default)]
struct Fragile(AtomicBool);

impl Comparator for Fragile {
    fn name(&self) -> &'static str {
        "testkit.fragile"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let panics = self.0.load(Memory::Relaxed);
        assert!(!panics, "the comparator was set to panic");
        b.cmp(a)
    }
}

/// Regression: a comparator that panicked in the middle of a batch left half of it in the memtable.
/// The next write was logged with a sequence number that recovery did not expect, and was lost with
/// all later ones.
#[test]
fn a_comparator_that_panics_in_a_write_ends_the_handle_and_loses_nothing() {
    let env = SimEnv::new(1);
    let order = Arc::new(Fragile::default());
    let db = options(&env).comparator(order.clone()).open(PATH).unwrap();
    db.put(b"b", b"1").unwrap();
    let mut batch = WriteBatch::new();
    for key in [b"a", b"c", b"d"] {
        batch.put(key, b"2");
    }
    order.0.store(true, Memory::Relaxed);
    catch_unwind(AssertUnwindSafe(|| db.write(&batch))).unwrap_err();
    order.0.store(false, Memory::Relaxed);
    assert_eq!(db.put(b"e", b"3").unwrap_err().kind(), ErrorKind::Poisoned);
    holds(&db, b"b", b"1");
    assert_eq!(db.iter().count(), 1, "the batch must be invisible");
    drop(db);
    let image = after(&env, Profile::Kill, Keep::All);
    let db = options(&image).comparator(order).open(PATH).unwrap();
    holds(&db, b"b", b"1");
    let found = db.iter().count();
    assert!([1, 4].contains(&found), "a part of the batch: {found}");
}

/// Regression: a panic while a flush searched for its position in the tree left its memtables
/// marked forever.
#[test]
fn a_comparator_that_panics_in_a_flush_is_an_error() {
    let env = SimEnv::new(1);
    let order = Arc::new(Fragile::default());
    let db = options(&env).comparator(order.clone()).open(PATH).unwrap();
    for n in 0..3_u8 {
        db.put(&[n], b"1").unwrap();
    }
    db.flush().unwrap();
    db.put(&[9], b"1").unwrap();
    order.0.store(true, Memory::Relaxed);
    db.flush().unwrap_err();
    order.0.store(false, Memory::Relaxed);
    let _ = db.close();
    let db = options(&env).comparator(order).open(PATH).unwrap();
    assert_eq!(db.iter().count(), 4);
}

/// Regression: unlogged writes that had long been flushed were reported as lost.
#[test]
fn flushed_unlogged_writes_are_not_reported_as_lost() {
    let env = SimEnv::new(1);
    let db = open(&env);
    let unlogged = WriteOptions::new().durability(Durability::None);
    for n in 0..10_u8 {
        db.put_with(&[n], b"1", &unlogged).unwrap();
    }
    db.flush().unwrap();
    db.put_with(b"lost", b"1", &unlogged).unwrap();
    db.put(b"logged", b"1").unwrap();
    let db = open(&after(&env, Profile::Kill, Keep::All));
    assert_eq!(db.open_report().unlogged_lost, 1);
    assert_eq!(db.iter().count(), 11);
}

/// Regression: filters were used under a comparator whose equal keys may differ, because the
/// comparator had not declared this when the tables were written.
#[test]
fn filters_are_not_used_if_equal_keys_may_differ() {
    #[derive(Debug)]
    struct Caseless {
        identity: bool,
    }
    impl Comparator for Caseless {
        fn name(&self) -> &'static str {
            "testkit.caseless"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }
        fn equality_is_identity(&self) -> bool {
            self.identity
        }
    }
    let env = SimEnv::new(1);
    let with = |identity| options(&env).comparator(Arc::new(Caseless { identity }));
    let db = with(true).open(PATH).unwrap();
    db.put(b"Key", b"1").unwrap();
    db.close().unwrap();
    let db = with(false).open(PATH).unwrap();
    assert_eq!(db.get(b"kEY").unwrap().as_deref(), Some(&b"1"[..]));
}

/// Returns the total length of all files.
fn used(env: &SimEnv) -> u64 {
    env.files().iter().map(|(_, bytes)| bytes).sum()
}

/// Puts values of `len` bytes until there is no room.
fn fill_disk(db: &Db, len: usize) {
    let keys = (0..100_u64).cycle().zip(0..);
    let refused = keys.map(|(key, n)| db.put(&key.to_be_bytes(), &noise(n, len)).err());
    let error = refused.flatten().next().expect("the disk must fill up");
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
    words.take(len / 8).flatten().collect()
}

/// Returns a database on a disk with one free page, and a cursor that keeps older tables alive.
fn full_but_for_a_cursor(env: &Arc<SimEnv>) -> (Db, cairndb::Iter) {
    env.record_ops(false);
    let options = options(env).compression(Compression::None);
    let db = options.open(PATH).expect("the database must open");
    let load = |round: u64| {
        for n in 0..1500_u64 {
            let value = noise(n * 100 + round, 1000);
            db.put(&n.to_be_bytes(), &value).expect("the put must fit");
        }
        db.compact_range(..).expect("the put must fit");
    };
    load(0);
    let mut iter = db.iter();
    let first = iter.next().expect("the database must have entries");
    first.expect("the entry must be readable");
    load(1);
    while db.step_background(Job::Reap).expect("unlink must succeed") {}
    env.set_capacity(used(env) + (6 << 10));
    fill_disk(&db, 24);
    (db, iter)
}

/// Regression: while flushes failed because the disk was full, the space of tables that a dropped
/// cursor had kept was not reclaimed, here by a worker whose flushes are held off.
#[test]
fn a_worker_that_is_held_off_reclaims_what_a_cursor_kept() {
    let env = SimEnv::with(1, Background::Threads);
    let (db, iter) = full_but_for_a_cursor(&env);
    let before = used(&env);
    drop(iter);
    let given_back = (0..10_000_000_u32).any(|_| {
        env.advance_clock(1_000_000_000);
        std::thread::yield_now();
        used(&env) + 1_000_000 < before
    });
    assert!(given_back, "{} of {before}", used(&env));
    db.put(b"k", b"v").unwrap();
}

/// Regression: each rejected write left a value file and an edit of the manifest, until even small
/// writes had no room.
#[test]
fn large_values_refused_by_a_full_disk_leave_no_files() {
    // With this limit the first value file is full. In a file with room, the file system must cut
    // off the bytes that a failed append leaves at the end.
    let setup = Setup {
        value_file: 80_000,
        ..Setup::plain()
    };
    for background in [Background::Stepped, Background::Threads] {
        let env = SimEnv::with(1, background);
        let db = setup.options(env.clone()).open(PATH).unwrap();
        // The pointer is in memory, so later value files may not be dropped.
        db.put(b"large", &noise(1, 100_000)).unwrap();
        let (before, bytes) = (env.files().len(), used(&env));
        env.set_capacity(bytes + 200_000);
        let large = noise(2, 300_000);
        // There is room for the batch's first value, but not for the second.
        let mut batch = WriteBatch::new();
        batch.put(b"first", &noise(4, 40_000));
        batch.put(b"second", &large);
        for _ in 0..150 {
            for refused in [db.put(b"k", &large), db.write(&batch)] {
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::NoSpace);
            }
        }
        let (left, now) = (env.files().len(), used(&env));
        assert!(left <= before + 3, "{before} files before, {left} after");
        assert!(now < bytes + 20_000, "{bytes} bytes before, {now} after");
        db.put(b"k", &noise(3, 100_000)).unwrap();
        let image = after(&env, Profile::Kill, Keep::All);
        image.set_capacity(u64::MAX);
        let db = open(&image);
        holds(&db, b"k", &noise(3, 100_000));
        holds(&db, b"large", &noise(1, 100_000));
    }
}
