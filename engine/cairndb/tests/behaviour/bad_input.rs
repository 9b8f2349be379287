//! Rejected operations: each error names the cause and gives advice, and nothing on disk changes.

use std::path::Path;

use cairndb::{Db, Durability, ErrorKind, Options};
use cairndb_base::{FileNumber, SEQ_MAX};
use cairndb_env::{Background, Env, MemEnv, RealEnv};
use cairndb_format::manifest::{
    ManifestWriter, SegmentRecord, VersionEdit, prepare_current, read_current, read_manifest,
};
use cairndb_format::name;
use cairndb_sim::{Cause, Effect, Fault, OpKind, SimEnv};

use crate::{all, fails, fails_with, files, paths, real_dir, reverse, write_files};

/// Creates and closes a database with a table and a few keys.
fn closed(path: &Path) {
    let db = Db::open(path).unwrap();
    for n in 0..2_000u32 {
        db.put(&n.to_be_bytes(), &[3; 50]).unwrap();
    }
    db.close().unwrap();
}

/// Checks that opening fails with `kind`, mentions `advice`, and changes no byte.
fn refused(path: &Path, options: &Options, kind: ErrorKind, advice: &str) {
    let before = files(path);
    let error = fails_with(options.open(path), kind, advice);
    assert_eq!(files(path), before, "{error}");
}

#[test]
fn a_missing_directory_is_not_created_by_default() {
    let dir = real_dir();
    let (path, options) = (dir.path().join("absent"), Options::new());
    refused(&path, &options, ErrorKind::NotFound, "does not exist");
    assert!(!path.exists());
    let deep = dir.path().join("no/parent");
    let create = Options::new().create_if_missing(true);
    refused(&deep, &create, ErrorKind::NotFound, "parent directory");
    std::fs::create_dir(&path).unwrap();
    refused(&path, &options, ErrorKind::NotFound, "create_if_missing");
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = real_dir();
    std::fs::write(dir.path().join("thesis.tex"), "chapter one").unwrap();
    let (create, kind) = (
        Options::new().create_if_missing(true),
        ErrorKind::InvalidArgument,
    );
    refused(dir.path(), &create, kind, "something other than a database");
    fails(create.open(dir.path().join("thesis.tex")), kind);
}

#[test]
fn tables_without_current_are_not_a_fresh_database() {
    let dir = real_dir();
    closed(dir.path());
    std::fs::remove_file(dir.path().join("CURRENT")).unwrap();
    let create = Options::new().create_if_missing(true);
    refused(dir.path(), &create, ErrorKind::Corruption, "no CURRENT");
}

#[test]
fn an_existing_database_is_neither_created_again_nor_put_in_another_order() {
    let dir = real_dir();
    closed(dir.path());
    let options = Options::new().create_if_missing(true).error_if_exists(true);
    refused(dir.path(), &options, ErrorKind::InvalidArgument, "exists");
    let options = Options::new().comparator(reverse());
    refused(
        dir.path(),
        &options,
        ErrorKind::InvalidArgument,
        "test.Reverse",
    );
}

#[test]
fn a_second_opening_is_locked_out_by_any_name() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link] {
        fails(Options::new().open(name), ErrorKind::Locked);
    }
    db.put(b"still", b"here").unwrap();
    db.close().unwrap();
    Options::new().open(&link).unwrap();
}

/// Regression: a read-only handle took no lock, and a concurrent writer removed its files while it
/// read them.
#[test]
fn readers_share_a_database_and_keep_writers_out() {
    let dir = real_dir();
    closed(dir.path());
    let before = files(dir.path());
    let read_only = Options::new().read_only(true);
    let one = read_only.open(dir.path()).unwrap();
    let two = read_only.open(dir.path()).unwrap();
    cairndb::verify(dir.path(), &Options::new()).unwrap();
    for open in [true, false] {
        assert_eq!(all(&one).len(), all(&two).len());
        refused(dir.path(), &Options::new(), ErrorKind::Locked, "share");
        fails(
            cairndb::destroy(dir.path(), &Options::new()),
            ErrorKind::Locked,
        );
        if open {
            cairndb::verify(dir.path(), &Options::new()).unwrap();
        }
    }
    drop(one);
    refused(dir.path(), &Options::new(), ErrorKind::Locked, "share");
    drop(two);
    assert_eq!(files(dir.path()), before);
    let writer = Options::new().open(dir.path()).unwrap();
    refused(dir.path(), &read_only, ErrorKind::Locked, "share");
    fails(
        cairndb::verify(dir.path(), &Options::new()),
        ErrorKind::Locked,
    );
    drop(writer);
    cairndb::verify(dir.path(), &Options::new()).unwrap();
}

