//! Deferred compression: a load in key order leaves tables uncompressed, and the idle database
//! compresses them.

use std::sync::Arc;

use cairndb::env::{Background, Env, MemEnv};
use cairndb::{Compression, Db, ErrorKind, Job, Options};
use cairndb_sim::{Profile, SimEnv};

use crate::{all, mem_db, stat};

/// Number of records, enough for a dozen tables with the smallest budget.
const RECORDS: u32 = 20_000;

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// Returns a record that resembles all others and compresses only together with others.
fn record(n: u32) -> Vec<u8> {
    let (customer, price) = (n.wrapping_mul(2_654_435_761) >> 8, n % 997);
    format!("{{\"customer\":\"C-{customer:07}\",\"price\":{price},\"currency\":\"NOK\"}}")
        .into_bytes()
}

/// Puts the records in key order and flushes.
fn load(db: &Db) {
    for n in 0..RECORDS {
        db.put(&key(n), &record(n)).unwrap();
    }
    db.flush().unwrap();
}

fn check(db: &Db) {
    let found = all(db);
    assert_eq!(found.len(), RECORDS as usize);
    for (n, entry) in (0..).zip(&found) {
        assert_eq!(entry, &(key(n), record(n)));
    }
    for n in (0..RECORDS).step_by(97) {
        assert_eq!(db.get(&key(n)).unwrap().as_deref(), Some(&record(n)[..]));
    }
}

fn idle(db: &Db) {
    while db.step_background(Job::IdleCompact).unwrap() {}
}

#[test]
fn tables_of_a_fast_load_are_compressed_in_place_when_idle() {
    let (db, _) = mem_db();
    load(&db);
    let raw = stat(&db, "table_bytes");
    assert!(
        2 * stat(&db, "deferred_bytes") > raw,
        "at least half of the load must be left uncompressed"
    );
    check(&db);
    let runs = stat(&db, "runs");
    idle(&db);
    assert_eq!((stat(&db, "deferred_bytes"), stat(&db, "runs")), (0, runs));
    let encoded = stat(&db, "table_bytes");
    assert!(4 * encoded < 3 * raw, "{encoded} of {raw} bytes");
    check(&db);
    assert!(
        !db.step_background(Job::IdleCompact).unwrap(),
        "no work must be left"
    );
    db.close().unwrap();
}

#[test]
fn a_reopened_database_knows_which_tables_to_compress() {
    let (db, options) = mem_db();
    load(&db);
    let deferred = stat(&db, "deferred_bytes");
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(stat(&db, "deferred_bytes"), deferred);
    check(&db);
    idle(&db);
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    check(&db);
    db.close().unwrap();
}

#[test]
fn compact_range_compresses_deferred_tables() {
    let (db, _) = mem_db();
    load(&db);
    let raw = stat(&db, "table_bytes");
    db.compact_range(..).unwrap();
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    assert!(4 * stat(&db, "table_bytes") < 3 * raw);
    check(&db);
    db.close().unwrap();
}

#[test]
fn nothing_is_deferred_without_compression_or_in_random_order() {
    let (_, options) = mem_db();
    let options = options.compression(Compression::None);
    let db = options.open("/none").unwrap();
    load(&db);
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    assert!(!db.step_background(Job::IdleCompact).unwrap());
    db.close().unwrap();

    let (db, _) = mem_db();
    for n in 0..RECORDS {
        let n = n.wrapping_mul(7919) % RECORDS;
        db.put(&key(n), &record(n)).unwrap();
    }
    db.flush().unwrap();
    // Compression of a single memtable may be deferred if it is flushed before the first table
    // exists.
    assert!(8 * stat(&db, "deferred_bytes") < stat(&db, "table_bytes"));
    check(&db);
    db.close().unwrap();
}

/// A handle without compression rewrites nothing. The next one with compression compresses the
/// deferred tables.
#[test]
fn without_compression_deferred_tables_stay_deferred() {
    let (db, options) = mem_db();
    load(&db);
    let deferred = stat(&db, "deferred_bytes");
    db.close().unwrap();
    let db = options.clone().compression(Compression::None);
    let db = db.open("/db").unwrap();
    assert!(!db.step_background(Job::IdleCompact).unwrap());
    db.compact_range(..).unwrap();
    assert_eq!(
        (stat(&db, "deferred_bytes"), stat(&db, "merges")),
        (deferred, 0)
    );
    check(&db);
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    idle(&db);
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    check(&db);
    db.close().unwrap();
}

