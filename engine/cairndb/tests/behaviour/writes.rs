//! Writes: single, batched, merged and large, at every durability, and across reopening.

use std::sync::Arc;

use cairndb::{
    Add, Db, Durability, ErrorKind, Max, MergeOperator, Options, WriteBatch, WriteOptions,
};

use crate::{all, all_backward, appending, fails, mem_db, real_dir, stat, stepped};

#[test]
fn a_key_is_found_until_it_is_deleted() {
    let (db, _) = mem_db();
    db.put(b"slate", b"blue").unwrap();
    assert_eq!(db.get(b"slate").unwrap().unwrap(), b"blue");
    db.put(b"slate", b"grey").unwrap();
    assert_eq!(db.get(b"slate").unwrap().unwrap(), b"grey");
    db.delete(b"slate").unwrap();
    assert_eq!(db.get(b"slate").unwrap(), None);
    db.delete(b"never there").unwrap();
    assert!(!db.contains(b"slate").unwrap());
}

#[test]
fn empty_keys_and_values_are_ordinary() {
    let (db, options) = mem_db();
    db.put(b"", b"").unwrap();
    db.put(b"\0", b"zero").unwrap();
    assert_eq!(db.get(b"").unwrap().unwrap(), b"");
    db.flush().unwrap();
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(all(&db), [(vec![], vec![]), (vec![0], b"zero".to_vec())]);
    assert_eq!(all_backward(&db), all(&db));
}

#[test]
fn a_batch_is_applied_in_order_and_as_a_whole() {
    let (db, _) = mem_db();
    db.put(b"b", b"old").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.put(b"a", b"2");
    batch.delete(b"b");
    batch.put(b"c", b"3");
    db.write(&batch).unwrap();
    assert_eq!(
        all(&db),
        [(b"a".into(), b"2".into()), (b"c".into(), b"3".into())]
    );
    batch.clear();
    assert!(batch.is_empty());
    db.write(&batch).unwrap();
}

#[test]
fn a_batch_larger_than_the_memtable_is_one_commit() {
    let (db, options) = mem_db();
    let mut batch = WriteBatch::new();
    for n in 0..20_000u32 {
        batch.put(&n.to_le_bytes(), &[7; 50]);
    }
    db.write(&batch).unwrap();
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(all(&db).len(), 20_000);
}

#[test]
fn every_durability_survives_an_orderly_close() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    for durability in [Durability::None, Durability::Os, Durability::Sync] {
        let (key, options) = (format!("{durability:?}"), WriteOptions::new());
        let options = options.durability(durability);
        db.put_with(key.as_bytes(), b"", &options).unwrap();
    }
    db.close().unwrap();
    let db = Options::new().open(&path).unwrap();
    assert!(db.open_report().clean);
    assert_eq!(all(&db).len(), 3);
}

#[test]
fn large_values_live_in_value_files() {
    let (db, options) = mem_db();
    let large: Vec<u8> = (0..100_000u32).map(|n| n.to_le_bytes()[1]).collect();
    db.put(b"large", &large).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"larger", &[large.clone(), large.clone()].concat());
    batch.put(b"small", b"s");
    db.write(&batch).unwrap();
    db.compact_range(..).unwrap();
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(db.get(b"large").unwrap().unwrap(), large);
    let entries = all(&db);
    let lengths: Vec<_> = entries.iter().map(|(_, value)| value.len()).collect();
    assert_eq!(lengths, [100_000, 200_000, 1]);
    assert_eq!(all_backward(&db), entries);
}

#[test]
fn merge_operands_are_folded_wherever_they_are() {
    let options = stepped().merge_operator(Arc::new(Add));
    let db = options.open("/db").unwrap();
    let one = 1u64.to_le_bytes();
    for round in 0..10 {
        for key in [b"x", b"y"] {
            db.merge(key, &one).unwrap();
        }
        if round == 4 {
            db.put(b"y", &100u64.to_le_bytes()).unwrap();
        }
        if round % 3 == 0 {
            db.flush().unwrap();
        }
    }
    let check = |db: &Db| {
        assert_eq!(db.get(b"x").unwrap().unwrap(), 10u64.to_le_bytes());
        assert_eq!(db.get(b"y").unwrap().unwrap(), 105u64.to_le_bytes());
        assert_eq!(all(db), all_backward(db));
    };
    check(&db);
    db.compact_range(..).unwrap();
    check(&db);
    db.close().unwrap();
    check(&options.open("/db").unwrap());
}

