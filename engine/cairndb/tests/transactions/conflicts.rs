//! What conflicts, wherever the other write is by then: in a memtable, a table, or dropped.

use cairndb::{
    Db, Durability, ErrorKind, Isolation, Job, Transaction, TransactionCursor, TransactionOptions,
};

use crate::{Entry, database, entries, fails};

/// What happens to the other write before the commit.
#[derive(Clone, Copy, Debug)]
enum Fate {
    InMemtable,
    Flushed,
    Compacted,
    /// Compacted together with everything below it, while other snapshots come and go.
    CompactedTwice,
}

const FATES: [Fate; 4] = [
    Fate::InMemtable,
    Fate::Flushed,
    Fate::Compacted,
    Fate::CompactedTwice,
];

fn befall(db: &Db, fate: Fate) {
    match fate {
        Fate::InMemtable => {}
        Fate::Flushed => db.flush().unwrap(),
        Fate::Compacted => db.compact_range(..).unwrap(),
        Fate::CompactedTwice => {
            let snapshot = db.snapshot();
            db.put(b"A", b"more").unwrap();
            db.compact_range(..).unwrap();
            drop(snapshot);
            db.put(b"A", b"even more").unwrap();
            db.compact_range(..).unwrap();
            for job in [Job::Persist, Job::Reap] {
                while db.step_background(job).unwrap() {}
            }
        }
    }
}

fn begin(db: &Db, isolation: Isolation) -> Transaction {
    db.transaction_with(&TransactionOptions::new().isolation(isolation))
}

/// Runs `body` in a transaction, then `other` beside it, then commits. Returns the key of the
/// conflict, if there was one.
fn conflict(
    isolation: Isolation,
    fate: Fate,
    body: impl Fn(&Transaction),
    other: impl Fn(&Db),
) -> Option<String> {
    let db = database();
    for key in [b"a", b"c", b"e"] {
        db.put(key, b"stored").unwrap();
    }
    db.put(b"gone", b"stored").unwrap();
    db.delete(b"gone").unwrap();
    let transaction = begin(&db, isolation);
    body(&transaction);
    transaction.put(b"mark", b"committed").unwrap();
    other(&db);
    befall(&db, fate);
    let result = transaction.commit();
    let committed = db.get(b"mark").unwrap().is_some();
    assert_eq!(result.is_ok(), committed, "{result:?}");
    if committed {
        return None;
    }
    let error = fails(result, ErrorKind::Conflict);
    let key = error.key_text().expect("a conflict names its key");
    Some(key.to_owned())
}

#[test]
fn a_key_that_was_read_must_not_be_written() {
    for fate in FATES {
        type Write<'a> = (&'a str, &'a dyn Fn(&Db));
        let writes: [Write<'_>; 5] = [
            ("put", &|db| db.put(b"c", b"other").unwrap()),
            ("same value", &|db| db.put(b"c", b"stored").unwrap()),
            ("delete", &|db| db.delete(b"c").unwrap()),
            ("merge", &|db| db.merge(b"c", b"other").unwrap()),
            ("large", &|db| db.put(b"c", &vec![1; 20_000]).unwrap()),
        ];
        for (name, write) in writes {
            let get = |t: &Transaction| drop(t.get(b"c"));
            let found = conflict(Isolation::Serializable, fate, get, write);
            assert_eq!(found.as_deref(), Some("\"c\""), "{name} {fate:?}");
            // A snapshot does not record reads.
            let found = conflict(Isolation::Snapshot, fate, get, write);
            assert_eq!(found, None, "{name} {fate:?}");
            let body = |t: &Transaction| drop(t.get_for_update(b"c"));
            let found = conflict(Isolation::Snapshot, fate, body, write);
            assert_eq!(found.as_deref(), Some("\"c\""), "{name} {fate:?}");
        }
    }
}

/// A key that is read for update is guarded, also if the read returns an own write, and if that
/// write is undone.
#[test]
fn a_key_that_was_read_over_an_own_write_must_not_be_written() {
    type Body<'a> = (&'a str, &'a dyn Fn(&Transaction));
    let own: [Body<'_>; 4] = [
        ("put", &|t| t.put(b"c", b"own").unwrap()),
        ("delete", &|t| t.delete(b"c").unwrap()),
        ("merge", &|t| t.merge(b"c", b"own").unwrap()),
        ("merge over put", &|t| {
            t.put(b"c", b"own").unwrap();
            t.merge(b"c", b"own").unwrap();
        }),
    ];
    let for_update: Body<'_> = ("get_for_update", &|t| drop(t.get_for_update(b"c")));
    let serializable: [Body<'_>; 4] = [
        for_update,
        ("get", &|t| drop(t.get(b"c"))),
        ("multi_get", &|t| drop(t.multi_get(&[b"c"]))),
        ("contains", &|t| drop(t.contains(b"c"))),
    ];
    let other = |db: &Db| db.put(b"c", b"other").unwrap();
    for fate in FATES {
        for (wrote, write) in own {
            for (isolation, reads) in [
                (Isolation::Serializable, &serializable[..]),
                (Isolation::Snapshot, &[for_update]),
            ] {
                for (name, read) in reads {
                    let what = format!("{wrote}, {name}, {isolation:?}, {fate:?}");
                    let kept = |t: &Transaction| {
                        write(t);
                        read(t);
                    };
                    let found = conflict(isolation, fate, kept, other);
                    assert_eq!(found.as_deref(), Some("\"c\""), "{what}");
                    let undone = |t: &Transaction| {
                        let savepoint = t.savepoint();
                        kept(t);
                        t.rollback_to(&savepoint).unwrap();
                    };
                    let found = conflict(isolation, fate, undone, other);
                    assert_eq!(found.as_deref(), Some("\"c\""), "{what}, undone");
                }
            }
        }
    }
}

