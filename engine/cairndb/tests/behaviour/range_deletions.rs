//! Deletion of ranges: what it costs reads, when its space comes back, and what is refused.
//! Whether every read honours it is checked by the tests of the model and of transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb::env::random::Random;
use cairndb::{
    Comparator, Db, Error, ErrorKind, Isolation, KeyspaceOptions, MergeOperator, Result,
    TransactionOptions, WriteBatch,
};

use crate::counting::Counting;
use crate::{appending, mem_db, noise, stat, stepped, threaded};

fn key(n: u64) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

fn count(db: &Db) -> u64 {
    db.iter().try_count().unwrap()
}

/// Puts the keys from `from` to before `to`.
fn fill(db: &Db, from: u64, to: u64, len: usize) {
    for n in from..to {
        let value = noise(&mut Random::new(n), len);
        db.put(&key(n), &value).unwrap();
    }
}

/// In memtables, in tables, and in both; with newer entries in the range; both ways.
#[test]
fn a_cursor_passes_a_range_in_a_few_steps() {
    for (flushed, newer) in [(false, false), (true, false), (false, true), (true, true)] {
        let db = stepped().memory_budget(16 << 20).open("/db").unwrap();
        fill(&db, 0, 20_000, 50);
        if flushed {
            db.flush().unwrap();
        }
        db.delete_range(key(10)..key(19_990)).unwrap();
        if newer {
            for n in [5000, 15_000] {
                db.put(&key(n), b"newer").unwrap();
            }
        }
        let kept = if newer { 22 } else { 20 };
        let passed = stat(&db, "dead_entries_passed");
        let mut cursor = db.cursor();
        cursor.seek_to_first().unwrap();
        let (mut forward, mut backward) = (0, 0);
        while cursor.valid() {
            forward += 1;
            cursor.next().unwrap();
        }
        cursor.seek_to_last().unwrap();
        while cursor.valid() {
            backward += 1;
            cursor.prev().unwrap();
        }
        cursor.seek(&key(10_000)).unwrap();
        let next = if newer { key(15_000) } else { key(19_990) };
        assert_eq!(cursor.key(), next);
        assert_eq!((forward, backward), (kept, kept), "{flushed} {newer}");
        drop(cursor);
        let passed = stat(&db, "dead_entries_passed") - passed;
        assert!(
            passed < 50,
            "flushed {flushed}, newer {newer}: {passed} passed"
        );
    }
}

/// The comparisons with which a cursor passes a range grow as the logarithm of what it covers.
#[test]
fn a_range_is_passed_in_logarithmic_steps() {
    let comparisons = |covered: u64, flushed: bool| {
        let counting = Arc::new(Counting::default());
        let options = stepped().memory_budget(64 << 20);
        let comparator = Arc::clone(&counting) as Arc<dyn Comparator>;
        let db = options.comparator(comparator).open("/db").unwrap();
        fill(&db, 0, covered + 20, 10);
        if flushed {
            db.flush().unwrap();
        }
        db.delete_range(key(10)..key(covered + 10)).unwrap();
        let mut cursor = db.cursor();
        let mut steps = 0;
        let forward = counting.of(|| {
            cursor.seek(&key(5)).unwrap();
            while cursor.valid() {
                steps += 1;
                cursor.next().unwrap();
            }
        });
        let backward = counting.of(|| {
            cursor.seek_for_prev(&key(covered + 14)).unwrap();
            while cursor.valid() {
                steps += 1;
                cursor.prev().unwrap();
            }
        });
        assert_eq!(steps, 15 + 15, "{covered} {flushed}");
        (forward, backward)
    };
    for flushed in [true, false] {
        let few = comparisons(1 << 9, flushed);
        // All entries are still in one memtable.
        let many = comparisons(1 << 13, flushed);
        // Four doublings; each direction searches at most three times.
        let (forward, backward) = (many.0.saturating_sub(few.0), many.1.saturating_sub(few.1));
        assert!(
            forward <= 4 * 6 && backward <= 4 * 6,
            "{flushed}: {few:?} {many:?}"
        );
    }
}

/// Regression: the parts of a long batch are flushed before it is published, and a flush folded
/// operands over what the batch had put before it deleted their range.
#[test]
fn operands_are_not_folded_across_a_range_of_their_batch() {
    let db = appending().memory_budget(256 << 10).open("/db").unwrap();
    let mut batch = WriteBatch::new();
    batch.merge(b"joined", b"1");
    batch.put(b"put", b"1");
    batch.delete_range("a".."q");
    batch.merge(b"joined", b"2");
    batch.merge(b"put", b"2");
    for n in 0..2000_u32 {
        batch.put(format!("q{n:04}").as_bytes(), &[7; 1000]);
    }
    db.write(&batch).unwrap();
    for _ in 0..2 {
        for key in [b"joined".as_slice(), b"put"] {
            assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"2"[..]));
        }
        db.compact_range(..).unwrap();
    }
}

/// Folds nothing.
#[derive(Debug)]
struct Refusing;