#[test]
fn an_error_names_the_directory_of_its_database() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    let locked = Options::new().open(&path).unwrap_err();
    let named = format!("in {}", path.display());
    assert_eq!(locked.file_name(), Some("LOCK"));
    assert!(locked.to_string().contains(&named), "{locked}");
    let taken = db.checkpoint(&path).unwrap_err();
    assert_eq!(taken.file_name(), Some(path.to_str().unwrap()), "{taken}");
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let other = Options::new().comparator(reverse());
    let refused = other.open(&path).unwrap_err();
    assert!(refused.to_string().contains(&named), "{refused}");
    let table = a_table(&path);
    let mut bytes = files(&path).remove(&table).unwrap();
    bytes[100] ^= 1;
    std::fs::write(path.join(&table), bytes).unwrap();
    let damaged = cairndb::verify(&path, &Options::new()).unwrap_err();
    assert_eq!(damaged.file_name(), Some(&table[..]));
    assert!(damaged.to_string().contains(&named), "{damaged}");
    let db = Options::new().open(&path).unwrap();
    assert_eq!(db.path(), path);
    let (mut out, mut cursor, snapshot) = (Vec::new(), db.cursor(), db.snapshot());
    db.put(b"l", b"w").unwrap();
    for error in [
        db.get(b"k").unwrap_err(),
        db.get_into(b"k", &mut out).unwrap_err(),
        db.multi_get(&[b"k"]).unwrap_err(),
        db.contains(b"k").unwrap_err(),
        snapshot.get(b"k").unwrap_err(),
        cursor.seek(b"k").unwrap_err(),
        cursor.seek_to_last().unwrap_err(),
        db.iter().next().unwrap().unwrap_err(),
        db.compact_range(..).unwrap_err(),
    ] {
        assert_eq!(error.file_name(), Some(&table[..]), "{error}");
        assert!(error.to_string().contains(&named), "{error}");
    }
}

/// A relative path may consist of one component. The error must not treat it as a file name in the
/// database's directory.
#[test]
fn an_error_about_a_path_is_not_about_a_file_of_the_database() {
    let env = MemEnv::new(Background::Stepped);
    let options = Options::new().env(env.clone());
    let missing = options.open("nothing").unwrap_err().to_string();
    assert!(missing.ends_with("(file nothing)"), "{missing}");
    let options = options.create_if_missing(true);
    let db = options.open("one").unwrap();
    options.open("two").unwrap().close().unwrap();
    let taken = db.checkpoint("two").unwrap_err().to_string();
    assert!(taken.contains("(file two, found "), "{taken}");
}

/// Every later write returns this error as well.
#[test]
fn the_error_that_poisons_a_handle_names_its_directory() {
    let env = SimEnv::with(3, Background::Stepped);
    let options = Options::new().create_if_missing(true).env(env.clone());
    let db = options.durability(Durability::Sync).open("/one").unwrap();
    db.put(b"k", b"v").unwrap();
    env.inject(Fault::on(OpKind::SyncFile, "", Effect::Fails(Cause::Io)));
    for _ in 0..2 {
        fails_with(db.put(b"k", b"w"), ErrorKind::Poisoned, ".log in /one");
    }
}

/// Returns the name of a table in `path`.
fn a_table(path: &Path) -> String {
    let name = paths(path, "tbl")[0].file_name().unwrap().to_owned();
    name.into_string().unwrap()
}

fn shorten(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() - 4096]).unwrap();
}

#[test]
fn a_missing_table_is_named() {
    let dir = real_dir();
    closed(dir.path());
    let table = a_table(dir.path());
    std::fs::remove_file(dir.path().join(&table)).unwrap();
    refused(dir.path(), &Options::new(), ErrorKind::Corruption, &table);
}