#[test]
fn a_key_that_was_absent_must_stay_absent() {
    for fate in FATES {
        for absent in [&b"b"[..], b"gone", b"zzz"] {
            // Put and deleted again: the write is found, or has left no trace and no difference.
            for deleted in [false, true] {
                let body = |t: &Transaction| assert!(!t.contains(absent).unwrap());
                let other = |db: &Db| {
                    db.put(absent, b"new").unwrap();
                    if deleted {
                        db.delete(absent).unwrap();
                    }
                };
                let found = conflict(Isolation::Serializable, fate, body, other);
                assert!(found.is_some(), "{} {fate:?}", absent.escape_ascii());
            }
        }
    }
}

#[test]
fn other_keys_do_not_conflict() {
    for fate in FATES {
        for isolation in [Isolation::Serializable, Isolation::Snapshot] {
            let body = |t: &Transaction| {
                t.get(b"c").unwrap();
                t.multi_get(&[b"a", b"x"]).unwrap();
                t.get_for_update(b"gone").unwrap();
                t.put(b"e", b"own").unwrap();
                t.get(b"e").unwrap();
            };
            let other = |db: &Db| {
                db.put(b"b", b"other").unwrap();
                db.delete(b"d").unwrap();
            };
            assert_eq!(conflict(isolation, fate, body, other), None, "{fate:?}");
        }
    }
}

/// Serializable: a blind write comes after the other one. Snapshot: the first committer wins.
#[test]
fn blind_writes_conflict_only_with_snapshot_isolation() {
    for fate in FATES {
        for own in [0, 1] {
            let body = |t: &Transaction| match own {
                0 => t.put(b"c", b"own").unwrap(),
                _ => t.delete(b"c").unwrap(),
            };
            let other = |db: &Db| db.put(b"c", b"other").unwrap();
            assert_eq!(conflict(Isolation::Serializable, fate, body, other), None);
            let found = conflict(Isolation::Snapshot, fate, body, other);
            assert_eq!(found.as_deref(), Some("\"c\""), "{fate:?}");
        }
        let body = |t: &Transaction| t.merge(b"c", b"own").unwrap();
        let other = |db: &Db| db.merge(b"c", b"other").unwrap();
        for isolation in [Isolation::Serializable, Isolation::Snapshot] {
            assert_eq!(conflict(isolation, fate, body, other), None, "operands");
        }
    }
}

#[test]
fn a_range_that_was_scanned_admits_no_phantom() {
    // Each scan, and the keys whose write conflicts with it, of `KEYS`.
    const KEYS: [&[u8]; 7] = [b"Z", b"a", b"b", b"c", b"d", b"e", b"f"];
    type Scan<'a> = (&'a dyn Fn(&Transaction) -> bool, &'a [usize]);
    let back = |mut cursor: TransactionCursor<'_>| {
        cursor.seek(b"c").unwrap();
        cursor.prev().is_ok()
    };
    let scans: [Scan<'_>; 9] = [
        (&|t| t.iter().count() > 0, &[0, 1, 2, 3, 4, 5, 6]),
        (&|t| t.range(b"b"..b"d").count() > 0, &[2, 3]),
        (&|t| t.range(b"b"..=b"d").count() > 0, &[2, 3, 4]),
        (&|t| t.range(b"b"..b"d").rev().count() > 0, &[2, 3]),
        (&|t| t.range(b"b"..).next().is_some(), &[2, 3]),
        (&|t| t.iter().next_back().is_some(), &[5, 6]),
        (&|t| t.prefix(b"c").count() > 0, &[3]),
        (&|t| t.cursor().seek(b"d").is_ok(), &[4, 5]),
        (&|t| back(t.cursor()), &[1, 2, 3]),
    ];
    for fate in FATES {
        for (name, (scan, conflicting)) in scans.into_iter().enumerate() {
            let scan = |t: &Transaction| assert!(scan(t));
            for (index, key) in KEYS.iter().enumerate() {
                for delete in [false, true] {
                    let other = |db: &Db| {
                        if delete {
                            db.delete(key).unwrap();
                        } else {
                            db.put(key, b"other").unwrap();
                        }
                    };
                    let found = conflict(Isolation::Serializable, fate, scan, other);
                    let expected = conflicting.contains(&index);
                    let shown = key.escape_ascii();
                    assert_eq!(found.is_some(), expected, "{name}, {shown}, {fate:?}");
                    assert_eq!(conflict(Isolation::Snapshot, fate, scan, other), None);
                }
            }
        }
    }
}