impl MergeOperator for Refusing {
    fn name(&self) -> &'static str {
        "test.Refusing"
    }
    fn merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Result<Vec<u8>> {
        Err(Error::invalid("refused"))
    }
}

/// Regression: the cursor of a transaction looked for the end of a range without one at the last
/// entry, again and again if that could not be folded.
#[test]
fn a_range_of_a_transaction_is_left_without_reading_it() {
    let options = stepped().merge_operator(Arc::new(Refusing));
    let db = options.open("/db").unwrap();
    db.put(b"a", b"1").unwrap();
    db.merge(b"z", b"1").unwrap();
    assert!(db.get(b"z").is_err());
    let transaction = db.transaction();
    transaction.delete_range("m"..).unwrap();
    let mut cursor = transaction.cursor();
    cursor.seek_to_first().unwrap();
    assert_eq!(cursor.key(), b"a");
    cursor.next().unwrap();
    assert!(!cursor.valid());
    cursor.seek_to_last().unwrap();
    assert_eq!(cursor.key(), b"a");
}

/// A batch replaces the keys of a range again and again, while memtables are sealed and flushed.
/// Each read has either all of it or nothing.
#[test]
fn a_range_is_replaced_at_one_moment() {
    let db = threaded().memory_budget(256 << 10).open("/db").unwrap();
    let replace = |n: u64| {
        let mut batch = WriteBatch::new();
        batch.delete_range("key".."kez");
        for key in ["key1", "key2"] {
            batch.put(key.as_bytes(), &n.to_le_bytes());
        }
        batch.put(format!("other{}", n % 100).as_bytes(), &[7; 300]);
        db.write(&batch).unwrap();
    };
    replace(0);
    let number = |value: &[u8]| u64::from_le_bytes(value.try_into().unwrap());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut last, mut buffer) = (0, Vec::new());
            while !ended.load(Ordering::Relaxed) {
                assert!(db.get_into(b"key1", &mut buffer).unwrap(), "after {last}");
                let mut seen = vec![number(&buffer)];
                let both = db.multi_get(&[b"key1", b"key2"]).unwrap();
                seen.extend(both.iter().map(|value| number(value.as_ref().unwrap())));
                let scanned = db.range("key".."kez");
                seen.extend(scanned.map(|entry| number(&entry.unwrap().1)));
                assert_eq!(seen.len(), 5, "after {last}");
                assert!(seen[1] == seen[2] && seen[3] == seen[4], "{seen:?}");
                assert!(last <= seen[0] && seen.is_sorted(), "{seen:?} after {last}");
                last = seen[4];
            }
        });
        for n in 1..30_000 {
            replace(n);
        }
        ended.store(true, Ordering::Relaxed);
    });
}

/// A value file and whole tables go without being read; tables at the ends are rewritten.
#[test]
fn the_space_of_a_range_comes_back() {
    let db = stepped().memory_budget(1 << 20).open("/db").unwrap();
    fill(&db, 0, 40_000, 100);
    fill(&db, 40_000, 40_200, 100_000);
    db.wait_idle().unwrap();
    let (tables, values) = (stat(&db, "table_bytes"), stat(&db, "value_files"));
    let read = stat(&db, "merge_read_bytes");
    db.delete_range(key(100)..).unwrap();
    assert_eq!(count(&db), 100);
    db.wait_idle().unwrap();
    assert_eq!(count(&db), 100);
    let (now, values_now) = (stat(&db, "table_bytes"), stat(&db, "value_files"));
    assert!(now * 20 < tables, "{now} bytes of {tables} are left");
    assert!(
        values > 0 && values_now == 0,
        "{values_now} of {values} value files are left"
    );
    let read = stat(&db, "merge_read_bytes") - read;
    assert!(read * 4 < tables, "{read} bytes of {tables} were read");
    // Nothing is left of the deletion: what is written now is not compared with it.
    fill(&db, 0, 1000, 100);
    db.flush().unwrap();
    assert_eq!(count(&db), 1000);
    db.close().unwrap();
}

#[test]
fn a_snapshot_and_a_cursor_see_what_was_deleted_since() {
    let db = stepped().open("/db").unwrap();
    fill(&db, 0, 100, 10);
    let (snapshot, mut cursor) = (db.snapshot(), db.cursor());
    db.delete_range(key(10)..key(90)).unwrap();
    let second = db.snapshot();
    fill(&db, 40, 50, 20);
    db.delete_prefix(b"0000").unwrap();
    for _ in 0..3 {
        assert_eq!(count(&db), 0);
        assert_eq!(snapshot.iter().try_count().unwrap(), 100);
        assert_eq!(second.iter().try_count().unwrap(), 20);
        cursor.seek(&key(50)).unwrap();
        assert_eq!(cursor.key(), key(50));
        db.compact_range(..).unwrap();
        db.wait_idle().unwrap();
    }
}

