//! Databases against LevelDB's own library: what it writes is read here, and what is written here
//! it reads, with equal contents in both directions.
//!
//! Each round draws a shape: keys, values, block size, filter, compression, write buffer. LevelDB
//! writes; at random moments the directory is copied while it is open, as a crash would leave it,
//! and the copy is read here and then by LevelDB.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_SEED` | the first seed, 1 by default; if set alone, only that round runs |
//! | `CAIRN_ROUNDS` | number of rounds, 100 by default |

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests fail by panicking, copy real directories, and print what they do"
)]

#[path = "real/copies.rs"]
mod copies;
#[path = "real/history.rs"]
mod history;
#[path = "real/locks.rs"]
mod locks;
#[path = "common/noise.rs"]
mod noise;
#[path = "real/peer.rs"]
mod peer;
#[path = "real/upgrade.rs"]
mod upgrade;

use std::path::Path;

use bench_core::engine::{Engine as _, Session as _, Store as _};
use cairndb_env::{Env as _, RealEnv};
use cairndb_leveldb::{
    Codec, Database, InternalKey, Kind, NewDatabase, ReadOptions, TableOptions, WriteOptions,
};
use engine_leveldb::LevelDb;

use cairndb_env::testing::setting::setting;
use history::{History, Shape};
use noise::Noise;
use peer::Contents;

/// Rounds in a push.
const ROUNDS: u64 = 100;

/// The library, or none with a note of what could not be tested.
fn library() -> Option<LevelDb> {
    let library = LevelDb::load(None).ok();
    if library.is_none() {
        bench_core::host::test_skip::skip("install libleveldb1d");
    }
    library
}

fn rounds() -> std::ops::Range<u64> {
    let seed = setting("CAIRN_SEED");
    let rounds = setting("CAIRN_ROUNDS").unwrap_or(if seed.is_some() { 1 } else { ROUNDS });
    let first = seed.unwrap_or(1);
    first..first + rounds
}

fn open(path: &Path) -> Database {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    Database::open(&dir, &ReadOptions::default()).unwrap()
}

#[test]
fn what_leveldb_writes_is_read_here() {
    let Some(library) = library() else {
        return;
    };
    let mut databases = 0;
    for seed in rounds() {
        println!("CAIRN_SEED={seed}");
        databases += read_round(&library, &mut Noise::new(seed));
    }
    println!("{databases} databases of LevelDB's were read");
}

/// Writes one database with LevelDB, and checks it and its copies. Returns how many were checked.
fn read_round(library: &LevelDb, noise: &mut Noise) -> usize {
    let home = tempfile::tempdir().unwrap();
    let (shape, settings) = (Shape::draw(noise), peer::settings(noise));
    let mut history = History::default();
    let mut checked = 0;
    for life in 0..=noise.below(3) {
        let mut store = library.open(home.path(), &settings).unwrap();
        for step in 0..=noise.below(6) {
            history.write(&store, &shape, noise);
            if noise.below(8) == 0 {
                store.compact().unwrap();
            }
            if noise.below(3) == 0 {
                let copy = tempfile::tempdir().unwrap();
                copies::copy(home.path(), copy.path());
                println!("life {life}, step {step}: {} writes", history.writes.len());
                check(library, copy.path(), &settings, &history, noise);
                if step % 2 == 0 {
                    upgrade::check(library, copy.path(), &settings, &history);
                }
                torn(home.path(), &history, noise);
                checked += 2;
            }
        }
        store.close().unwrap();
    }
    check(library, home.path(), &settings, &history, noise);
    upgrade::check(library, home.path(), &settings, &history);
    checked + 1
}

