//! What a transaction sees and does, apart from conflicts.

use cairndb::env::{Background, MemEnv};
use cairndb::{
    Durability, Error, ErrorKind, Isolation, Options, Result, Transaction, TransactionOptions,
    WriteOptions,
};

use crate::{Contents, Entry, database, entries, fails, options};

/// Checks what a transaction sees.
#[track_caller]
fn sees(transaction: &Transaction, expected: &[(&str, &str)]) {
    let found: Vec<Entry> = entries(transaction.iter());
    let expected = expected
        .iter()
        .map(|(key, value)| ((*key).into(), (*value).into()));
    assert_eq!(found, expected.collect::<Vec<Entry>>());
}

#[test]
fn a_transaction_may_be_sent_to_another_thread() {
    fn goes<T: Send + 'static>() {}
    goes::<Transaction>();
}

#[test]
fn a_transaction_sees_its_start_and_its_own_writes() {
    let db = database();
    db.put(b"b", b"stored").unwrap();
    db.put(b"d", b"stored").unwrap();
    let transaction = db.transaction();
    db.put(b"a", b"later").unwrap();
    db.delete(b"b").unwrap();
    transaction.put(b"c", b"own").unwrap();
    transaction.delete(b"d").unwrap();
    transaction.merge(b"b", b"+1").unwrap();
    transaction.merge(b"b", b"+2").unwrap();
    transaction.merge(b"e", b"+3").unwrap();
    sees(
        &transaction,
        &[("b", "stored+1+2"), ("c", "own"), ("e", "+3")],
    );
    let seen: Contents = entries(transaction.iter());
    assert_eq!(entries::<Contents>(transaction.iter().rev()), seen);
    let keys = [&b"a"[..], b"b", b"c", b"d", b"e"];
    let values = transaction.multi_get(&keys).unwrap();
    for (key, value) in keys.iter().zip(values) {
        assert_eq!(value.as_deref(), seen.get(*key).map(Vec::as_slice));
        assert_eq!(transaction.get(key).unwrap(), value);
        assert_eq!(transaction.contains(key).unwrap(), value.is_some());
    }
    assert_eq!(transaction.len(), 5);
    assert!(db.get(b"c").unwrap().is_none(), "not committed yet");
}

#[test]
fn operands_on_own_writes_are_folded_over_those() {
    let db = database();
    db.put(b"k", b"stored").unwrap();
    let transaction = db.transaction();
    transaction.delete(b"k").unwrap();
    transaction.merge(b"k", b"1").unwrap();
    assert_eq!(transaction.get(b"k").unwrap().unwrap(), b"1");
    transaction.put(b"k", b"own").unwrap();
    transaction.merge(b"k", b"2").unwrap();
    assert_eq!(transaction.get(b"k").unwrap().unwrap(), b"own2");
    transaction.commit().unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"own2");
}

#[test]
fn a_dropped_transaction_writes_nothing() {
    let db = database();
    let transaction = db.transaction();
    transaction.put(b"k", b"v").unwrap();
    drop(transaction);
    let transaction = db.transaction();
    transaction.put(b"k", b"v").unwrap();
    transaction.rollback();
    assert!(db.get(b"k").unwrap().is_none());
}

#[test]
fn a_cursor_sees_writes_ahead_of_it_and_passes_what_was_deleted() {
    let db = database();
    for key in [b"a", b"c", b"e", b"g"] {
        db.put(key, b"stored").unwrap();
    }
    let transaction = db.transaction();
    let mut cursor = transaction.cursor();
    cursor.seek(b"b").unwrap();
    assert_eq!(cursor.key(), b"c");
    transaction.put(b"d", b"own").unwrap();
    transaction.put(b"b", b"own").unwrap();
    transaction.delete(b"e").unwrap();
    transaction.delete(b"c").unwrap();
    // The cursor shows its entry until it moves.
    assert_eq!(cursor.key(), b"c");
    cursor.next().unwrap();
    assert_eq!((cursor.key(), cursor.value()), (&b"d"[..], &b"own"[..]));
    cursor.next().unwrap();
    for key in [b"g", b"d", b"b", b"a"] {
        assert_eq!(cursor.key(), key);
        cursor.prev().unwrap();
    }
    assert!(!cursor.valid() && cursor.key().is_empty() && cursor.value().is_empty());
}