/// After a clean close only the first read detects it, because an open does not access tables.
#[test]
fn a_shortened_table_is_named() {
    let dir = real_dir();
    closed(dir.path());
    let table = a_table(dir.path());
    shorten(&dir.path().join(&table));
    let db = Options::new().open(dir.path()).unwrap();
    fails_with(db.get(&7u32.to_be_bytes()), ErrorKind::Corruption, &table);
    let scanned = db.iter().collect::<cairndb::Result<Vec<_>>>();
    fails(scanned, ErrorKind::Corruption);
    db.close().unwrap();
}

/// After a crash, the open detects the missing file.
#[test]
fn a_table_shortened_by_a_crash_is_named() {
    let (dir, crashed) = (real_dir(), real_dir());
    closed(dir.path());
    let db = Options::new().open(dir.path()).unwrap();
    db.put(b"more", b"to come").unwrap();
    write_files(crashed.path(), files(dir.path()));
    drop(db);
    let table = a_table(crashed.path());
    shorten(&crashed.path().join(&table));
    refused(
        crashed.path(),
        &Options::new(),
        ErrorKind::Corruption,
        &table,
    );
}

#[test]
fn a_damaged_or_foreign_current_is_named() {
    let dir = real_dir();
    closed(dir.path());
    let unfinished = ["", "MANIFEST-1\n", "MANIFEST-000001"];
    for text in unfinished
        .into_iter()
        .chain(["../../etc/passwd\n", "MANIFEST-999999\n"])
    {
        std::fs::write(dir.path().join("CURRENT"), text).unwrap();
        refused(dir.path(), &Options::new(), ErrorKind::Corruption, "");
    }
}