#[test]
fn the_other_operators_do_what_their_names_say() {
    let db = appending().open("/db").unwrap();
    db.put(b"k", b"a").unwrap();
    db.merge(b"k", b"b").unwrap();
    db.merge(b"k", b"c").unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"abc");
    let db = stepped().merge_operator(Arc::new(Max)).open("/db").unwrap();
    for n in [3u64, 9, 4] {
        db.merge(b"k", &n.to_le_bytes()).unwrap();
    }
    assert_eq!(db.get(b"k").unwrap().unwrap(), 9u64.to_le_bytes());
}

#[test]
fn merging_without_an_operator_is_refused() {
    let (db, _) = mem_db();
    fails(db.merge(b"k", b"v"), ErrorKind::InvalidArgument);
    let mut batch = WriteBatch::new();
    batch.merge(b"k", b"v");
    fails(db.write(&batch), ErrorKind::InvalidArgument);
    assert_eq!(all(&db), []);
}

#[test]
fn limits_are_exact() {
    let (db, _) = mem_db();
    let key = vec![b'k'; (64 << 20) + 1];
    db.put(&key[1..], b"fits").unwrap();
    assert_eq!(db.get(&key[1..]).unwrap().unwrap(), b"fits");
    fails(db.put(&key, b""), ErrorKind::InvalidArgument);
    let mut batch = WriteBatch::new();
    batch.put(b"small", b"");
    batch.put(&key, b"");
    fails(db.write(&batch), ErrorKind::InvalidArgument);
    assert!(!db.contains(b"small").unwrap());
    db.compact_range(..).unwrap();
    assert_eq!(all(&db).len(), 1);
}

const GIB: usize = 1 << 30;

#[test]
fn a_value_beyond_the_limit_is_refused() {
    let (db, _) = mem_db();
    let value = vec![0; GIB + 1];
    fails(db.put(b"k", &value), ErrorKind::InvalidArgument);
    let mut batch = WriteBatch::new();
    batch.put(b"small", b"");
    batch.put(b"k", &value);
    fails(db.write(&batch), ErrorKind::InvalidArgument);
    assert!(all(&db).is_empty());
}

#[test]
#[ignore = "takes 6 GiB of memory and 3 GiB of disk space; `make nightly` runs it"]
fn the_largest_value_and_batch_are_stored() {
    let _alone = crate::LARGEST.lock().unwrap();
    let dir = real_dir();
    let options = Options::new().create_if_missing(true);
    let db = options.open(dir.path()).unwrap();
    let value = vec![7; GIB];
    db.put(b"largest", &value).unwrap();
    assert!(db.get(b"largest").unwrap().unwrap() == value);
    let mut batch = WriteBatch::new();
    batch.put(b"a", &value);
    // An entry needs eight bytes for kind, key length and value length. Leave room for ten before
    // the last entry.
    batch.put(b"b", &value[24..]);
    let mut beyond = batch.clone();
    beyond.put(&[b'c'; 16], b"");
    fails(db.write(&beyond), ErrorKind::InvalidArgument);
    drop(beyond);
    db.write(&batch).unwrap();
    drop(batch);
    db.flush().unwrap();
    db.close().unwrap();
    let db = options.open(dir.path()).unwrap();
    assert!(db.get(b"a").unwrap().unwrap() == value);
    assert!(db.get(b"b").unwrap().unwrap() == value[24..]);
}