/// A forgotten cursor counts as having read everything ahead of it.
#[test]
#[expect(clippy::mem_forget, reason = "what is tested")]
fn a_forgotten_cursor_has_read_everything_ahead() {
    let body = |t: &Transaction| {
        let mut cursor = t.cursor();
        cursor.seek(b"c").unwrap();
        std::mem::forget(cursor);
    };
    let other = |key: &'static [u8]| move |db: &Db| db.put(key, b"other").unwrap();
    let fate = Fate::InMemtable;
    assert!(conflict(Isolation::Serializable, fate, body, other(b"x")).is_some());
    assert!(conflict(Isolation::Serializable, fate, body, other(b"b")).is_none());
}

#[test]
fn a_transaction_without_writes_always_commits() {
    let db = database();
    db.put(b"k", b"v").unwrap();
    let transaction = db.transaction();
    transaction.get(b"k").unwrap();
    assert_eq!(transaction.iter().count(), 1);
    db.put(b"k", b"w").unwrap();
    transaction.commit().unwrap();
}

/// Equal keys with different bytes are the same key.
#[test]
fn a_custom_order_decides_which_keys_are_the_same() {
    #[derive(Debug)]
    struct IgnoresCase;
    impl cairndb::Comparator for IgnoresCase {
        fn name(&self) -> &'static str {
            "test.IgnoresCase"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }
    }
    for fate in FATES {
        let options = crate::options().comparator(std::sync::Arc::new(IgnoresCase));
        let db = options.open("/db").unwrap();
        db.put(b"Key", b"stored").unwrap();
        let transaction = begin(&db, Isolation::Serializable);
        assert!(transaction.get(b"kEY").unwrap().is_some());
        transaction.put(b"KEY", b"own").unwrap();
        assert_eq!(transaction.get(b"key").unwrap().unwrap(), b"own");
        let found: Vec<Entry> = entries(transaction.iter());
        assert_eq!(found, [(b"KEY".to_vec(), b"own".to_vec())]);
        db.put(b"key", b"other").unwrap();
        befall(&db, fate);
        fails(transaction.commit(), ErrorKind::Conflict);
    }
}

/// A commit conflicts with writes that wait for their sync, and is run again after that.
#[test]
fn a_write_that_is_being_synced_conflicts() {
    const THREADS: u64 = 8;
    const TURNS: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&dir).unwrap();
    db.put(b"counter", &0_u64.to_le_bytes()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || {
                let sync = cairndb::WriteOptions::new().durability(Durability::Sync);
                for turn in 0..TURNS {
                    if (thread + turn) % 8 == 0 {
                        // Most transactions begin while this waits for its sync.
                        db.put_with(b"beside", b"", &sync).unwrap();
                    }
                    let increment = |transaction: &Transaction| {
                        let count = number(&transaction.get(b"counter")?.unwrap()) + 1;
                        transaction.put(b"counter", &count.to_le_bytes())
                    };
                    db.transact(increment).unwrap();
                }
            });
        }
    });
    let count = number(&db.get(b"counter").unwrap().unwrap());
    assert_eq!(count, THREADS * TURNS);
}

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().unwrap())
}

/// After a conflict with a write that waits for its sync, a new transaction sees that write.
#[test]
fn a_transaction_after_a_conflict_sees_the_other_write() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&dir).unwrap();
    let sync = cairndb::WriteOptions::new().durability(Durability::Sync);
    let increment = |seen: Option<u64>| {
        let transaction = db.transaction();
        let value = transaction.get(b"counter").unwrap();
        let count = value.map_or(0, |value| number(&value));
        assert_ne!(seen, Some(count), "the conflict was with another value");
        let next = (count + 1).to_le_bytes();
        transaction.put(b"counter", &next).unwrap();
        let error = transaction.commit_with(&sync).err()?;
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        Some(count)
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let mut conflict = increment(None);
                    while conflict.is_some() {
                        conflict = increment(conflict);
                    }
                }
            });
        }
    });
    assert_eq!(db.get(b"counter").unwrap().unwrap(), 100_u64.to_le_bytes());
}

/// Every thread increments through `compare_and_set`; no increment is lost.
#[test]
fn compare_and_set_loses_no_increment() {
    let db = database();
    db.put(b"n", &0_u64.to_le_bytes()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let increment = || {
                        let old = db.get(b"n").unwrap().unwrap();
                        let new = (number(&old) + 1).to_le_bytes();
                        db.compare_and_set(b"n", Some(&old), Some(&new)).unwrap()
                    };
                    while !increment() {}
                }
            });
        }
    });
    assert_eq!(db.get(b"n").unwrap().unwrap(), 8_000_u64.to_le_bytes());
}
