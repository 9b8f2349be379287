//! Folded values do not exceed the maximum length. All tests but one use limits of kilobytes
//! instead of gigabytes.

use std::fmt::Debug;
use std::sync::Arc;

use cairndb::{Append, Cursor, Db, Error, ErrorKind, MergeOperator, Options, Result, Value};

use crate::{appending, fails_with};

/// Maximum length of a value, and of the operands that a read folds.
const VALUE: usize = 16 << 10;

fn options() -> Options {
    let options = appending().memory_budget(1 << 20);
    options.fold_limits(VALUE, 1 << 10)
}

#[track_caller]
fn is_refused<T: Debug>(result: Result<T>, key: &str) {
    let error = fails_with(
        result,
        ErrorKind::InvalidArgument,
        "overwrite or delete the key",
    );
    assert_eq!(error.key_text(), Some(key), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("expected at most 16384 bytes, found "),
        "{text}"
    );
}

/// Returns the keys and errors that a cursor returns over the whole database.
fn walked(
    mut cursor: Cursor,
    first: fn(&mut Cursor) -> Result<()>,
    step: fn(&mut Cursor) -> Result<()>,
) -> (Vec<u8>, Vec<Error>) {
    let (mut keys, mut errors) = (Vec::new(), Vec::new());
    let mut moved = first(&mut cursor);
    loop {
        match moved {
            Err(error) => errors.push(error),
            Ok(()) if cursor.valid() => keys.push(cursor.key()[0]),
            Ok(()) => return (keys, errors),
        }
        moved = step(&mut cursor);
    }
}

/// Checks that every kind of read of `m` fails and that its neighbours `a` and `z` stay readable.
fn unreadable(db: &Db) {
    let key = "\"m\"";
    is_refused(db.get(b"m"), key);
    is_refused(db.get_into(b"m", &mut Vec::new()), key);
    is_refused(db.snapshot().get(b"m"), key);
    is_refused(db.multi_get(&[b"a", b"m", b"z"]), key);
    let mut each = db.multi_get_each(&[b"a", b"m", b"z"]).unwrap();
    is_refused(each.remove(1), key);
    assert!(each.into_iter().all(|found| found.unwrap().is_some()));
    assert!(db.contains(b"m").unwrap());
    for (keys, errors) in [
        walked(db.cursor(), Cursor::seek_to_first, Cursor::next),
        walked(db.cursor(), Cursor::seek_to_last, Cursor::prev),
        walked(db.snapshot().cursor(), Cursor::seek_to_first, Cursor::next),
    ] {
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!((&keys[..], errors.len()), (&b"az"[..], 1));
        for error in errors {
            is_refused(Err::<(), _>(error), key);
        }
    }
    is_refused(db.cursor().seek(b"b"), key);
    is_refused(db.cursor().seek_for_prev(b"n"), key);
    let mut entries: Vec<Result<(Value, Value)>> = db.iter().collect();
    is_refused(entries.remove(1), key);
    assert_eq!(entries.into_iter().filter_map(Result::ok).count(), 2);
    is_refused(db.iter().try_count(), key);
    assert_eq!(
        (db.iter().count(), db.iter().rev().flatten().count()),
        (2, 2)
    );
}

/// Regression: operands were folded to a value above the limit, and folding took many times as much
/// memory.
#[test]
fn operands_that_fold_to_too_long_a_value_are_refused_by_key() {
    for (operands, bytes) in [(20, 1000), (40, 1000), (2000, 10)] {
        let db = options().open("/db").unwrap();
        let neighbours = || {
            db.put(b"a", b"first").unwrap();
            db.put(b"z", b"last").unwrap();
        };
        neighbours();
        let merge = || (0..operands).for_each(|_| db.merge(b"m", &vec![7; bytes]).unwrap());
        merge();
        unreadable(&db);
        db.flush().unwrap();
        unreadable(&db);
        neighbours();
        db.merge(b"m", &[8; 1000]).unwrap();
        unreadable(&db);
        db.compact_range(..).unwrap();
        unreadable(&db);
        // Overwriting the key helps, as the error advises.
        db.put(b"m", b"short").unwrap();
        db.merge(b"m", b"er").unwrap();
        assert_eq!(db.get(b"m").unwrap().unwrap(), b"shorter");
        assert_eq!(db.iter().try_count().unwrap(), 3);
        assert_eq!(db.iter().rev().flatten().count(), 3);
        db.compact_range(..).unwrap();
        assert_eq!(db.get(b"m").unwrap().unwrap(), b"shorter");
        merge();
        db.delete(b"m").unwrap();
        assert!(db.get(b"m").unwrap().is_none());
        db.compact_range(..).unwrap();
        assert!(db.get(b"m").unwrap().is_none());
        assert_eq!(db.iter().try_count().unwrap(), 2);
    }
}

/// A value of the maximum length is possible, also as a single operand. One byte more is not.
#[test]
fn operands_of_the_maximum_length_are_read() {
    let db = options().open("/db").unwrap();
    for base in [0, VALUE, VALUE - 1000, VALUE / 2] {
        let operand = VALUE - base;
        db.delete(b"m").unwrap();
        if base > 0 {
            db.put(b"m", &vec![1; base]).unwrap();
        }
        db.merge(b"m", &vec![2; operand]).unwrap();
        let whole = [vec![1; base], vec![2; operand]].concat();
        for _ in 0..2 {
            assert_eq!(db.get(b"m").unwrap().as_deref(), Some(&whole[..]));
            assert_eq!(db.iter().try_count().unwrap(), 1);
            db.compact_range(..).unwrap();
        }
        db.merge(b"m", b"!").unwrap();
        for _ in 0..2 {
            is_refused(db.get(b"m"), "\"m\"");
            is_refused(db.iter().next_back().unwrap(), "\"m\"");
            db.compact_range(..).unwrap();
        }
    }
}

