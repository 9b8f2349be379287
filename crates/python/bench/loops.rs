//! The loops of `speed.py` in Rust: what the interpreter and the package add is the difference.
//!
//! Prints the seconds of each row as JSON.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use cairndb::env::{Env, RealEnv};
use cairndb::{Db, Options, Result, WriteBatch};

const MEMORY: usize = 64 << 20;
const BATCH: usize = 1000;
const KEY_BYTES: usize = 16;
const VALUE_BYTES: usize = 100;

/// A shuffle of the numbers below `count`, the same as in `speed.py`.
fn order(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    let mut state: u64 = 88_172_645_463_325_252;
    for index in (1..count).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap_or_default() % (index + 1);
        numbers.swap(index, other);
    }
    numbers
}

/// A value of which half is noise.
fn value(number: usize) -> Vec<u8> {
    let mut state = u64::try_from(number).unwrap_or_default() + 1;
    let mut value = vec![0; VALUE_BYTES];
    for byte in &mut value[..VALUE_BYTES / 2] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state.to_le_bytes()[3];
    }
    value
}

type Entry = (Vec<u8>, Vec<u8>);

fn open(path: &Path) -> Result<Db> {
    Options::new()
        .create_if_missing(true)
        .memory_budget(MEMORY)
        .open(path)
}

fn put(db: &Db, entries: &[Entry]) -> Result<()> {
    for (key, value) in entries {
        db.put(key, value)?;
    }
    Ok(())
}

fn load(db: &Db, entries: &[Entry]) -> Result<()> {
    let mut batch = WriteBatch::new();
    for part in entries.chunks(BATCH) {
        batch.clear();
        for (key, value) in part {
            batch.put(key, value);
        }
        db.write(&batch)?;
    }
    Ok(())
}

fn get(db: &Db, entries: &[Entry]) -> Result<usize> {
    let (mut bytes, mut out) = (0, Vec::new());
    for (key, _) in entries {
        db.get_into(key, &mut out)?;
        bytes += black_box(&out).len();
    }
    Ok(bytes)
}

fn iterate(db: &Db) -> Result<usize> {
    let mut bytes = 0;
    let mut cursor = db.cursor();
    cursor.seek_to_first()?;
    while cursor.valid() {
        bytes += black_box(cursor.key()).len() + black_box(cursor.value()).len();
        cursor.next()?;
    }
    Ok(bytes)
}

fn prefixes(db: &Db, count: usize) -> Result<usize> {
    let mut bytes = 0;
    for number in (0..count).step_by(100) {
        let key = format!("{number:0KEY_BYTES$}");
        let prefix = &key.as_bytes()[..KEY_BYTES - 2];
        let mut cursor = db.cursor();
        cursor.seek(prefix)?;
        while cursor.valid() && cursor.key().starts_with(prefix) {
            bytes += black_box(cursor.key()).len() + black_box(cursor.value()).len();
            cursor.next()?;
        }
    }
    Ok(bytes)
}

/// Runs `row` and returns its result and its seconds.
fn timed<T>(env: &dyn Env, row: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = env.now_ns();
    let result = row()?;
    Ok((
        result,
        Duration::from_nanos(env.now_ns() - start).as_secs_f64(),
    ))
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(count)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: loops DIRECTORY COUNT; speed.py runs it");
        return Ok(());
    };
    let count: usize = count.parse().unwrap_or(0);
    let directory = Path::new(&directory);
    let env = RealEnv::new();
    let entries: Vec<Entry> = order(count)
        .into_iter()
        .map(|number| (format!("{number:0KEY_BYTES$}").into_bytes(), value(number)))
        .collect();
    let db = open(&directory.join("put"))?;
    let ((), put) = timed(&*env, || put(&db, &entries))?;
    db.close()?;
    let db = open(&directory.join("batch"))?;
    let ((), batch) = timed(&*env, || load(&db, &entries))?;
    db.compact_range(..)?;
    let mut seconds = [0.0; 3];
    for _ in 0..2 {
        let (got, get) = timed(&*env, || get(&db, &entries))?;
        let (iterated, iterate) = timed(&*env, || iterate(&db))?;
        let (found, prefix) = timed(&*env, || prefixes(&db, count))?;
        assert_eq!(got, count * VALUE_BYTES);
        assert_eq!(iterated, count * (KEY_BYTES + VALUE_BYTES));
        assert_eq!(found, iterated);
        seconds = [get, iterate, prefix];
    }
    let [get, iterate, prefix] = seconds;
    println!(
        "{{\"put\": {put}, \"batch\": {batch}, \"get\": {get}, \"iterate\": {iterate}, \
         \"prefix\": {prefix}}}"
    );
    db.close()
}
