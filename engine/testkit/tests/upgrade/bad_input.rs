//! Directories that cannot be converted: each has its own message, and nothing is changed.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use cairndb::leveldb::{ReverseOrder, plan};
use cairndb::{Comparator, ErrorKind};
use cairndb_env::{Dir, Env};
use cairndb_leveldb::{LogWriter, NewDatabase, Order, VersionEdit, WriteOptions};
use cairndb_sim::{Cause, Effect, Fault, OpKind, SimEnv};

use crate::fixture::{
    Entries, Fixture, Opened, PATH, Size, check, convert, directory, files, fixture, options,
};

/// Expects the refusal of a conversion, and that nothing has changed.
fn refused(env: &Arc<SimEnv>, kind: ErrorKind, text: &str) {
    let before = env.image_hash();
    let errors = [
        convert(env).unwrap_err(),
        options(env).upgrade_leveldb(true).open(PATH).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(env.image_hash(), before);
}

/// Replaces a file.
fn replace(dir: &dyn Dir, name: &str, bytes: &[u8]) {
    dir.unlink(name).unwrap();
    let mut file = dir.create(name).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    dir.sync().unwrap();
}

fn manifest(fixture: &Fixture) -> String {
    let mut names = fixture.files.keys();
    let name = names.find(|name| name.starts_with(b"MANIFEST-")).unwrap();
    String::from_utf8(name.clone()).unwrap()
}

#[test]
fn directories_without_a_database_are_refused() {
    let env = SimEnv::new(1);
    let convert_error = convert(&env).unwrap_err();
    assert_eq!(convert_error.kind(), ErrorKind::NotFound);
    env.open_dir(Path::new(PATH), true).unwrap();
    let error = convert(&env).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no CURRENT"), "{error}");
    let db = options(&env).create_if_missing(true).open(PATH).unwrap();
    db.close().unwrap();
    let error = plan(PATH, &options(&env)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_database_in_use_is_refused() {
    let fixture = fixture(2, Size::SMALL);
    let dir = directory(&fixture.env, PATH).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    refused(
        &fixture.env,
        ErrorKind::Locked,
        "already has the database open",
    );
    drop(lock);
    convert(&fixture.env).unwrap();
}

#[test]
fn a_directory_without_permission_is_refused() {
    let fixture = fixture(10, Size::SMALL);
    let effect = Effect::Fails(Cause::Permission);
    // The plan and the conversion look whether it exists; then it is created.
    let fault = Fault::on(OpKind::OpenDir, "leveldb-original", effect).after(2);
    fixture.env.inject(fault.sticky());
    let before = fixture.env.image_hash();
    let error = convert(&fixture.env).unwrap_err();
    assert!(error.to_string().contains("make it writable"), "{error}");
    assert_eq!(fixture.env.image_hash(), before);
    fixture.env.heal();
    convert(&fixture.env).unwrap();
}

#[test]
fn rocksdb_is_refused_by_name() {
    let fixture = fixture(3, Size::SMALL);
    let dir = directory(&fixture.env, PATH).unwrap();
    dir.create("IDENTITY").unwrap();
    dir.sync().unwrap();
    refused(&fixture.env, ErrorKind::InvalidArgument, "RocksDB");
    let error = options(&fixture.env).open(PATH).unwrap_err();
    assert!(error.to_string().contains("RocksDB"), "{error}");
}

#[test]
fn a_newer_format_is_refused() {
    let fixture = fixture(4, Size::SMALL);
    let dir = directory(&fixture.env, PATH).unwrap();
    dir.unlink(&manifest(&fixture)).unwrap();
    let mut log = LogWriter::new(dir.create("MANIFEST-000900").unwrap());
    let mut record = Vec::new();
    let edit = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        ..VersionEdit::default()
    };
    edit.encode(&mut record);
    record.extend([200, 1, 7]);
    log.append(&record).unwrap();
    log.sync().unwrap();
    replace(&*dir, "CURRENT", b"MANIFEST-000900\n");
    refused(
        &fixture.env,
        ErrorKind::FormatTooNew,
        "a newer version wrote it",
    );
}

#[test]
fn damage_is_refused_with_file_and_offset() {
    for (name, text) in [
        ("000777.log", "000777.log"),
        ("table", ".ldb"),
        ("manifest", "MANIFEST-"),
        ("CURRENT", "CURRENT"),
    ] {
        let fixture = fixture(5, Size::SMALL);
        let dir = directory(&fixture.env, PATH).unwrap();
        let name = match name {
            "manifest" => manifest(&fixture),
            "table" => {
                let mut names = fixture.files.keys();
                let name = names.rfind(|name| name.ends_with(b".ldb")).unwrap();
                String::from_utf8(name.clone()).unwrap()
            }
            name => name.to_owned(),
        };
        let mut bytes = fixture.files[name.as_bytes()].clone();
        let at = if name.starts_with("MANIFEST") {
            12
        } else {
            bytes.len() / 3
        };
        bytes[at] ^= 0x40;
        replace(&*dir, &name, &bytes);
        let before = files(&*dir);
        let error = convert(&fixture.env).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(error.file_offset().is_some(), "{error}");
        assert!(files(&*dir) == before, "{name}: something was changed");
    }
}

/// An order under LevelDB's name that is not LevelDB's.
#[derive(Debug)]
struct Wrong;

impl Comparator for Wrong {
    fn name(&self) -> &'static str {
        "leveldb.BytewiseComparator"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}

#[test]
fn another_order_is_refused() {
    let env = SimEnv::new(6);
    let dir = env.open_dir(Path::new(PATH), true).unwrap();
    let order = ReverseOrder::of("example.reverse", Order::Bytewise);
    let settings = WriteOptions {
        order: Order::Custom(Arc::new(order.clone())),
        ..WriteOptions::default()
    };
    let mut new = NewDatabase::create(&dir, settings).unwrap();
    for key in [b"c", b"b", b"a"] {
        new.put(key, b"value").unwrap();
    }
    new.finish().unwrap();
    refused(&env, ErrorKind::InvalidArgument, "\"example.reverse\"");
    let reversed = options(&env)
        .comparator(Arc::new(order))
        .upgrade_leveldb(true);
    let db = reversed.open(PATH).unwrap();
    let keys: Vec<u8> = db.iter().map(|entry| entry.unwrap().0[0]).collect();
    assert_eq!(keys, *b"cba");
    db.close().unwrap();
}

#[test]
fn a_known_order_must_be_chosen() {
    let env = SimEnv::new(7);
    let dir = env.open_dir(Path::new(PATH), true).unwrap();
    let order = ReverseOrder::of("leveldb.ReverseBytewiseComparator", Order::Bytewise);
    let settings = WriteOptions {
        order: Order::Custom(Arc::new(order)),
        ..WriteOptions::default()
    };
    NewDatabase::create(&dir, settings)
        .unwrap()
        .finish()
        .unwrap();
    refused(
        &env,
        ErrorKind::InvalidArgument,
        "expected leveldb.ReverseBytewiseComparator",
    );
}

#[test]
fn keys_in_another_order_are_refused() {
    let fixture = fixture(8, Size::SMALL);
    let wrong = options(&fixture.env)
        .comparator(Arc::new(Wrong))
        .upgrade_leveldb(true);
    let error = wrong.open(PATH).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let dir = directory(&fixture.env, PATH).unwrap();
    assert!(files(&*dir) == fixture.files, "something was changed");
    assert_eq!(check(&fixture.env, &fixture.entries), Opened::LevelDb);
}

/// Regression: a conversion was killed while it removed LevelDB's names, and its user moved files
/// back by hand, but not the log. The next attempt removed the link that was its only copy.
#[test]
fn the_only_copy_of_a_log_is_not_removed() {
    let fixture = fixture(4, Size::SMALL);
    let names: Vec<String> = fixture
        .files
        .keys()
        .map(|name| String::from_utf8(name.clone()).unwrap())
        .collect();
    let is_log = |name: &&String| name.as_bytes().ends_with(b".log");
    let log = names.iter().find(is_log).unwrap();
    let main = directory(&fixture.env, PATH).unwrap();
    let path = Path::new(PATH).join("leveldb-original");
    let originals = fixture.env.open_dir(&path, true).unwrap();
    originals.create("UNFINISHED").unwrap();
    for name in &names {
        main.link(name, &*originals, name).unwrap();
    }
    main.unlink(log).unwrap();
    main.sync().unwrap();
    originals.sync().unwrap();
    refused(&fixture.env, ErrorKind::InvalidArgument, log);
    originals.link(log, &*main, log).unwrap();
    convert(&fixture.env).unwrap();
    assert_eq!(check(&fixture.env, &fixture.entries), Opened::Ours);
}

#[test]
fn files_of_the_users_stay() {
    let fixture = fixture(9, Size::SMALL);
    let dir = directory(&fixture.env, PATH).unwrap();
    let theirs: Entries = [("notes.txt", "mine"), ("000900.tbl", "not a table")]
        .map(|(name, text)| (name.as_bytes().to_vec(), text.as_bytes().to_vec()))
        .into();
    for (name, bytes) in &theirs {
        let mut file = dir.create(std::str::from_utf8(name).unwrap()).unwrap();
        file.append(bytes).unwrap();
    }
    convert(&fixture.env).unwrap();
    let after = files(&*dir);
    for (name, bytes) in &theirs {
        assert_eq!(after.get(name), Some(bytes));
    }
    assert_eq!(check(&fixture.env, &fixture.entries), Opened::Ours);
}
