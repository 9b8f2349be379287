//! A database that a LevelDB process has open. The process is this test binary, started again.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use bench_core::engine::{Engine as _, Session as _, Store as _};
use cairndb::leveldb::{UpgradeOptions, upgrade};
use cairndb_env::{Env as _, RealEnv};
use cairndb_leveldb::{Database, ErrorKind, ReadOptions};

use crate::noise::Noise;
use crate::{library, peer};

const PATH: &str = "CAIRN_LEVELDB_CHILD_PATH";

/// The second process: has a database open until its input ends.
#[test]
#[ignore = "started by the other test of this file"]
fn hold() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else {
        return;
    };
    let library = &library().unwrap();
    let store = library
        .open(&path, &peer::settings(&mut Noise::new(1)))
        .unwrap();
    store
        .session(peer::ROLE)
        .unwrap()
        .put(b"key", b"value")
        .unwrap();
    std::fs::write(path.join("held"), b"").unwrap();
    assert!(std::io::stdin().lines().next().is_none());
    store.close().unwrap();
}

#[test]
fn a_database_that_leveldb_has_open_is_refused_with_the_process() {
    if library().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locks::hold", "--ignored"])
        .env(PATH, home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !home.path().join("held").exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the holder ended early"
        );
        std::thread::yield_now();
    }
    let dir = RealEnv::new().open_dir(home.path(), false).unwrap();
    let error = Database::open(&dir, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("process {} has the database open", child.id())),
        "{error}"
    );
    let options = UpgradeOptions::new(cairndb::Options::new());
    let error = upgrade(home.path(), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    assert!(error.to_string().contains(": process "), "{error}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let database = Database::open(&dir, &ReadOptions::default()).unwrap();
    assert_eq!(
        database.get(b"key").unwrap().as_deref(),
        Some(&b"value"[..])
    );
}
