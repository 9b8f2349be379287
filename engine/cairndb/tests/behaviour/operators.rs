//! User-defined merge operators: they may read the database, reject an operand, and fail.

use std::ops::Bound;
use std::sync::{Arc, Mutex};

use cairndb::{
    Add, Db, Durability, ErrorKind, MergeOperator, Result, Value, WriteBatch, WriteOptions,
};

use crate::{appending, fails, fails_with, field, stepped};

/// Joins operands with a separator that is stored in the same database.
#[derive(Debug, Default)]
struct Configured(Mutex<Option<Db>>);

impl MergeOperator for Configured {
    fn name(&self) -> &'static str {
        "test.Configured"
    }
    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let db = self.0.lock().unwrap().clone();
        let between = db.map(|db| db.get(b"between")).transpose()?.flatten();
        let between = between.map_or_else(Vec::new, Value::into_vec);
        let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter().copied()).collect();
        Ok(parts.join(&between[..]))
    }
}

/// Regression: the thread's buffer was borrowed while the operator ran, so a nested `get` panicked.
#[test]
fn an_operator_may_read_the_database() {
    let operator = Arc::new(Configured::default());
    let options = stepped().merge_operator(operator.clone());
    let db = options.open("/db").unwrap();
    *operator.0.lock().unwrap() = Some(db.clone());
    db.put(b"between", b", ").unwrap();
    db.put(b"k", b"a").unwrap();
    db.merge(b"k", b"b").unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"a, b");
    assert!(db.contains(b"k").unwrap());
    assert_eq!(db.snapshot().get(b"k").unwrap().unwrap(), b"a, b");
    assert_eq!(db.get(b"between").unwrap().unwrap(), b", ");
    *operator.0.lock().unwrap() = None;
}

fn counters() -> Db {
    let db = stepped().merge_operator(Arc::new(Add)).open("/db").unwrap();
    for key in [b"a", b"m", b"o", b"z"] {
        db.merge(key, &7u64.to_le_bytes()).unwrap();
    }
    db
}

#[test]
fn an_operand_that_the_operator_refuses_is_not_written() {
    let db = counters();
    let error = db.merge(b"n", &[1; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let mut batch = WriteBatch::new();
    batch.put(b"p", &[3; 20_000]);
    batch.merge(b"o", &[1; 8]);
    batch.merge(b"n", &[1; 9]);
    fails(db.write(&batch), ErrorKind::InvalidArgument);
    assert!(db.get(b"n").unwrap().is_none());
    assert!(db.get(b"p").unwrap().is_none());
    assert_eq!(db.get(b"o").unwrap().unwrap(), 7u64.to_le_bytes());
}

/// Returns the keys that an iterator yields, with `!` for each error.
fn seen(entries: impl Iterator<Item = Result<(Value, Value)>>) -> Vec<u8> {
    let seen = entries.map(|entry| entry.map_or(b'!', |(key, _)| key[0]));
    seen.take(20).collect()
}

/// Regression: a key that cannot be folded ended every scan that reached it.
#[test]
fn a_scan_continues_past_a_key_that_cannot_be_folded() {
    let db = counters();
    db.put(b"n", &[1; 9]).unwrap();
    db.merge(b"n", &[1]).unwrap();
    for _ in 0..2 {
        fails(db.get(b"n"), ErrorKind::InvalidArgument);
        assert_eq!(seen(db.iter()), b"am!oz");
        assert_eq!(seen(db.iter().rev()), b"zo!ma");
        assert_eq!(seen(db.range(b"n"..)), b"!oz");
        assert_eq!(seen(db.range(b"b"..b"n")), b"m");
        assert_eq!(seen(db.range(..b"n").rev()), b"ma");
        assert_eq!(seen(db.range(b"m"..=b"n").rev()), b"!m");
        let after = (Bound::Excluded(b"n"), Bound::<&[u8; 1]>::Unbounded);
        assert_eq!(seen(db.range(after)), b"oz");
        assert_eq!(seen(db.prefix(b"n")), b"!");
        // The two ends meet at this key, and exactly one of them yields the error.
        for turns in 0..5 {
            let mut both = db.iter();
            let mut keys = seen(both.by_ref().take(turns));
            let mut back = seen(both.rev());
            back.reverse();
            keys.append(&mut back);
            assert_eq!(keys, b"am!oz", "{turns} from the front");
        }
        let mut cursor = db.cursor();
        cursor.seek(b"m").unwrap();
        assert!(cursor.next().is_err());
        assert!(!cursor.valid() && cursor.key().is_empty());
        cursor.next().unwrap();
        assert_eq!(cursor.key(), b"o");
        assert!(cursor.prev().is_err());
        cursor.prev().unwrap();
        assert_eq!(cursor.key(), b"m");
        assert!(cursor.next().is_err());
        cursor.prev().unwrap();
        assert_eq!(cursor.key(), b"m");
        db.flush().unwrap();
    }
}

/// Regression: one key that could not be folded failed the whole `multi_get`.
#[test]
fn a_key_that_cannot_be_folded_fails_no_other_key_of_a_multi_get() {
    let db = counters();
    let keys: Vec<Vec<u8>> = (0..10).map(|n| format!("key {n}").into_bytes()).collect();
    for key in &keys {
        db.put(key, &3u64.to_le_bytes()).unwrap();
    }
    db.put(&keys[6], &[1; 9]).unwrap();
    db.merge(&keys[6], &[1]).unwrap();
    let refused = |result: Result<Option<Value>>| {
        let error = fails_with(result, ErrorKind::InvalidArgument, "key \"key 6\"");
        assert_eq!(error.key_text(), Some("\"key 6\""), "{error}");
    };
    let check = |each: Vec<Result<Option<Value>>>| {
        assert_eq!(each.len(), keys.len());
        for (n, found) in each.into_iter().enumerate() {
            if n == 6 {
                refused(found);
            } else {
                assert_eq!(found.unwrap().unwrap(), 3u64.to_le_bytes(), "{n}");
            }
        }
    };
    check(db.multi_get_each(&keys).unwrap());
    check(db.snapshot().multi_get_each(&keys).unwrap());
    for all in [db.multi_get(&keys), db.snapshot().multi_get(&keys)] {
        refused(all.map(|_| None));
    }
    assert_eq!(db.multi_get(&keys[..6]).unwrap().len(), 6);
    let missing = db.multi_get_each(&[b"none"]).unwrap().remove(0);
    assert!(missing.unwrap().is_none());
    let snapshot = db.snapshot();
    db.close().unwrap();
    for closed in [db.multi_get_each(&keys), snapshot.multi_get_each(&keys)] {
        fails(closed, ErrorKind::Closed);
    }
}

#[test]
fn an_operand_has_a_durability_of_its_own() {
    let db = appending().open("/db").unwrap();
    let unlogged = WriteOptions::new().durability(Durability::None);
    db.merge_with(b"k", b"1", &unlogged).unwrap();
    db.merge_with(b"k", b"2", &WriteOptions::new()).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"12"[..]));
}

