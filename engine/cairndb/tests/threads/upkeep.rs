//! All operations except reads and writes: flushes, compactions, checkpoints and properties.

use cairndb::env::random::Random;
use cairndb::{Db, destroy};

use crate::json;
use crate::readers::state_of;
use crate::round::{Ended, Shared, ended};

const PROPERTIES: [&str; 9] = [
    "leveldb.num-files-at-level0",
    "leveldb.num-files-at-level1",
    "leveldb.stats",
    "leveldb.sstables",
    "leveldb.approximate-memory-usage",
    "cairndb.memory",
    "cairndb.space",
    "cairndb.stalls",
    "cairndb.stats",
];

/// Returns the field `name` of the property `cairndb.stats`.
pub(crate) fn statistic(db: &Db, name: &str) -> u64 {
    let stats = json::numbers(&db.property("cairndb.stats").expect("a known property"));
    *stats.get(name).expect("a known statistic")
}

/// Flushes until the database is closed.
pub(crate) fn flush(shared: &Shared) -> Ended {
    loop {
        let before: Vec<u64> = shared.all_acknowledged();
        if let Err(error) = shared.db.flush() {
            return ended(&error);
        }
        let entries = statistic(&shared.db, "last_seq");
        if entries < before.iter().sum() {
            return Err(format!(
                "{before:?} were acknowledged, but sequence numbers only reach {entries}"
            ));
        }
    }
}

/// Compacts single ranges and the whole database, and waits for it to be idle, until it is closed.
pub(crate) fn compact(shared: &Shared) -> Ended {
    let mut random = Random::new(shared.seed.wrapping_add(77));
    loop {
        let writer = shared.any_writer(&mut random);
        let result = match random.below(8) {
            0 | 1 => shared.db.compact_range(..),
            2 => shared.db.wait_idle(),
            _ => shared.db.compact_range([writer]..[writer + 1]),
        };
        if let Err(error) = result {
            return ended(&error);
        }
    }
}

/// Creates checkpoints and reads all properties until the database is closed.
pub(crate) fn ask(shared: &Shared) -> Ended {
    for n in 0u64.. {
        for name in PROPERTIES {
            if shared.db.property(name).is_none() {
                return Err(format!("the property {name} is missing"));
            }
        }
        let whole = shared.db.approximate_size(..);
        match whole.and_then(|_| checkpoint(shared, n)) {
            Ok(checked) => checked?,
            Err(error) => return ended(&error),
        }
    }
    Ok(())
}

/// Creates a checkpoint and checks that it is a separate database that holds the state of each
/// writer at one moment, with all writes acknowledged before.
fn checkpoint(shared: &Shared, n: u64) -> cairndb::Result<Ended> {
    let before = shared.all_acknowledged();
    let path = shared.path.with_extension(format!("copy{n}"));
    shared.db.checkpoint(&path)?;
    let copy = shared.options.open(&path)?;
    for (writer, before) in (0u8..).zip(before) {
        match state_of(&copy, writer)? {
            Ok(moment) if moment.last < before => {
                let why = format!("a checkpoint lost writes from {moment:?} to {before}");
                return Ok(Err(why));
            }
            Ok(_) => {}
            Err(why) => return Ok(Err(format!("in a checkpoint: {why}"))),
        }
    }
    copy.put(b"own", b"life")?;
    copy.close()?;
    destroy(&path, &shared.options)?;
    Ok(Ok(()))
}
