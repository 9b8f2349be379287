//! What goes wrong in the background and must not stop what goes on in front.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb::{Db, Error, ErrorKind, MergeOperator, Options};

use crate::{real_dir, stepped, threaded};

/// Panics over operands while it is told to.
#[derive(Debug, Default)]
struct Fragile(AtomicBool);

impl MergeOperator for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }

    fn merge(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Result<Vec<u8>, Error> {
        assert!(!self.0.load(Ordering::Relaxed), "an operand I cannot stand");
        let parts = base.into_iter().chain(operands.iter().copied());
        Ok(parts.collect::<Vec<_>>().concat())
    }
}

/// Puts until one fails, a few hundred memtables long.
fn first_failure(db: &Db) -> Option<Error> {
    let mut keys = 0u32..40_000;
    keys.find_map(|key| db.put(&key.to_be_bytes(), &[7; 1000]).err())
}

#[test]
fn a_merge_operator_that_panics_holds_up_no_write() {
    for options in [stepped(), threaded()] {
        let operator = Arc::new(Fragile::default());
        let db = options
            .merge_operator(Arc::clone(&operator) as Arc<dyn MergeOperator>)
            .open("/db")
            .unwrap();
        db.put(b"key", b"base").unwrap();
        db.merge(b"key", b"operand").unwrap();
        operator.0.store(true, Ordering::Relaxed);
        assert!(first_failure(&db).is_none());
        db.flush().unwrap();
        // Nothing was lost: with an operator that works, the operand is folded.
        operator.0.store(false, Ordering::Relaxed);
        db.compact_range(..).unwrap();
        assert_eq!(
            db.get(b"key").unwrap().as_deref(),
            Some(&b"baseoperand"[..])
        );
        db.close().unwrap();
    }
}

/// Every merge that met the page failed, until so many runs had gathered that writes were refused.
#[test]
fn writes_go_on_beside_a_damaged_table() {
    let dir = real_dir();
    let options = || {
        Options::new()
            .create_if_missing(true)
            .memory_budget(256 << 10)
    };
    let db = options().open(dir.path()).unwrap();
    let key = |number: u32| number.wrapping_mul(2_654_435_761).to_be_bytes();
    for number in 0..2000 {
        db.put(&key(number), &[1; 100]).unwrap();
    }
    db.compact_range(..).unwrap();
    db.close().unwrap();
    let tables = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let table = tables
        .filter(|path| path.extension().is_some_and(|end| end == "tbl"))
        .min()
        .unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&table, bytes).unwrap();

    let db = options().open(dir.path()).unwrap();
    for number in 2000..120_000 {
        db.put(&key(number), &[2; 100]).unwrap();
    }
    db.flush().unwrap();
    let bad = (0..2000)
        .filter(|number| db.get(&key(*number)).is_err())
        .count();
    assert!((1..1000).contains(&bad), "{bad} keys of one page");
    let good = (2000..120_000).all(|number| db.get(&key(number)).unwrap().is_some());
    assert!(good);
    // The wait for what goes on behind tells of it.
    let error = db.wait_idle().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.file_name().is_some() && error.file_offset().is_some());
    // Asked for by name, too.
    let error = db.compact_range(..).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    db.close().unwrap();
}