#[test]
fn savepoints_nest_and_undone_ones_are_refused() {
    let db = database();
    let transaction = db.transaction();
    transaction.put(b"a", b"1").unwrap();
    let outer = transaction.savepoint();
    transaction.put(b"a", b"2").unwrap();
    let inner = transaction.savepoint();
    transaction.delete(b"a").unwrap();
    transaction.put(b"b", b"3").unwrap();
    sees(&transaction, &[("b", "3")]);
    transaction.rollback_to(&inner).unwrap();
    sees(&transaction, &[("a", "2")]);
    transaction.put(b"c", b"4").unwrap();
    transaction.rollback_to(&inner).unwrap();
    transaction.rollback_to(&outer).unwrap();
    sees(&transaction, &[("a", "1")]);
    transaction.put(b"d", b"5").unwrap();
    fails(transaction.rollback_to(&inner), ErrorKind::InvalidArgument);
    let other = db.transaction();
    other.put(b"x", b"6").unwrap();
    let _own = other.savepoint();
    let error = other.rollback_to(&outer).unwrap_err();
    assert!(error.to_string().contains("another transaction"), "{error}");
    transaction.rollback_to(&outer).unwrap();
    transaction.commit().unwrap();
    assert_eq!(db.iter().try_count().unwrap(), 1);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// A write that exceeds a limit is refused at once, and the transaction goes on without it.
#[test]
fn a_refused_write_leaves_the_transaction_as_it_was() {
    let env = MemEnv::new(Background::Stepped);
    let options = Options::new().env(env).create_if_missing(true);
    let db = options.open("/db").unwrap();
    let transaction = db.transaction();
    transaction.put(b"k", b"v").unwrap();
    let long = vec![0; (64 << 20) + 1];
    fails(transaction.put(&long, b"v"), ErrorKind::InvalidArgument);
    fails(
        transaction.merge(b"k", b"operand"),
        ErrorKind::InvalidArgument,
    );
    assert_eq!(transaction.len(), 1);
    transaction.commit().unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn large_values_and_every_durability_are_committed() {
    let db = database();
    let large = vec![7; 100_000];
    for durability in [Durability::None, Durability::Os, Durability::Sync] {
        let name = format!("{durability:?}");
        let transaction = db.transaction();
        assert!(transaction.get(name.as_bytes()).unwrap().is_none());
        transaction.put(name.as_bytes(), &large).unwrap();
        transaction.put(b"last", name.as_bytes()).unwrap();
        let value = transaction.get(name.as_bytes()).unwrap().unwrap();
        assert_eq!(value, large);
        let options = WriteOptions::new().durability(durability);
        transaction.commit_with(&options).unwrap();
        assert_eq!(db.get(name.as_bytes()).unwrap().unwrap(), large);
        assert_eq!(db.get(b"last").unwrap().unwrap(), name.as_bytes());
    }
}

#[test]
fn a_closed_database_refuses_reads_and_commits() {
    let db = database();
    let transaction = db.transaction();
    transaction.put(b"k", b"v").unwrap();
    let mut cursor = transaction.cursor();
    db.close().unwrap();
    fails(transaction.get(b"other"), ErrorKind::Closed);
    fails(cursor.seek_to_first(), ErrorKind::Closed);
    assert!(!cursor.valid());
    drop(cursor);
    fails(transaction.commit(), ErrorKind::Closed);
}

#[test]
fn a_read_only_database_has_transactions_that_only_read() {
    let options = options();
    let db = options.clone().open("/db").unwrap();
    db.put(b"k", b"v").unwrap();
    db.close().unwrap();
    let db = options.read_only(true).open("/db").unwrap();
    let transaction = db.transaction();
    assert_eq!(transaction.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    transaction.commit().unwrap();
    let transaction = db.transaction();
    transaction.put(b"k", b"w").unwrap();
    fails(transaction.commit(), ErrorKind::ReadOnly);
}

#[test]
fn a_body_is_run_again_after_a_conflict_and_not_after_an_error() {
    let db = database();
    let mut runs = 0;
    let result = db.transact(|transaction| {
        runs += 1;
        transaction.get(b"k")?;
        if runs < 5 {
            db.put(b"k", b"in between")?;
        }
        transaction.put(b"sum", b"done")?;
        Ok(runs)
    });
    assert_eq!(result.unwrap(), 5);
    let mut runs = 0;
    let result = db.transact(|transaction| -> Result<()> {
        runs += 1;
        transaction.put(b"sum", b"undone")?;
        Err(Error::new(ErrorKind::InvalidArgument, "the body fails"))
    });
    fails(result, ErrorKind::InvalidArgument);
    assert_eq!(
        (runs, &*db.get(b"sum").unwrap().unwrap()),
        (1, &b"done"[..])
    );
    let mut runs = 0;
    let result = db.transact(|transaction| {
        runs += 1;
        transaction.get(b"k")?;
        db.put(b"k", b"each time")?;
        transaction.put(b"sum", b"never")
    });
    fails(result, ErrorKind::Conflict);
    assert_eq!(runs, 1000);
}

#[test]
fn compare_and_set_compares_values_and_absence() {
    let db = database();
    assert!(!db.compare_and_set(b"k", Some(b"v"), Some(b"w")).unwrap());
    assert!(db.compare_and_set(b"k", None, Some(b"v")).unwrap());
    assert!(!db.compare_and_set(b"k", None, Some(b"w")).unwrap());
    db.merge(b"k", b"+").unwrap();
    assert!(db.compare_and_set(b"k", Some(b"v+"), Some(b"")).unwrap());
    assert!(db.compare_and_set(b"k", Some(b""), None).unwrap());
    assert!(db.get(b"k").unwrap().is_none());
    assert!(db.compare_and_set(b"k", None, None).unwrap());
}

/// A million keys in one transaction: the index stays fast when savepoints and reads alternate.
#[test]
fn many_own_writes_are_found_and_undone() {
    const WRITES: u32 = 100_000;
    let db = options().memory_budget(64 << 20).open("/db").unwrap();
    let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    let transaction = db.transaction_with(&options);
    let key = |n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes();
    for n in 0..WRITES {
        transaction.put(&key(n), &n.to_le_bytes()).unwrap();
        let savepoint = transaction.savepoint();
        transaction.put(&key(n / 2), b"undone").unwrap();
        transaction.delete(&key(n)).unwrap();
        assert!(transaction.get(&key(n)).unwrap().is_none());
        transaction.rollback_to(&savepoint).unwrap();
    }
    for n in 0..WRITES {
        let value = transaction.get(&key(n)).unwrap().unwrap();
        assert_eq!(*value, n.to_le_bytes());
    }
    assert_eq!(transaction.iter().try_count().unwrap(), u64::from(WRITES));
    assert_eq!(transaction.iter().rev().count(), WRITES as usize);
    transaction.commit().unwrap();
    assert_eq!(db.iter().try_count().unwrap(), u64::from(WRITES));
}
