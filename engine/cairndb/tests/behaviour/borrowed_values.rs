//! Values borrowed from mapped files: their bytes do not change, and they are verified before their
//! first use.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairndb::{Compression, Cursor, Db, ErrorKind, Options, Result, Value};

use crate::{all, fails, fails_with, paths, real_dir, shown};

const VALUE_BYTES: usize = 80_000;
const KEYS: u8 = 40;

fn value(n: u8, round: u8) -> Vec<u8> {
    let words = (0u32..).map(|at| (at + u32::from(n)).wrapping_mul(u32::from(round) * 2 + 77));
    words.flat_map(u32::to_le_bytes).take(VALUE_BYTES).collect()
}

fn options() -> Options {
    let options = Options::new().create_if_missing(true).mapped(true);
    options
        .compression(Compression::None)
        .value_file_bytes(1 << 20)
}

fn filled(dir: &Path) -> Db {
    let db = options().open(dir).unwrap();
    for n in 0..KEYS {
        db.put(&[n], &value(n, 0)).unwrap();
    }
    db.flush().unwrap();
    db
}

/// Flips a bit in the middle of the first value of the first value file, in place.
fn damage(dir: &Path) {
    change_byte(&paths(dir, "val")[0], 40_000);
}

fn change_byte(file: &Path, at: u64) {
    use std::os::unix::fs::FileExt;

    let mut opened = std::fs::OpenOptions::new();
    let file = opened.read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn a_borrowed_value_outlives_its_file_and_the_database() {
    let dir = real_dir();
    let db = filled(dir.path());
    let get_all = || -> Vec<Value> { (0..KEYS).map(|n| db.get(&[n]).unwrap().unwrap()).collect() };
    let borrowed = get_all();
    let keys: Vec<[u8; 1]> = (0..KEYS).map(|n| [n]).collect();
    let again = db.multi_get(&keys).unwrap();
    let scanned: Vec<Value> = db.iter().map(|entry| entry.unwrap().1).collect();
    let backward: Vec<Value> = db.iter().rev().map(|entry| entry.unwrap().1).collect();
    let mut places = 0;
    for (n, value) in borrowed.iter().enumerate() {
        let others = [
            again[n].as_ref().unwrap(),
            &scanned[n],
            &backward[usize::from(KEYS) - 1 - n],
            &value.clone(),
        ];
        // Values with the same address were not copied. Values appended after their file was mapped
        // are read instead.
        let shared = others.iter().all(|other| other.as_ptr() == value.as_ptr());
        places += usize::from(shared);
        for other in others {
            assert_eq!(other, value);
        }
    }
    assert!(
        places > usize::from(KEYS) / 2,
        "only {places} were borrowed"
    );
    let before = paths(dir.path(), "val");
    for n in 0..KEYS {
        db.put(&[n], &value(n, 1)).unwrap();
    }
    db.compact_range(..).unwrap();
    db.wait_idle().unwrap();
    let after = paths(dir.path(), "val");
    assert!(!after.contains(&before[0]), "{after:?}");
    let check = |borrowed: &[Value], round: u8| {
        for (n, found) in (0..).zip(borrowed) {
            assert!(**found == value(n, round)[..], "key {n}");
        }
    };
    check(&borrowed, 0);
    let newest = get_all();
    check(&newest, 1);
    db.close().unwrap();
    cairndb::destroy(dir.path(), &options()).unwrap();
    check(&borrowed, 0);
    check(&backward.into_iter().rev().collect::<Vec<_>>(), 0);
    check(&newest, 1);
    assert_eq!(newest[3].clone().into_vec(), value(3, 1));
}

/// Checks that a call fails, and that the error names the value file.
#[track_caller]
fn refused<T: Debug>(result: Result<T>) {
    fails_with(result, ErrorKind::Corruption, ".val");
}

#[test]
fn a_value_is_checked_before_it_is_first_borrowed() {
    let dir = real_dir();
    filled(dir.path()).close().unwrap();
    damage(dir.path());
    let db = options().open(dir.path()).unwrap();
    for _ in 0..2 {
        refused(db.get(&[0]));
        refused(db.multi_get(&[[0]]));
        refused(db.get_into(&[0], &mut Vec::new()));
        refused(db.cursor().seek(&[0]));
        refused(db.cursor().seek_for_prev(&[0]));
    }
    assert_eq!(db.get(&[1]).unwrap().unwrap(), value(1, 0));
    // Undo the damage.
    damage(dir.path());
    assert_eq!(db.get(&[0]).unwrap().unwrap(), value(0, 0));
}

#[test]
fn verify_always_checks_a_value_each_time_it_is_borrowed() {
    let dir = real_dir();
    filled(dir.path()).close().unwrap();
    let db = options().verify_always(true).open(dir.path()).unwrap();
    assert_eq!(db.get(&[0]).unwrap().unwrap(), value(0, 0));
    damage(dir.path());
    refused(db.get(&[0]));
    refused(db.snapshot().get(&[0]));
    refused(db.multi_get(&[[0]]));
    refused(db.get_into(&[0], &mut Vec::new()));
    refused(db.cursor().seek_to_first());
    refused(db.iter().next().unwrap());
    refused(db.iter().rev().last().unwrap());
    damage(dir.path());
    assert_eq!(db.get(&[0]).unwrap().unwrap(), value(0, 0));
}

/// By default a verified value is not verified again: `verify` or the next open detects later
/// damage.
#[test]
fn damage_after_the_first_check_is_found_at_the_next_opening() {
    let dir = real_dir();
    filled(dir.path()).close().unwrap();
    let db = options().open(dir.path()).unwrap();
    let borrowed = db.get(&[0]).unwrap().unwrap();
    assert_eq!(borrowed, value(0, 0));
    damage(dir.path());
    let again = db.get(&[0]).unwrap().unwrap();
    assert_eq!(again, borrowed, "both must borrow the same bytes");
    assert_ne!(borrowed, value(0, 0));
    db.close().unwrap();
    let found = cairndb::verify(dir.path(), &options());
    fails(found, ErrorKind::Corruption);
    let db = options().open(dir.path()).unwrap();
    fails(db.get(&[0]), ErrorKind::Corruption);
}

/// Large values among others, overwritten, deleted and merged onto: a cursor returns each of them
/// correctly in either direction.
#[test]
fn a_cursor_shows_borrowed_values_among_others() {
    let dir = real_dir();
    let options = options().merge_operator(Arc::new(cairndb::Append));
    let db = options.open(dir.path()).unwrap();
    let mut expected = BTreeMap::new();
    let put = |n: u8, value: Vec<u8>, expected: &mut BTreeMap<_, _>| {
        db.put(&[n], &value).unwrap();
        expected.insert(vec![n], value);
    };
    (0..KEYS).for_each(|n| put(n, value(n, 0), &mut expected));
    db.flush().unwrap();
    for n in 0..KEYS {
        match n % 5 {
            0 => put(n, b"short".to_vec(), &mut expected),
            1 => {
                db.merge(&[n], b" and more").unwrap();
                expected.get_mut(&vec![n]).unwrap().extend(b" and more");
            }
            2 if n > 20 => {
                db.delete(&[n]).unwrap();
                expected.remove(&vec![n]);
            }
            3 => put(n, value(n, 1), &mut expected),
            _ => {}
        }
    }
    let expected: Vec<_> = expected.into_iter().collect();
    let mut cursor = db.cursor();
    let shows = |cursor: &Cursor, at: usize| {
        assert!(shown(cursor).as_ref() == Some(&expected[at]), "{at}");
    };
    cursor.seek_to_first().unwrap();
    for at in 0..expected.len() {
        shows(&cursor, at);
        // Step back and forth once.
        if at > 0 {
            cursor.prev().unwrap();
            shows(&cursor, at - 1);
            cursor.next().unwrap();
            shows(&cursor, at);
        }
        cursor.next().unwrap();
    }
    assert!(!cursor.valid());
    cursor.seek_to_last().unwrap();
    for at in (0..expected.len()).rev() {
        shows(&cursor, at);
        cursor.prev().unwrap();
    }
    for at in (0..expected.len()).chain((0..expected.len()).step_by(7)) {
        cursor.seek(&expected[at].0).unwrap();
        shows(&cursor, at);
        let from_end = expected.len() - 1 - at;
        cursor.seek_for_prev(&expected[from_end].0).unwrap();
        shows(&cursor, from_end);
    }
    assert!(all(&db) == expected);
}

/// A compressed value is also verified only once, but decoded each time.
#[test]
fn a_compressed_value_is_checked_before_it_is_first_decoded() {
    let dir = real_dir();
    let options = options().compression(Compression::Fast);
    let lines = (0..4_000u32).map(|n| format!("line {n:>9} of text, "));
    let text = lines.collect::<String>().into_bytes();
    let db = options.open(dir.path()).unwrap();
    db.put(b"k", &text).unwrap();
    db.compact_range(..).unwrap();
    db.wait_idle().unwrap();
    db.close().unwrap();
    let files = paths(dir.path(), "val");
    let stored: u64 = files
        .iter()
        .map(|file| file.metadata().unwrap().len())
        .sum();
    assert!(stored < text.len() as u64 * 3 / 4, "{stored} bytes");
    let change = || change_byte(&files[0], stored / 2);
    change();
    let db = options.open(dir.path()).unwrap();
    for _ in 0..2 {
        fails(db.get(b"k"), ErrorKind::Corruption);
        let mut out = b"left over".to_vec();
        fails(db.get_into(b"k", &mut out), ErrorKind::Corruption);
        assert!(out.is_empty());
    }
    change();
    for _ in 0..2 {
        assert_eq!(db.get(b"k").unwrap().unwrap(), text);
    }
}