/// Ten thousand ranges, each of which overlaps its neighbours.
#[test]
fn thousands_of_ranges_leave_few_pieces() {
    let db = stepped().memory_budget(64 << 20).open("/db").unwrap();
    fill(&db, 0, 20_000, 10);
    for n in 0..10_000 {
        db.delete_range(key(n)..key(n + 1000)).unwrap();
        db.put(&key(n + 500), b"back").unwrap();
    }
    for n in (0..11_500).step_by(7) {
        let there = (9_999..10_500).contains(&n) && n == 10_499 || n >= 10_999;
        assert_eq!(db.contains(&key(n)).unwrap(), there, "{n}");
    }
    assert_eq!(count(&db), 1 + 20_000 - 10_999);
    drop(db);
}

#[test]
fn reversed_ranges_have_no_key_and_write_nothing() {
    let db = stepped().open("/db").unwrap();
    fill(&db, 0, 10, 10);
    let written = stat(&db, "log_bytes");
    db.delete_range(key(5)..key(5)).unwrap();
    db.delete_range(key(7)..key(3)).unwrap();
    db.delete_range(..b"").unwrap();
    assert_eq!((count(&db), stat(&db, "log_bytes")), (10, written));
    let mut batch = WriteBatch::new();
    batch.delete_range(key(7)..key(3));
    batch.delete(&key(0));
    db.write(&batch).unwrap();
    assert_eq!(count(&db), 9);
    db.delete_range((
        std::ops::Bound::Excluded(key(2)),
        std::ops::Bound::Included(key(4)),
    ))
    .unwrap();
    assert_eq!(count(&db), 7);
    db.delete_range(..).unwrap();
    assert_eq!(count(&db), 0);
}

#[derive(Debug)]
struct Reversed;

impl Comparator for Reversed {
    fn name(&self) -> &'static str {
        "test.Reversed"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }
}

#[test]
fn a_comparator_has_some_ranges_only() {
    let options = || stepped().comparator(Arc::new(Reversed));
    let db = options().open("/db").unwrap();
    fill(&db, 0, 10, 10);
    let refused = |result: Result<()>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidArgument);
    };
    refused(db.delete_range(key(7)..=key(3)));
    refused(db.delete_prefix(b"0"));
    let transaction = db.transaction();
    refused(transaction.delete_prefix(b"0"));
    transaction.rollback();
    assert_eq!(count(&db), 10);
    db.delete_range(key(7)..key(3)).unwrap();
    assert_eq!(count(&db), 6);
    db.delete_range(key(2)..).unwrap();
    assert_eq!(count(&db), 3);
}

#[test]
fn a_dropped_keyspace_refuses_a_range() {
    let (db, options) = mem_db();
    let keyspace = db.create_keyspace("k", &KeyspaceOptions::new()).unwrap();
    let other = db.create_keyspace("l", &KeyspaceOptions::new()).unwrap();
    for space in [&keyspace, &other] {
        space.put(b"a", b"1").unwrap();
    }
    keyspace.delete_range(..).unwrap();
    assert_eq!(keyspace.iter().try_count().unwrap(), 0);
    assert_eq!(other.iter().try_count().unwrap(), 1);
    db.drop_keyspace("k").unwrap();
    let closed = |result: Result<()>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Closed);
    };
    closed(keyspace.delete_range(..));
    closed(keyspace.delete_prefix(b"a"));
    let mut batch = WriteBatch::new();
    batch.delete_range(..);
    batch.delete_range_in(&keyspace, ..);
    db.put(b"kept", b"").unwrap();
    closed(db.write(&batch));
    assert_eq!(count(&db), 1);
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(db.keyspace("l").unwrap().iter().try_count().unwrap(), 1);
}

/// A range conflicts with what was read in it, and, with snapshot isolation, with what others wrote
/// in the range that a transaction deletes.
#[test]
fn ranges_conflict_with_what_depends_on_them() {
    let db = stepped().open("/db").unwrap();
    fill(&db, 0, 10, 10);
    let serializable = TransactionOptions::new().isolation(Isolation::Serializable);
    let conflicts = |result: Result<()>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Conflict);
    };
    let reader = db.transaction_with(&serializable);
    assert!(reader.get(&key(5)).unwrap().is_some());
    reader.put(b"x", b"").unwrap();
    let scanner = db.transaction_with(&serializable);
    assert_eq!(scanner.range(key(6)..key(8)).try_count().unwrap(), 2);
    scanner.put(b"y", b"").unwrap();
    let elsewhere = db.transaction_with(&serializable);
    assert!(elsewhere.get(&key(1)).unwrap().is_some());
    elsewhere.put(b"z", b"").unwrap();
    db.delete_range(key(3)..key(7)).unwrap();
    conflicts(reader.commit());
    conflicts(scanner.commit());
    elsewhere.commit().unwrap();

    let snapshot = TransactionOptions::new().isolation(Isolation::Snapshot);
    let deleter = db.transaction_with(&snapshot);
    deleter.delete_range(key(0)..key(2)).unwrap();
    let blind = db.transaction_with(&serializable);
    blind.delete_range(key(0)..key(2)).unwrap();
    db.put(&key(1), b"since").unwrap();
    conflicts(deleter.commit());
    blind.commit().unwrap();
    assert!(!db.contains(&key(1)).unwrap());
}
