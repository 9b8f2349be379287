//! Conversions on a real disk, killed by a signal. The process is this test binary, started again.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cairndb::Options;
use cairndb::leveldb::{UpgradeOptions, upgrade};
use cairndb_env::random::Random;
use cairndb_env::{Env as _, RealEnv};
use cairndb_leveldb::{Database, NewDatabase, ReadOptions, WriteOptions};
use cairndb_testkit::setting;

use crate::fixture::{Entries, check_ours};

const PATH: &str = "CAIRN_UPGRADE_CHILD_PATH";
/// Kills in a push.
const KILLS: u64 = 30;

fn options() -> Options {
    Options::new()
        .memory_budget(256 << 10)
        .value_file_bytes(100_000)
}

/// The second process: converts a database, and reports each step.
#[test]
#[ignore = "started by the other test of this file"]
fn child() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else {
        return;
    };
    let report = |_: &_| println!("\nstep");
    upgrade(path, UpgradeOptions::new(options()).on_progress(report)).unwrap();
}

#[test]
fn a_conversion_may_be_killed() {
    let seed = setting("CAIRN_SEED", 1);
    let kills = KILLS.max(setting("CAIRN_KILLS", 0) / 50);
    println!("CAIRN_SEED={seed}");
    let mut random = Random::new(seed);
    let mut entries = Entries::new();
    for number in 0..6000 {
        let len = if number % 500 == 7 {
            9000
        } else {
            random.index(200)
        };
        let byte = u8::try_from(random.index(256)).unwrap();
        entries.insert(format!("{number:05}").into_bytes(), vec![byte; len]);
    }
    let mut as_ours = 0;
    for kill in 0..kills {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &entries);
        start_and_kill(home.path(), &mut random);
        as_ours += u64::from(check(home.path(), &entries));
        upgrade(home.path(), UpgradeOptions::new(options())).unwrap();
        assert!(check(home.path(), &entries), "kill {kill}");
        let original = home.path().join("leveldb-original");
        assert!(!original.join("UNFINISHED").exists());
        assert!(!check(&original, &entries), "kill {kill}");
    }
    println!("{kills} kills, {as_ours} after the end");
}

fn write(path: &Path, entries: &Entries) {
    let dir = RealEnv::new().open_dir(path, true).unwrap();
    let settings = WriteOptions {
        table_bytes: 100_000,
        ..WriteOptions::default()
    };
    let mut new = NewDatabase::create(&dir, settings).unwrap();
    for (key, value) in entries {
        new.put(key, value).unwrap();
    }
    new.finish().unwrap();
}

/// Starts a conversion, and kills it a little after one of its steps.
fn start_and_kill(path: &Path, random: &mut Random) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let steps = lines.map_while(Result::ok).filter(|line| line == "step");
    let _ = steps.take(1 + random.index(8)).count();
    for _ in 0..random.index(1 << 16) {
        std::hint::spin_loop();
    }
    let _ = child.kill();
    child.wait().unwrap();
}

/// Checks that the database has these entries. Returns whether it is ours.
fn check(path: &Path, entries: &Entries) -> bool {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    if let Ok(database) = Database::open(&dir, &ReadOptions::default()) {
        let mut cursor = database.cursor();
        cursor.seek_to_first().unwrap();
        for (key, value) in entries {
            assert!(cursor.key() == &key[..] && cursor.value() == &value[..]);
            cursor.next().unwrap();
        }
        assert!(!cursor.valid(), "an entry was invented");
        return false;
    }
    let db = options().read_only(true).open(path).unwrap();
    check_ours(&db, entries);
    true
}