/// Folds a few short operands to a long value, and fails with its own error on the operand `bad`.
#[derive(Debug)]
struct Repeats;

impl MergeOperator for Repeats {
    fn name(&self) -> &'static str {
        "test.Repeats"
    }
    fn merge(&self, _key: &[u8], _base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let operand = operands.last().copied().unwrap_or_default();
        if operand == b"bad" {
            return Err(Error::invalid("the operand is meaningless").found("bad"));
        }
        Ok(vec![0; operand.len() * 1024])
    }
}

#[test]
fn an_operator_may_return_a_value_of_the_maximum_length() {
    let options = options().merge_operator(Arc::new(Repeats));
    let db = options.open("/db").unwrap();
    db.merge(b"sixteen", &[1; 16]).unwrap();
    db.merge(b"seventeen", &[1; 17]).unwrap();
    let long = [b'k'; 5000];
    db.merge(&long, b"bad").unwrap();
    for _ in 0..2 {
        assert_eq!(db.get(b"sixteen").unwrap().unwrap().len(), VALUE);
        is_refused(db.get(b"seventeen"), "\"seventeen\"");
        fails_with(
            db.get(b"seventeen"),
            ErrorKind::InvalidArgument,
            "found 17408 bytes",
        );
        // The operator's own error, with the key added.
        let text = db.get(&long).unwrap_err().to_string();
        let parts = [
            "the operand is meaningless",
            "kkk\"... of 5000 bytes, found bad",
        ];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.len() < 200, "{text}");
        db.compact_range(..).unwrap();
    }
}

/// The newest operand is the value. Does not combine operands.
#[derive(Debug)]
struct Newest;

impl MergeOperator for Newest {
    fn name(&self) -> &'static str {
        "test.Newest"
    }
    fn merge(&self, _key: &[u8], _base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        Ok(operands.last().copied().unwrap_or_default().to_vec())
    }
}

/// A key has more operands than a read may fold, but its folded value is short. Each compaction
/// folds some of them until the key is readable again.
#[test]
fn compactions_make_a_key_with_a_short_value_readable_again() {
    let options = options().merge_operator(Arc::new(Newest));
    let db = options.open("/db").unwrap();
    for n in 0..100u8 {
        db.merge(b"m", &[n; 400]).unwrap();
    }
    is_refused(db.get(b"m"), "\"m\"");
    let mut compactions = 0;
    while db.get(b"m").is_err() {
        // Gives the compaction something to do.
        db.put(b"a", b"").unwrap();
        db.merge(b"m", &[100; 400]).unwrap();
        db.compact_range(..).unwrap();
        compactions += 1;
        assert!(compactions < 20, "the number of operands does not decrease");
    }
    assert_eq!(db.get(b"m").unwrap().unwrap(), [100; 400]);
}

/// Returns the peak memory of the process since the last call, including mapped files.
#[cfg(target_os = "linux")]
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let peak = kilobytes.unwrap().parse::<u64>().unwrap() << 10;
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    peak
}

/// The limits hold at their real sizes. Regression: a read, a flush and a compaction used several
/// times the limit in memory and produced a value above it.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes 5 GiB of memory and 5 GiB of disk space; `make nightly` runs it"]
fn the_largest_values_of_operands_are_bounded() {
    const MIB: usize = 1 << 20;
    let _alone = crate::LARGEST.lock().unwrap();
    let dir = crate::real_dir();
    let options = Options::new()
        .create_if_missing(true)
        .mapped(false)
        .merge_operator(Arc::new(Append));
    let db = options.open(dir.path()).unwrap();
    peak_bytes();
    let operand = vec![7; 20 * MIB];
    let refused = |db: &Db, key: &[u8]| {
        fails_with(
            db.get(key),
            ErrorKind::InvalidArgument,
            "overwrite or delete the key",
        );
    };
    db.put(b"whole", b"").unwrap();
    (0..40).for_each(|_| db.merge(b"whole", &operand).unwrap());
    (0..120).for_each(|_| db.merge(b"more", &operand).unwrap());
    db.put(b"z", b"last").unwrap();
    db.flush().unwrap();
    let written = peak_bytes();
    let whole = db.get(b"whole").unwrap().unwrap();
    assert!(whole.len() == 800 * MIB && whole.iter().all(|byte| *byte == 7));
    drop(whole);
    let read = peak_bytes();
    refused(&db, b"more");
    let refusal = peak_bytes();
    db.compact_range(..).unwrap();
    let compacted = peak_bytes();
    assert_eq!(db.get(b"whole").unwrap().unwrap().len(), 800 * MIB);
    refused(&db, b"more");
    assert_eq!(db.get(b"z").unwrap().unwrap(), b"last");
    let peaks = [written, read, refusal, compacted].map(|bytes| bytes >> 20);
    eprintln!("peak MiB of write, read, rejected read, compaction: {peaks:?}");
    let mut pairs = peaks.iter().zip([3000, 4000, 4000, 5000]);
    assert!(pairs.all(|(peak, most)| *peak < most), "{peaks:?}");
    db.delete(b"more").unwrap();
    db.compact_range(..).unwrap();
    let keys = db.iter().map(|entry| entry.unwrap().0[0]);
    assert!(keys.eq(*b"wz"));
    db.close().unwrap();
}