/// A few uncompressed tables among many compressed ones: the uncompressed tables are compressed,
/// and the tables between them are not rewritten.
#[test]
fn compressing_deferred_tables_does_not_rewrite_their_neighbours() {
    let env = MemEnv::new(Background::Stepped);
    let options = Options::new().create_if_missing(true).env(env.clone());
    let db = options.memory_budget(256 << 10).open("/db").unwrap();
    for n in 0..RECORDS {
        db.put(&key(n), &record(n)).unwrap();
        // Manual flushes at a low rate leave nothing uncompressed. One stretch in eight has no
        // manual flushes.
        if n % 8000 > 1000 && n % 50 == 0 {
            // Each call of `now_ns` advances this clock.
            let passed: u64 = (0..1000).map(|_| env.now_ns()).sum();
            assert!(passed > 0);
            db.step_background(Job::Flush).unwrap();
        }
    }
    db.flush().unwrap();
    let (deferred, all) = (stat(&db, "deferred_bytes"), stat(&db, "table_bytes"));
    assert!(0 < deferred && 3 * deferred < all, "{deferred} of {all}");
    let before = stat(&db, "merge_read_bytes");
    idle(&db);
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    let read = stat(&db, "merge_read_bytes") - before;
    assert!(read <= 2 * deferred + all / 20, "{read} for {deferred}");
    check(&db);
    db.close().unwrap();
}

/// Tombstones and newer values lie above deferred tables, and an idle database compacts both
/// together.
#[test]
fn entries_above_deferred_tables_stay_above() {
    let (db, _) = mem_db();
    load(&db);
    let snapshot = db.snapshot();
    for n in (0..RECORDS).step_by(3) {
        db.delete(&key(n)).unwrap();
    }
    for n in (1..RECORDS).step_by(3) {
        db.put(&key(n), b"new").unwrap();
    }
    db.flush().unwrap();
    idle(&db);
    assert_eq!(stat(&db, "deferred_bytes"), 0);
    for n in 0..RECORDS {
        let now = db.get(&key(n)).unwrap();
        match n % 3 {
            0 => assert_eq!(now, None),
            1 => assert_eq!(now.as_deref(), Some(&b"new"[..])),
            _ => assert_eq!(now.as_deref(), Some(&record(n)[..])),
        }
        let then = snapshot.get(&key(n)).unwrap();
        assert_eq!(then.as_deref(), Some(&record(n)[..]));
    }
    drop(snapshot);
    db.close().unwrap();
}

#[test]
fn power_may_fail_while_tables_are_compressed() {
    let env = SimEnv::new(7);
    let options = |env: Arc<dyn Env>| {
        let options = Options::new().create_if_missing(true).env(env);
        options.memory_budget(256 << 10)
    };
    let db = options(env.clone()).open("/db").unwrap();
    load(&db);
    assert!(stat(&db, "deferred_bytes") > 0);
    let mut encoded = 0;
    for job in [Job::IdleCompact, Job::Persist, Job::Reap] {
        db.step_background(job).unwrap();
        for state in env.crash_states(Profile::Weak, 3, 12) {
            let after = options(state.image).open("/db").unwrap();
            check(&after);
            encoded += u32::from(stat(&after, "deferred_bytes") == 0);
            idle(&after);
            check(&after);
            after.close().unwrap();
        }
    }
    assert!(encoded > 0, "some crash states must have the new tables");
    db.close().unwrap();
}

/// The damaged table is reported and left unchanged. Its neighbours are compressed.
#[test]
fn a_damaged_table_does_not_keep_others_from_being_compressed() {
    let env = MemEnv::new(Background::Stepped);
    let options = Options::new().create_if_missing(true).env(env.clone());
    let options = options.memory_budget(256 << 10);
    let db = options.open("/db").unwrap();
    load(&db);
    db.close().unwrap();

    let dir = env.open_dir("/db".as_ref(), false).unwrap();
    let mut tables = dir.list().unwrap();
    tables.retain(|name| {
        let path = std::path::Path::new(name);
        path.extension().is_some_and(|end| end == "tbl")
    });
    tables.sort();
    let middle = &tables[tables.len() / 2];
    let mut bytes = vec![0; 4096];
    let file = dir.open_read(middle).unwrap();
    bytes.resize(usize::try_from(file.size()).unwrap(), 0);
    file.read_at(0, &mut bytes).unwrap();
    bytes[100] ^= 1;
    dir.unlink(middle).unwrap();
    dir.create(middle).unwrap().append(&bytes).unwrap();

    let db = options.open("/db").unwrap();
    let deferred = stat(&db, "deferred_bytes");
    let error = db.step_background(Job::IdleCompact).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.file_name() == Some(middle) && error.file_offset().is_some());
    idle(&db);
    let left = stat(&db, "deferred_bytes");
    assert!(
        left > 0 && 2 * left < deferred,
        "{left} of {deferred} bytes"
    );
    assert_eq!(db.wait_idle().unwrap_err().kind(), ErrorKind::Corruption);
    db.close().unwrap();
}
