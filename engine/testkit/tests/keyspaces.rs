//! Keyspaces on simulated disks: databases of the version before them, and full disks.
//!
//! `CAIRN_SEED` is the seed of the first database.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

use cairndb::{Db, Durability, ErrorKind, WriteOptions};
use cairndb_kernel::crc32c;
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};
use cairndb_testkit::facts::manifest_facts;
use cairndb_testkit::history::Contents;
use cairndb_testkit::oracle::{self, PATH};
use cairndb_testkit::setup::Setup;
use cairndb_testkit::{setting, spaces, value};

/// Number of moments at which an upgrade is killed, at least.
const MOMENTS_MIN: usize = 100;
const PROFILES: [Profile; 3] = [Profile::Kill, Profile::Ordered, Profile::Weak];
/// Where the manifest's header states the version.
const VERSION_AT: usize = 28;

fn open(env: &Arc<SimEnv>) -> Db {
    oracle::open(env, &Setup::plain()).unwrap()
}

fn contents(db: &Db) -> Contents {
    oracle::read_all(db, &Setup::plain()).unwrap()
}

/// Puts a value, which is then durable.
fn put(db: &Db, id: u64, len: usize) -> cairndb::Result<()> {
    let key = format!("key{id:03}");
    let options = WriteOptions::new().durability(Durability::Sync);
    db.put_with(
        key.as_bytes(),
        &value::chunk(id, key.as_bytes(), len),
        &options,
    )
}

fn manifest(env: &SimEnv) -> (PathBuf, Vec<u8>) {
    let current = env.read_file(&Path::new(PATH).join("CURRENT")).unwrap();
    let path = Path::new(PATH).join(String::from_utf8(current).unwrap().trim_end());
    let bytes = env.read_file(&path).unwrap();
    (path, bytes)
}

fn version(env: &SimEnv) -> u32 {
    let (_, bytes) = manifest(env);
    let version = bytes[VERSION_AT..].first_chunk().unwrap();
    u32::from_le_bytes(*version)
}

/// Returns a database of version 1, closed, with tables, a value file and a log.
fn version_1(seed: u64) -> Arc<SimEnv> {
    let env = SimEnv::new(seed);
    let db = open(&env);
    for id in 0..60 {
        let len = if id % 20 == seed % 20 { 9_000 } else { 200 };
        put(&db, id, len).unwrap();
        if id == 40 {
            db.flush().unwrap();
        }
    }
    // Without a close, the log is replayed.
    if seed.is_multiple_of(2) {
        db.close().unwrap();
    }
    let env = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
    let (path, mut bytes) = manifest(&env);
    bytes[VERSION_AT] = 1;
    let crc = crc32c(&bytes[6..64]).rotate_right(15);
    bytes[..4].copy_from_slice(&crc.wrapping_add(0xa282_ead8).to_le_bytes());
    env.write_file(&path, &bytes);
    env.check_manifests(manifest_facts);
    env
}

#[test]
fn version_1_is_read_and_upgraded_by_the_first_write() {
    let env = version_1(2);
    let before = env.image_hash();
    let options = Setup::plain().options(env.clone());
    let db = options.read_only(true).open(PATH).unwrap();
    let found = contents(&db);
    assert_eq!(found.len(), 60);
    drop(db);
    assert_eq!((env.image_hash(), version(&env)), (before, 1));
    let db = open(&env);
    assert_eq!(contents(&db), found);
    db.close().unwrap();
    drop(db);
    assert_eq!((env.image_hash(), version(&env)), (before, 1));
    put(&open(&env), 100, 200).unwrap();
    // A reader of version 1 accepts no other number at this place.
    assert_eq!(version(&env), 2);
    assert_eq!(contents(&open(&env)).len(), 61);
}

/// Killed at any moment, an upgrade leaves one version or the other, with everything in it.
#[test]
fn an_upgrade_may_die_at_any_moment() {
    let first = setting("CAIRN_SEED", 1);
    let (mut moments, mut states, mut upgraded) = (0, 0, 0);
    for seed in first.. {
        let env = version_1(seed);
        let base = contents(&open(&env.with_mapping(true)));
        let (sender, points) = channel();
        env.watch(move |point| sender.send(point).unwrap());
        let db = open(&env);
        put(&db, 100, 200).unwrap();
        db.create_keyspace(spaces::NAMES[1], &spaces::options(spaces::NAMES[1]))
            .unwrap();
        db.close().unwrap();
        env.unwatch();
        for point in points {
            moments += 1;
            for profile in PROFILES {
                for state in point.states(profile, seed, 4) {
                    let (image, place) = (&state.image, format!("{profile:?} {:?}", point.op()));
                    let before = version(image);
                    let db = open(image);
                    let mut found = contents(&db);
                    let created = found.remove(&spaces::entry(spaces::NAMES[1]));
                    found.remove(&b"key100"[..]);
                    assert_eq!(found, base, "{place}");
                    assert!(before == 2 || created.is_none(), "{place}");
                    put(&db, 101, 200).unwrap();
                    assert_eq!(version(image), 2, "{place}");
                    states += 1;
                    upgraded += u32::from(before == 2);
                }
            }
        }
        if moments >= MOMENTS_MIN {
            break;
        }
    }
    println!("CAIRN_SEED={first}: {moments} moments, {states} states, {upgraded} upgraded");
    assert!(upgraded > 0 && upgraded < states);
}

/// Whatever space is left, a creation or a drop on a full disk is done or has changed nothing. With
/// room again both succeed.
#[test]
fn a_full_disk_refuses_creations_and_drops_whole() {
    let made = SimEnv::new(1);
    let db = open(&made);
    put(&db, 1, 200).unwrap();
    db.create_keyspace("kept", &spaces::options("kept"))
        .unwrap();
    db.keyspace("kept").unwrap().put(b"k", b"v").unwrap();
    db.close().unwrap();
    let (mut refused, mut done) = (0, 0);
    for (spare, reopened) in (0..400)
        .step_by(10)
        .flat_map(|it| [(it, false), (it, true)])
    {
        let env = made.crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
        let db = open(&env);
        if !reopened {
            // The manifest exists already.
            put(&db, 2, 200).unwrap();
        }
        let used: u64 = env.files().iter().map(|(_, bytes)| bytes).sum();
        env.set_capacity(used + spare);
        let names = || db.keyspaces().join(",");
        let before = names();
        let created = db.create_keyspace("new", &spaces::options("new"));
        let there = match &created {
            Ok(_) => "kept,new",
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{spare}: {error}");
                &before
            }
        };
        assert_eq!(names(), there, "{spare}");
        let dropped = db.drop_keyspace("kept");
        if let Err(error) = &dropped {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{spare}: {error}");
            let kept = db.keyspace("kept").unwrap();
            assert_eq!(kept.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
        }
        let expected = names();
        let image = env.crash_image(Profile::Strict, &CrashChoice::new(Keep::None));
        assert_eq!(open(&image).keyspaces().join(","), expected, "{spare}");
        env.heal();
        for (failed, retried) in [
            (
                created.is_err(),
                db.create_keyspace("new", &spaces::options("new")).map(drop),
            ),
            (dropped.is_err(), db.drop_keyspace("kept")),
        ] {
            assert_eq!(failed, retried.is_ok(), "{spare}");
            *(if failed { &mut refused } else { &mut done }) += 1;
        }
        assert_eq!(names(), "new");
        db.close().unwrap();
        drop(db);
        assert_eq!(open(&env).keyspaces(), ["new"]);
    }
    assert!(refused > 20 && done > 20, "{refused} refused, {done} done");
}