#[test]
fn a_newer_format_is_left_untouched() {
    let dir = real_dir();
    closed(dir.path());
    let mut files = files(dir.path()).into_iter();
    let manifest = files.find(|(name, _)| name.starts_with("MANIFEST"));
    let (name, mut bytes) = manifest.unwrap();
    let path = dir.path().join(name);
    // docs/format/manifest.md: version at offset 28, masked checksum of bytes 6..64 at offset 0.
    bytes[28] = 99;
    let crc = cairndb_kernel::crc32c(&bytes[6..64]).rotate_right(15);
    bytes[..4].copy_from_slice(&crc.wrapping_add(0xa282_ead8).to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    refused(dir.path(), &Options::new(), ErrorKind::FormatTooNew, "");
}

#[test]
fn a_read_only_handle_refuses_writes() {
    let dir = real_dir();
    closed(dir.path());
    let db = Options::new().read_only(true).open(dir.path()).unwrap();
    fails(db.put(b"k", b"v"), ErrorKind::ReadOnly);
    fails(db.flush(), ErrorKind::ReadOnly);
    fails(db.compact_range(..), ErrorKind::ReadOnly);
    assert!(db.get(&7u32.to_be_bytes()).unwrap().is_some());
    let copy = dir.path().join("copy");
    fails(db.checkpoint(&copy), ErrorKind::ReadOnly);
    assert!(!copy.exists(), "a rejected checkpoint left files");
    let absent = dir.path().join("absent");
    let options = Options::new().read_only(true).create_if_missing(true);
    refused(&absent, &options, ErrorKind::NotFound, "");
}

#[test]
fn a_budget_below_the_minimum_is_refused() {
    let dir = real_dir();
    let options = Options::new().create_if_missing(true).memory_budget(1000);
    refused(
        &dir.path().join("db"),
        &options,
        ErrorKind::InvalidArgument,
        "256 KiB",
    );
}

/// Regression: the report mentioned a checksum mismatch, which users mistook for corruption.
#[test]
fn the_log_of_a_killed_process_is_not_reported_as_damaged() {
    let dir = real_dir();
    let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    let db = Db::open(&path).unwrap();
    db.put(b"k", b"v").unwrap();
    // A kill leaves the current contents of the segment, including records from its earlier use.
    std::fs::create_dir(&copy).unwrap();
    for (name, mut bytes) in files(&path) {
        if Path::new(&name).extension().is_some_and(|end| end == "log")
            && let Some(last) = bytes.iter().rposition(|byte| *byte != 0)
        {
            bytes[last + 1..][..200].fill(0x55);
        }
        std::fs::write(copy.join(name), bytes).unwrap();
    }
    let db = Options::new().open(&copy).unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
    let cut = db.open_report().log_cut.as_ref().unwrap();
    let is_log = Path::new(&cut.file).extension() == Some("log".as_ref());
    let is_harmless = cut
        .reason
        .starts_with("nothing shows that a record was lost");
    assert!(cut.offset > 0 && is_log && is_harmless, "{cut:?}");
}

#[test]
fn an_error_that_main_returns_is_readable() {
    let error = Options::new().open("/nowhere/at/all").unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}

/// Changes the manifest of the database at `path` and keeps its checksums valid.
fn forged(path: &Path, change: impl FnOnce(&mut VersionEdit)) {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let number = read_current(&*dir).unwrap().unwrap();
    let mut edits = read_manifest(&*dir, number).unwrap().edits;
    change(&mut edits[0]);
    let next = FileNumber(number.0 + 1000);
    drop(ManifestWriter::create(&*dir, next, 7, &edits).unwrap());
    prepare_current(&*dir, next).unwrap();
    dir.rename(&name::temp(next), name::CURRENT).unwrap();
}

/// Regression: reversed bounds were cut by a prefix that they do not have.
#[test]
fn tables_whose_bounds_contradict_each_other_are_damage() {
    let dir = real_dir();
    closed(dir.path());
    forged(dir.path(), |edit| {
        let [table] = &mut edit.added_tables[..] else {
            panic!("one table");
        };
        let mut second = table.clone();
        second.file += 500;
        let file = |number| dir.path().join(name::table(FileNumber(number)));
        std::fs::copy(file(table.file), file(second.file)).unwrap();
        (table.smallest, table.largest) = (b"aaaa".to_vec(), b"a".to_vec());
        (second.smallest, second.largest) = (b"aab".to_vec(), b"aaaaz".to_vec());
        edit.added_tables.push(second);
    });
    let read_only = Options::new().read_only(true);
    refused(dir.path(), &read_only, ErrorKind::Corruption, ".tbl");
}

/// Regression: the next write ran out of sequence numbers and panicked.
#[test]
fn unreachable_sequence_numbers_are_damage() {
    let dir = real_dir();
    closed(dir.path());
    forged(dir.path(), |edit| edit.last_seq = Some(SEQ_MAX));
    refused(
        dir.path(),
        &Options::new(),
        ErrorKind::Corruption,
        "MANIFEST",
    );
}

/// A segment that no log has.
const SEGMENT: SegmentRecord = SegmentRecord {
    segment: 9,
    file: 9,
    salt: 1,
    bytes: 1 << 20,
    start_seq: 1,
};

/// Regression: a segment of any length was accepted, and memory of the same size was allocated.
#[test]
fn log_segments_of_impossible_length_are_damage() {
    for bytes in [0, 535, 1 << 32, 1 << 60] {
        let dir = real_dir();
        closed(dir.path());
        forged(dir.path(), |edit| {
            edit.clean_close = None;
            edit.added_segments = vec![SegmentRecord { bytes, ..SEGMENT }];
        });
        refused(
            dir.path(),
            &Options::new(),
            ErrorKind::Corruption,
            "MANIFEST",
        );
    }
}

/// Regression: segments listed by a clean close were ignored, and their records were lost.
#[test]
fn a_close_that_leaves_a_log_is_damage() {
    let change: [fn(&mut VersionEdit); 3] = [
        |edit| edit.added_segments = vec![SEGMENT],
        |edit| edit.clean_close.as_mut().unwrap().log_ends = vec![(9, 672)],
        |edit| edit.clean_close.as_mut().unwrap().last_seq += 1,
    ];
    for change in change {
        let dir = real_dir();
        closed(dir.path());
        forged(dir.path(), change);
        refused(
            dir.path(),
            &Options::new(),
            ErrorKind::Corruption,
            "a clean close",
        );
    }
}

/// Regression: everything after the last record of a manifest was read at once, however long the
/// file was.
#[test]
fn a_manifest_of_terabytes_is_reported_as_damage() {
    let dir = real_dir();
    closed(dir.path());
    let current = std::fs::read_to_string(dir.path().join("CURRENT")).unwrap();
    let path = dir.path().join(current.trim_end());
    let manifest = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    // File systems differ in the maximum length of a file.
    if manifest.set_len(10 << 40).is_err() {
        manifest.set_len(1 << 40).unwrap();
    }
    fails_with(
        Options::new().open(dir.path()),
        ErrorKind::Corruption,
        "longer than any",
    );
}