#[test]
fn unlogged_writes_are_durable_after_flush() {
    let (db, options) = mem_db();
    let none = WriteOptions::new().durability(Durability::None);
    for n in 0..100u8 {
        db.put_with(&[n], &[n], &none).unwrap();
        db.put(&[n, 1], &[n]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(all(&options.open("/db").unwrap()).len(), 200);
}

/// Regression: operands above a value in an older run were never folded, and a read had to hold all
/// of them in memory.
#[test]
fn operands_without_their_base_become_one() {
    let operators: [(Arc<dyn MergeOperator>, &[u8]); 2] = [
        (Arc::new(Add), &4001u64.to_le_bytes()),
        (Arc::new(Max), &1u64.to_le_bytes()),
    ];
    for (operator, expected) in operators {
        let options = stepped().memory_budget(16 << 20);
        let db = options.merge_operator(operator).open("/db").unwrap();
        db.put(b"n", &1u64.to_le_bytes()).unwrap();
        db.put(b"z", b"").unwrap();
        db.flush().unwrap();
        let merge = || (0..2000).for_each(|_| db.merge(b"n", &1u64.to_le_bytes()).unwrap());
        merge();
        let before = db.snapshot();
        merge();
        db.flush().unwrap();
        // The two puts, and one operand each for the snapshot and the current state.
        assert_eq!(stat(&db, "versions"), 4);
        assert_eq!(db.get(b"n").unwrap().as_deref(), Some(expected));
        drop(before);
        db.compact_range(..).unwrap();
        assert_eq!(db.get(b"n").unwrap().as_deref(), Some(expected));
        db.close().unwrap();
    }
}

#[test]
fn a_write_that_must_not_wait_is_made_where_there_is_room() {
    let (db, options) = mem_db();
    // The first write starts the worker and the first log segment.
    assert!(!db.try_put(b"slate", b"blue").unwrap());
    assert_eq!(db.get(b"slate").unwrap(), None);
    db.put(b"slate", b"blue").unwrap();
    let mut refused = 0;
    for n in 0..20_000_u32 {
        let key = n.to_be_bytes();
        if !db.try_put(&key, &[7; 300]).unwrap() {
            assert_eq!(db.get(&key).unwrap(), None);
            refused += 1;
            db.put(&key, &[7; 300]).unwrap();
        }
    }
    // A memtable that is full, or a segment, is a reason to wait, and nothing else here is.
    assert!((1..2000).contains(&refused), "{refused} of 20,000 refused");
    assert!(!db.try_put(b"large", &[7; 8 << 10]).unwrap());
    let mut batch = WriteBatch::new();
    batch.put(b"gneiss", b"banded");
    batch.delete(b"slate");
    while !db.try_write(&batch).unwrap() {
        db.put(b"makes room", b"").unwrap();
    }
    assert_eq!(db.get(b"gneiss").unwrap().unwrap(), b"banded");
    assert_eq!(db.get(b"slate").unwrap(), None);
    while !db.try_delete(b"gneiss").unwrap() {
        db.put(b"makes room", b"").unwrap();
    }
    assert_eq!(db.get(b"gneiss").unwrap(), None);
    batch.put(b"large", &[7; 8 << 10]);
    assert!(!db.try_write(&batch).unwrap());
    let found = all(&db);
    db.close().unwrap();
    let refused = db.put(b"a", b"b").map_err(|error| error.kind());
    let tried = db.try_put(b"a", b"b").map_err(|error| error.kind());
    assert_eq!(tried, refused.map(|()| true));
    assert_eq!(all(&options.open("/db").unwrap()), found);
}

#[test]
fn a_write_that_must_not_wait_is_refused_where_it_would_have_to_sync() {
    let (db, options) = mem_db();
    db.close().unwrap();
    for durability in [Durability::Sync, Durability::None] {
        let db = options.clone().durability(durability).open("/db").unwrap();
        db.put(b"a", b"b").unwrap();
        assert!(!db.try_put(b"a", b"c").unwrap());
        assert!(!db.try_delete(b"a").unwrap());
        let mut batch = WriteBatch::new();
        batch.delete(b"a");
        assert!(!db.try_write(&batch).unwrap());
        assert_eq!(db.get(b"a").unwrap().unwrap(), b"b");
    }
    let db = options.read_only(true).open("/db").unwrap();
    assert!(!db.try_put(b"a", b"c").is_ok_and(|written| written));
}
