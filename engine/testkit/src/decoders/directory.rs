//! Arbitrary changes of a small directory, which is then verified and repaired.
//!
//! Each change takes five bytes: the file, two for the place, the new byte, and what to do. Half of
//! the changes mend the checksum over the place, so that what it protects is decoded.

use std::sync::{Arc, OnceLock};

use cairndb::{Append, Db, DoubtKind, Options, RepairOptions, RepairReport};
use cairndb_env::{Background, Env, MemEnv};
use cairndb_leveldb::{BatchWriter, FileName, LogWriter, NewDatabase, TableOptions};

use crate::damage::files::{Files, HOME, files_of, placed};
use crate::damage::{mend_log, mend_own};

/// The bytes of one change.
const CHANGE: usize = 5;
/// Number of operands of the key that has them, and the bytes of each.
const OPERANDS: u32 = 3;
const OPERAND: usize = b"operand".len();
/// More changes leave nothing of a directory.
const CHANGES_MAX: usize = 64;

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Set,
    SetAndMend,
    Truncate,
    Remove,
}

/// Changes `files`. Returns whether a checksum was mended.
fn change(files: &mut Files, bytes: &[u8], mend: impl Fn(&mut Files, &str, usize)) -> bool {
    let mut any_mended = false;
    for change in bytes.chunks_exact(CHANGE).take(CHANGES_MAX) {
        let &[file, high, low, byte, action] = change else {
            continue;
        };
        let place = usize::from(u16::from_le_bytes([high, low]));
        let Some(name) = files
            .keys()
            .nth(usize::from(file) % files.len().max(1))
            .cloned()
        else {
            return any_mended;
        };
        let action = match action % 16 {
            0..6 => Action::Set,
            6..14 => Action::SetAndMend,
            14 => Action::Truncate,
            _ => Action::Remove,
        };
        if action == Action::Remove {
            files.remove(&name);
            continue;
        }
        let Some(contents) = files.get_mut(&name) else {
            continue;
        };
        // Scaled, so that two bytes reach every part of a file.
        let at = (place * contents.len()) >> 16;
        if action == Action::Truncate {
            contents.truncate(at);
        } else if let Some(old) = contents.get_mut(at) {
            *old = byte;
            if action == Action::SetAndMend {
                mend(files, &name, at);
                any_mended = true;
            }
        }
    }
    any_mended
}

fn value_of(key: &[u8]) -> Vec<u8> {
    [b"value of ", key].concat().repeat(key.len())
}

fn key_of(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

/// Writes keys, some twice and some deleted, in tables, a log and a value file.
fn fill(db: &Db) -> cairndb::Result<()> {
    for round in 0..OPERANDS {
        for number in (round..120).step_by(2) {
            let key = key_of(number);
            db.put(&key, &value_of(&key))?;
        }
        db.delete(&key_of(round * 7))?;
        let large = value_of(b"large").repeat(200);
        db.put(b"large", &large)?;
        db.merge(b"merged", b"operand")?;
        if round < 2 {
            db.flush()?;
        }
    }
    Ok(())
}

fn options() -> Options {
    Options::new()
        .memory_budget(256 << 10)
        .merge_operator(Arc::new(Append))
}

/// Returns the files of a database that was not closed.
fn own_base() -> &'static Files {
    static BASE: OnceLock<Files> = OnceLock::new();
    BASE.get_or_init(|| {
        let env = MemEnv::new(Background::Stepped);
        let options = options().env(env.clone()).create_if_missing(true);
        let db = options.open(HOME).expect("in memory");
        fill(&db).expect("in memory");
        db.step_background(cairndb::Job::Persist)
            .expect("in memory");
        let dir = env.open_dir(HOME.as_ref(), false).expect("in memory");
        files_of(&*dir)
    })
}

