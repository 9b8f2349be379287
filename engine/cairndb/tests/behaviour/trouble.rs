//! Background failures that must not stop writes and reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb::{Db, Error, ErrorKind, MergeOperator, Options, Result};

use crate::{fails, paths, real_dir, stepped, threaded};

/// Panics on any operand while the flag is set.
#[derive(Debug, Default)]
struct Fragile(AtomicBool);

impl MergeOperator for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let panics = self.0.load(Ordering::Relaxed);
        assert!(!panics, "the operator was set to panic");
        let parts = base.into_iter().chain(operands.iter().copied());
        Ok(parts.collect::<Vec<_>>().concat())
    }
}

/// Puts a few hundred memtables' worth of entries. Returns the first error.
fn first_failure(db: &Db) -> Option<Error> {
    let mut keys = 0u32..40_000;
    keys.find_map(|key| db.put(&key.to_be_bytes(), &[7; 1000]).err())
}

#[test]
fn a_merge_operator_that_panics_stops_no_write() {
    for options in [stepped(), threaded()] {
        let operator = Arc::new(Fragile::default());
        let options = options.merge_operator(operator.clone());
        let db = options.open("/db").unwrap();
        db.put(b"key", b"base").unwrap();
        db.merge(b"key", b"operand").unwrap();
        operator.0.store(true, Ordering::Relaxed);
        assert!(first_failure(&db).is_none());
        db.flush().unwrap();
        // Nothing was lost: once the operator works again, the operand is folded.
        operator.0.store(false, Ordering::Relaxed);
        db.compact_range(..).unwrap();
        assert_eq!(db.get(b"key").unwrap().unwrap(), b"baseoperand");
        db.close().unwrap();
    }
}

/// Regression: every compaction that read the damaged page failed, until there were so many runs
/// that writes failed.
#[test]
fn writes_continue_beside_a_damaged_table() {
    let dir = real_dir();
    let options = Options::new().create_if_missing(true);
    let options = options.memory_budget(256 << 10);
    let db = options.open(dir.path()).unwrap();
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
    for number in 0..2000 {
        db.put(&key(number), &[1; 100]).unwrap();
    }
    db.compact_range(..).unwrap();
    db.close().unwrap();
    let table = &paths(dir.path(), "tbl")[0];
    let mut bytes = std::fs::read(table).unwrap();
    bytes[100] ^= 1;
    std::fs::write(table, bytes).unwrap();

    let db = options.open(dir.path()).unwrap();
    for number in 2000..120_000 {
        db.put(&key(number), &[2; 100]).unwrap();
    }
    db.flush().unwrap();
    let bad = (0..2000).filter(|number| db.get(&key(*number)).is_err());
    let bad = bad.count();
    assert!((1..1000).contains(&bad), "{bad} keys of one page");
    let good = (2000..120_000).all(|number| db.get(&key(number)).unwrap().is_some());
    assert!(good);
    // Waiting for background work returns the error.
    let error = fails(db.wait_idle(), ErrorKind::Corruption);
    assert!(error.file_name().is_some() && error.file_offset().is_some());
    // So does a manual compaction.
    fails(db.compact_range(..), ErrorKind::Corruption);
    db.close().unwrap();
}
