//! Databases of LevelDB's own library, converted in place: read by CairnDB with equal contents, and
//! by LevelDB in `leveldb-original/`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bench_core::engine::{Engine as _, Session as _, Store as _};
use bench_core::workload::settings::Settings;
use cairndb::leveldb::{UpgradeOptions, UpgradeOutcome, plan, upgrade};
use cairndb_leveldb::ErrorKind;
use engine_leveldb::LevelDb;

use crate::history::{History, Pairs};
use crate::noise::Noise;
use crate::peer::{self, Contents};
use crate::{copies, library};

/// Small memory, so that there are several tables, and value files.
fn options() -> cairndb::Options {
    cairndb::Options::new().memory_budget(256 << 10)
}

/// Converts a copy of a closed database and compares what both stores read.
pub(crate) fn check(library: &LevelDb, path: &Path, settings: &Settings, history: &History) {
    let home = tempfile::tempdir().unwrap();
    copies::copy(path, home.path());
    let expected = history.visible(history.writes.len() as u64);
    let report = upgrade(home.path(), UpgradeOptions::new(options())).unwrap();
    assert_eq!(report.outcome, UpgradeOutcome::Converted);
    assert_eq!(report.entries, expected.len() as u64);
    let db = options().open(home.path()).unwrap();
    compare(&db, &expected);
    db.close().unwrap();
    cairndb::verify(home.path(), &options()).unwrap();
    let original = home.path().join("leveldb-original");
    let store = library.open(&original, settings).unwrap();
    let theirs = Contents::read(&store);
    assert!(theirs.forward == expected && theirs.backward == expected);
    store.close().unwrap();
    cairndb::destroy(home.path(), &options()).unwrap();
    let left: Vec<_> = std::fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    assert_eq!(left.len(), 1, "destroy keeps the originals: {left:?}");
}

/// Compares a database with its expected contents, in both directions and by key.
fn compare(db: &cairndb::Db, expected: &Pairs) {
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    for (key, value) in expected {
        assert!(cursor.valid() && cursor.key() == &key[..]);
        assert!(cursor.value() == &value[..]);
        cursor.next().unwrap();
    }
    assert!(!cursor.valid());
    cursor.seek_to_last().unwrap();
    for (key, value) in expected.iter().rev() {
        assert!(cursor.valid() && cursor.key() == &key[..] && cursor.value() == &value[..]);
        cursor.prev().unwrap();
    }
    assert!(!cursor.valid());
    for (key, value) in expected.iter().step_by(13) {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
}

/// Makes a database with one entry.
fn small(library: &LevelDb, path: &Path) {
    let settings = peer::settings(&mut Noise::new(1));
    let store = library.open(path, &settings).unwrap();
    let mut session = store.session(peer::ROLE).unwrap();
    session.put(b"key", b"value").unwrap();
    drop(session);
    store.close().unwrap();
}

/// Expects a refusal that changes nothing.
fn refused(path: &Path, kind: ErrorKind, text: &str) {
    let before = copies::state(path);
    let error = upgrade(path, UpgradeOptions::new(options())).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
    assert!(copies::state(path) == before);
}

#[test]
fn files_that_are_no_files_are_refused() {
    let Some(library) = library() else {
        return;
    };
    let text = "a link, a pipe or a directory; replace it";
    let home = tempfile::tempdir().unwrap();
    small(&library, home.path());
    let path = home.path();
    symlink(path.join("CURRENT"), path.join("000900.ldb")).unwrap();
    refused(path, ErrorKind::InvalidArgument, text);
    std::fs::remove_file(path.join("000900.ldb")).unwrap();
    let pipe = path.join("000900.log");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let error = upgrade(path, UpgradeOptions::new(options())).unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
    std::fs::remove_file(pipe).unwrap();
    std::fs::create_dir(path.join("000900.sst")).unwrap();
    let error = plan(path, &options()).unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
    std::fs::remove_dir(path.join("000900.sst")).unwrap();
    upgrade(path, UpgradeOptions::new(options())).unwrap();
}

#[test]
fn a_directory_without_permission_is_refused() {
    let Some(library) = library() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    small(&library, home.path());
    // Root may write everywhere, except over a file that stands where the directory has to be.
    std::fs::write(home.path().join("leveldb-original"), b"a file").unwrap();
    refused(home.path(), ErrorKind::InvalidArgument, "not a directory");
    std::fs::remove_file(home.path().join("leveldb-original")).unwrap();
    if rustix::process::geteuid().is_root() {
        return;
    }
    let mode =
        |bits| std::fs::set_permissions(home.path(), PermissionsExt::from_mode(bits)).unwrap();
    mode(0o500);
    refused(home.path(), ErrorKind::Io, "make it writable");
    mode(0o700);
    upgrade(home.path(), UpgradeOptions::new(options())).unwrap();
}