/// Compares a database with its history, then with what LevelDB reads in it.
fn check(
    library: &LevelDb,
    path: &Path,
    settings: &bench_core::workload::settings::Settings,
    history: &History,
    noise: &mut Noise,
) {
    let before = copies::state(path);
    let database = open(path);
    assert_eq!(database.last_seq(), history.writes.len() as u64);
    let report = database.report();
    assert!(
        report.torn_log.is_none() && report.torn_manifest.is_none(),
        "{report:?}"
    );
    for info in database.tables() {
        let summary = database.verify_table(info).unwrap();
        assert_eq!(summary.filtered, settings.bloom_bits.is_some());
    }
    let ours = history::check(&database, history, noise);
    drop(database);
    assert_eq!(copies::state(path), before, "reading changed the directory");
    let store = library.open(path, settings).unwrap();
    let theirs = Contents::read(&store);
    assert!(
        ours == theirs,
        "{} entries here, {} there",
        ours.forward.len(),
        theirs.forward.len()
    );
    store.close().unwrap();
}

/// Cuts the newest log of a copy anywhere: all whole batches before the cut must be there.
fn torn(path: &Path, history: &History, noise: &mut Noise) {
    let copy = tempfile::tempdir().unwrap();
    copies::copy(path, copy.path());
    let end = copies::cut_newest_log(copy.path(), noise);
    let seq = end.map_or(history.writes.len() as u64, |end| end - 1);
    let database = open(copy.path());
    // The manifest may state a later sequence number than the last one left in the log.
    assert!(database.last_seq() >= seq);
    assert!(
        history.is_batch_end(seq),
        "{seq} of {}",
        history.writes.len()
    );
    history::check(&database, &history.until(seq), noise);
}

#[test]
fn what_is_written_here_leveldb_reads() {
    let Some(library) = library() else {
        return;
    };
    let mut databases = 0;
    for seed in rounds() {
        println!("CAIRN_SEED={seed}");
        let mut noise = Noise::new(!seed);
        for _ in 0..3 {
            write_round(&library, &mut noise);
            databases += 1;
        }
    }
    println!("{databases} databases were read by LevelDB");
}

fn write_round(library: &LevelDb, noise: &mut Noise) {
    let home = tempfile::tempdir().unwrap();
    let shape = Shape::draw(noise);
    let mut history = History::default();
    for _ in 0..noise.below(5) {
        history.draw(&shape, noise);
    }
    let tables = TableOptions {
        block_bytes: noise.pick(&[1, 300, 4096, 100_000]),
        restart_interval: noise.pick(&[1, 2, 16, 100]),
        codec: noise.pick(&[Codec::None, Codec::Snappy]),
        bloom_bits: noise.pick(&[None, Some(1), Some(10), Some(44)]),
    };
    let table_bytes = noise.pick(&[1, 10_000, 2 << 20]);
    let options = WriteOptions {
        table_bytes,
        tables,
        ..WriteOptions::default()
    };
    println!("{} writes, {options:?}", history.writes.len());
    let dir = RealEnv::new().open_dir(home.path(), true).unwrap();
    let mut new = NewDatabase::create(&dir, options).unwrap();
    for (key, seq, value) in history.sorted() {
        let kind = if value.is_some() {
            Kind::Put
        } else {
            Kind::Delete
        };
        let key = InternalKey { key, seq, kind };
        new.add(key, value.unwrap_or_default()).unwrap();
    }
    let summary = new.finish().unwrap();
    assert_eq!(summary.entries, history.writes.len() as u64);
    let settings = peer::settings(noise);
    let store = library.open(home.path(), &settings).unwrap();
    let theirs = Contents::read(&store);
    let expected = history.visible(history.writes.len() as u64);
    assert!(
        theirs.forward == expected,
        "{} entries, not {}",
        theirs.forward.len(),
        expected.len()
    );
    assert!(theirs.backward == expected);
    let mut session = store.session(peer::ROLE).unwrap();
    for (key, value) in &expected {
        let found = session.get(key, <[u8]>::to_vec).unwrap();
        assert_eq!(found.as_ref(), Some(value));
    }
    // LevelDB continues with the database, and the result is read here.
    drop(session);
    history.write(&store, &shape, noise);
    store.close().unwrap();
    let database = open(home.path());
    let ours = history::check(&database, &history, noise);
    assert!(ours.forward == history.visible(history.writes.len() as u64));
}
