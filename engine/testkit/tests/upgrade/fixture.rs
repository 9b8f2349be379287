//! LevelDB databases on simulated disks, and what must be true of them at any time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cairndb::leveldb::{UpgradeOptions, UpgradeReport, upgrade};
use cairndb::{Options, Result};
use cairndb_env::random::Random;
use cairndb_env::{Dir, Env};
use cairndb_leveldb::{
    BatchWriter, Database, FileName, LogWriter, NewDatabase, ReadOptions, WriteOptions,
};
use cairndb_sim::SimEnv;
use cairndb_testkit::facts::manifest_facts;

pub(crate) const PATH: &str = "/db";
pub(crate) const ORIGINAL: &str = "/db/leveldb-original";

pub(crate) type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// A machine with a LevelDB database, all of it durable.
pub(crate) struct Fixture {
    pub(crate) env: Arc<SimEnv>,
    pub(crate) entries: Entries,
    /// Names and contents of all files, except `LOCK`.
    pub(crate) files: Entries,
}

/// Sizes of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) entries: u64,
    pub(crate) logged: u64,
    /// Every so many values are large.
    pub(crate) large_every: u64,
}

impl Size {
    /// Several tables and a log of LevelDB's, two tables and two or more value files of ours.
    pub(crate) const SMALL: Size = Size {
        entries: 1000,
        logged: 30,
        large_every: 330,
    };
}

pub(crate) fn fixture(seed: u64, size: Size) -> Fixture {
    let builder = SimEnv::new(seed);
    let dir = builder.open_dir(Path::new(PATH), true).unwrap();
    let mut random = Random::new(seed);
    let value = |random: &mut Random, nth: u64| {
        let large = nth % size.large_every == size.large_every - 1;
        let len = if large { 9000 } else { random.index(700) };
        let byte = u8::try_from(random.index(256)).unwrap();
        (0..len)
            .map(|at| byte.wrapping_mul(u8::try_from(at % 251).unwrap()))
            .collect::<Vec<u8>>()
    };
    let mut entries = Entries::new();
    for nth in 0..size.entries {
        let key = format!("key{:06}", random.index(1 << 20)).into_bytes();
        entries.insert(key, value(&mut random, nth));
    }
    let options = WriteOptions {
        table_bytes: 100_000,
        ..WriteOptions::default()
    };
    let mut new = NewDatabase::create(&dir, options).unwrap();
    for (key, value) in &entries {
        new.put(key, value).unwrap();
    }
    let written = new.finish().unwrap().entries;
    write_log(&*dir, written, size, &mut random, &mut entries, value);
    dir.sync().unwrap();
    let files = files(&*dir);
    drop(dir);
    // Another machine: the rules are ours, not LevelDB's.
    let env = builder.with_mapping(true);
    env.check_manifests(manifest_facts);
    Fixture {
        env,
        entries,
        files,
    }
}

/// Adds a log of puts, overwrites and deletions.
fn write_log(
    dir: &dyn Dir,
    last_seq: u64,
    size: Size,
    random: &mut Random,
    entries: &mut Entries,
    mut value: impl FnMut(&mut Random, u64) -> Vec<u8>,
) {
    let mut log = LogWriter::new(dir.create("000777.log").unwrap());
    for nth in 0..size.logged {
        let mut batch = BatchWriter::new(last_seq + 1 + nth);
        let known = entries
            .keys()
            .nth(random.index(entries.len().max(1)))
            .cloned();
        match (nth % 3, known) {
            (0, Some(key)) => {
                batch.delete(&key);
                entries.remove(&key);
            }
            (1, Some(key)) => {
                let value = value(random, nth);
                batch.put(&key, &value);
                entries.insert(key, value);
            }
            _ => {
                let (key, value) = (format!("new{nth:04}").into_bytes(), value(random, nth));
                batch.put(&key, &value);
                entries.insert(key, value);
            }
        }
        log.append(batch.bytes()).unwrap();
    }
    log.sync().unwrap();
}

/// The options of all tests: the smallest memory, so that there are several tables.
pub(crate) fn options(env: &Arc<SimEnv>) -> Options {
    let env: Arc<dyn Env> = env.clone();
    Options::new()
        .env(env)
        .memory_budget(256 << 10)
        .value_file_bytes(12_000)
}