/// A get reads a few versions of each source one by one, and then the rest at once.
#[test]
fn any_number_of_operands_is_folded_wherever_they_are() {
    let counts = [0, 1, 3, 4, 5, 9];
    for (turn, oldest) in counts.into_iter().enumerate() {
        for newer in counts {
            for newest in counts {
                let db = appending().open("/db").unwrap();
                let mut value = Vec::new();
                if turn % 3 > 0 {
                    db.put(b"k", b"base ").unwrap();
                    value.extend_from_slice(b"base ");
                }
                db.put(b"j", &[1; 50]).unwrap();
                db.flush().unwrap();
                if turn % 3 == 2 {
                    db.delete(b"k").unwrap();
                    value.clear();
                }
                let mut number = 0u8;
                let mut merge = |times: usize, value: &mut Vec<u8>| {
                    for _ in 0..times {
                        number += 1;
                        db.merge(b"k", &[number]).unwrap();
                        value.push(number);
                    }
                };
                merge(oldest, &mut value);
                db.flush().unwrap();
                merge(newer, &mut value);
                let (snapshot, then) = (db.snapshot(), value.clone());
                merge(newest / 2, &mut value);
                if newest % 2 == 1 {
                    db.flush().unwrap();
                }
                merge(newest - newest / 2, &mut value);
                let what = format!("{turn}: {oldest}, {newer}, {newest}");
                for (found, expected) in [
                    (db.get(b"k").unwrap(), &value),
                    (snapshot.get(b"k").unwrap(), &then),
                ] {
                    // The key was deleted or never written, and has no newer operand.
                    let is_there = !expected.is_empty();
                    let expected = is_there.then_some(expected.as_slice());
                    assert_eq!(found.as_deref(), expected, "{what}");
                }
                assert_eq!(db.contains(b"k").unwrap(), !value.is_empty(), "{what}");
            }
        }
    }
}

/// Fills the database from within a merge, and also reads if requested. So all writes happen while
/// a compaction is running.
#[derive(Debug, Default)]
struct Busy(Mutex<Option<(Db, bool)>>);

/// Causes more flushes than the maximum number of runs, each over the whole key range.
fn fill(db: &Db, reads: bool) {
    for number in 0..20_000u32 {
        let key = (number.wrapping_mul(2_654_435_761) >> 8).to_be_bytes();
        db.put(&key, &[7; 1000]).unwrap();
        assert!(!reads || db.contains(&key).unwrap());
    }
}

impl MergeOperator for Busy {
    fn name(&self) -> &'static str {
        "test.Busy"
    }
    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let busy = self.0.lock().unwrap().take();
        if let Some((db, reads)) = busy {
            fill(&db, reads);
        }
        Ok([base.unwrap_or_default(), &operands.concat()].concat())
    }
}

/// Regression: once there were too many runs, a writer waited for the end of the running
/// compaction, which takes seconds in a large store. With concurrent reads it waited as soon as a
/// compaction of most of the runs had started.
#[test]
fn a_writer_makes_room_while_a_compaction_runs() {
    for (runs, reads) in [(2, false), (2, true), (19, true)] {
        let operator = Arc::new(Busy::default());
        let options = stepped().merge_operator(operator.clone());
        let db = options.open("/db").unwrap();
        for _ in 0..runs {
            db.merge(&[0xff; 8], b"o").unwrap();
            db.flush().unwrap();
        }
        *operator.0.lock().unwrap() = Some((db.clone(), reads));
        db.compact_range(..).unwrap();
        let merged = operator.0.lock().unwrap().is_none();
        assert!(merged, "the operator was never called");
        let stalls = field(&db, "cairndb.stalls", "runs.count");
        assert!(stalls > 0, "the writer was never stalled by runs");
        assert_eq!(db.get(&[0xff; 8]).unwrap().unwrap(), vec![b'o'; runs]);
        assert_eq!(db.iter().count(), 20_001);
        db.close().unwrap();
        cairndb::verify("/db", &options).unwrap();
    }
}