/// Returns the files of a LevelDB directory with two tables and a log.
fn leveldb_base() -> &'static Files {
    static BASE: OnceLock<Files> = OnceLock::new();
    BASE.get_or_init(|| {
        let env = MemEnv::new(Background::Stepped);
        let dir = env.open_dir(HOME.as_ref(), true).expect("in memory");
        let write = || {
            let options = cairndb_leveldb::WriteOptions {
                table_bytes: 4 << 10,
                tables: TableOptions::default(),
                ..cairndb_leveldb::WriteOptions::default()
            };
            let mut new = NewDatabase::create(&dir, options)?;
            for number in 0..100 {
                let key = key_of(number);
                new.put(&key, &value_of(&key))?;
            }
            new.finish()
        };
        write().expect("in memory");
        let mut files = files_of(&*dir);
        // The log that the manifest names, or a later one.
        let log = dir.create("000999.log").expect("in memory");
        let mut writer = LogWriter::new(log);
        for number in 50..150 {
            let mut batch = BatchWriter::new(u64::from(number) + 51);
            let key = key_of(number);
            batch.put(&key, &value_of(&key));
            writer.append(batch.bytes()).expect("in memory");
        }
        files.extend(files_of(&*dir));
        files
    })
}

/// Repairs a directory, and checks that the source is unchanged and the new database whole.
fn repaired(files: &Files, is_own: bool, is_genuine: impl Fn(&[u8], &[u8]) -> bool) {
    let (env, dir) = placed(files);
    let options = options().env(env.clone());
    let _ = cairndb::verify(HOME, &options);
    let repair = RepairOptions::new(&options);
    let planned = cairndb::repair(HOME, "/new", &repair.clone().dry_run(true));
    let report = cairndb::repair(HOME, "/new", &repair);
    assert_eq!(
        planned.is_ok(),
        report.is_ok(),
        "a dry run fails as a repair does"
    );
    let mut left = files_of(&*dir);
    if !files.contains_key("LOCK") {
        left.remove("LOCK");
    }
    assert!(left == *files, "the source is unchanged");
    let Ok(report) = report else {
        return;
    };
    cairndb::verify("/new", &options).expect("the new database is whole");
    let db = options.open("/new").expect("the new database opens");
    let mut keys = 0;
    for entry in db.iter() {
        let (key, value) = entry.expect("the new database is readable");
        let (shown, len) = (key.escape_ascii(), value.len());
        assert!(
            is_genuine(&key, &value),
            "{shown} has a value of {len} bytes that was never written"
        );
        if &*key == b"merged" && is_own {
            check_operands(&value, &report);
        }
        keys += 1;
    }
    assert_eq!(keys, report.kept.keys, "the report counts the keys");
    db.close().expect("the new database closes");
}

fn is_genuine(key: &[u8], value: &[u8]) -> bool {
    match key {
        b"large" => value == value_of(b"large").repeat(200),
        b"merged" => b"operand".repeat(value.len() / OPERAND) == value,
        _ => value == value_of(key),
    }
}

/// Checks that no operand counts twice, unless the report says that the order of log and tables is
/// not known: a log that tables hold may then have been read.
fn check_operands(value: &[u8], report: &RepairReport) {
    let may_repeat = report.doubts.iter().any(|it| it.kind != DoubtKind::LogEnd);
    let fits = value.len() <= OPERANDS as usize * OPERAND;
    assert!(fits || may_repeat, "an operand counts twice:\n{report}");
}

/// Applies `bytes` as changes to a directory of ours, verifies and repairs it. Without a mended
/// checksum, no value appears that was not written.
///
/// # Panics
/// If a property is broken.
pub fn own_directory(bytes: &[u8]) {
    let mut files = own_base().clone();
    let mended = change(&mut files, bytes, |files, name, at| {
        let _ = mend_own(files, name, at);
    });
    repaired(&files, !mended, |key, value| {
        mended || is_genuine(key, value)
    });
}

/// Applies `bytes` as changes to a LevelDB directory, and repairs it.
///
/// # Panics
/// If a property is broken.
pub fn leveldb_directory(bytes: &[u8]) {
    let mut files = leveldb_base().clone();
    let mended = change(&mut files, bytes, |files, name, _| {
        let is_log = matches!(
            FileName::parse(name),
            Some(FileName::Log(_) | FileName::Manifest(_))
        );
        if let Some(contents) = files.get_mut(name).filter(|_| is_log) {
            mend_log(contents);
        }
    });
    repaired(&files, false, |key, value| mended || is_genuine(key, value));
}