pub(crate) fn convert(env: &Arc<SimEnv>) -> Result<UpgradeReport> {
    upgrade(PATH, UpgradeOptions::new(options(env)))
}

pub(crate) fn directory(env: &SimEnv, path: &str) -> Result<Arc<dyn Dir>> {
    env.open_dir(Path::new(path), false)
}

/// Names and contents of all files, except `LOCK`.
pub(crate) fn files(dir: &dyn Dir) -> Entries {
    let mut files = Entries::new();
    for name in dir.list().unwrap() {
        if name != "LOCK" {
            let file = dir.open_read(&name).unwrap();
            let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
            file.read_at(0, &mut bytes).unwrap();
            files.insert(name.into_bytes(), bytes);
        }
    }
    files
}

/// The store as which a directory opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    LevelDb,
    Ours,
}

/// Checks that the directory opens as exactly one of the two, with these entries.
pub(crate) fn check(env: &Arc<SimEnv>, entries: &Entries) -> Opened {
    let dir = directory(env, PATH).unwrap();
    let theirs = Database::open(&dir, &ReadOptions::default());
    match options(env).read_only(true).open(PATH) {
        Ok(db) => {
            assert!(theirs.is_err(), "the directory opens as both");
            check_ours(&db, entries);
            Opened::Ours
        }
        Err(error) => {
            let theirs = theirs.unwrap_or_else(|theirs| panic!("neither: {error}; {theirs}"));
            assert!(error.to_string().contains("upgrade_leveldb"), "{error}");
            check_leveldb(&theirs, entries);
            Opened::LevelDb
        }
    }
}

pub(crate) fn check_ours(db: &cairndb::Db, entries: &Entries) {
    let mut expected = entries.iter();
    for found in db.iter() {
        let (key, value) = found.unwrap();
        let (expected_key, expected_value) = expected.next().expect("an entry was invented");
        assert!(key[..] == expected_key[..] && value[..] == expected_value[..]);
    }
    assert!(expected.next().is_none(), "an entry was lost");
    for (key, value) in entries.iter().step_by(37) {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
}

fn check_leveldb(database: &Database, entries: &Entries) {
    let mut cursor = database.cursor();
    cursor.seek_to_first().unwrap();
    for (key, value) in entries {
        assert!(cursor.key() == &key[..] && cursor.value() == &value[..]);
        cursor.next().unwrap();
    }
    assert!(!cursor.valid(), "an entry was invented");
}

/// Checks a directory whose conversion is complete: ours, without a trace of LevelDB's names, and
/// the untouched original in its place.
pub(crate) fn check_converted(env: &Arc<SimEnv>, fixture: &Fixture) {
    assert_eq!(check(env, &fixture.entries), Opened::Ours);
    let dir = directory(env, PATH).unwrap();
    for name in dir.list().unwrap() {
        assert!(
            !fixture.files.contains_key(name.as_bytes()) || name == "CURRENT",
            "{name} is left"
        );
        let ending = Path::new(&name)
            .extension()
            .and_then(|ending| ending.to_str());
        assert!(
            matches!(ending, None | Some("tbl" | "val" | "tmp")),
            "{name}"
        );
    }
    let original = directory(env, ORIGINAL).unwrap();
    assert!(files(&*original) == fixture.files, "the originals changed");
    let database = Database::open(&original, &ReadOptions::default()).unwrap();
    check_leveldb(&database, &fixture.entries);
    let logs = |name: &String| matches!(FileName::parse(name), Some(FileName::Log(_)));
    assert!(original.list().unwrap().iter().any(logs));
    cairndb::verify(PATH, &options(env)).unwrap();
}

/// Converts, and checks the result and the order of syncs.
pub(crate) fn complete(env: &Arc<SimEnv>, fixture: &Fixture) {
    complete_anyhow(env, fixture);
    assert_eq!(env.violations(), []);
}

/// Converts, and checks the result.
pub(crate) fn complete_anyhow(env: &Arc<SimEnv>, fixture: &Fixture) {
    convert(env).unwrap();
    check_converted(env, fixture);
    // The database lives on.
    let db = options(env).open(PATH).unwrap();
    db.put(b"after", b"the conversion").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let mut entries = fixture.entries.clone();
    entries.insert(b"after".to_vec(), b"the conversion".to_vec());
    assert_eq!(check(env, &entries), Opened::Ours);
}
