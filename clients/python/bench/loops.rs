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
const LARGE_BYTES: usize = 100_000;
const PAGE_BYTES: usize = 4096;

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

/// Reads a byte of each page of large values, `passes` times. Returns seconds of reading with a
/// copy of each value, and without.
fn large(env: &dyn Env, db: &Db, count: usize, passes: usize) -> Result<[f64; 2]> {
    let keys: Vec<Vec<u8>> = order(count)
        .into_iter()
        .map(|number| format!("{number:0KEY_BYTES$}").into_bytes())
        .collect();
    let noise: Vec<u8> = (0..=LARGE_BYTES / VALUE_BYTES * 2)
        .flat_map(|number| value(number)[..VALUE_BYTES / 2].to_vec())
        .collect();
    for (number, key) in keys.iter().enumerate() {
        let mut value = noise[..LARGE_BYTES].to_vec();
        value[..8].copy_from_slice(&number.to_le_bytes());
        db.put(key, &value)?;
    }
    db.compact_range(..)?;
    let touch = |value: &[u8]| -> usize {
        let pages = value.iter().step_by(PAGE_BYTES);
        pages.map(|byte| usize::from(*byte)).sum()
    };
    let mut seconds = [0.0; 2];
    for _ in 0..2 {
        let (copied, copy_seconds) = timed(env, || {
            let (mut total, mut out) = (0, Vec::new());
            for key in (0..passes).flat_map(|_| &keys) {
                db.get_into(key, &mut out)?;
                total += touch(&out);
            }
            Ok(total)
        })?;
        let (viewed, view_seconds) = timed(env, || {
            let mut total = 0;
            for key in (0..passes).flat_map(|_| &keys) {
                total += db.get(key)?.map_or(0, |value| touch(&value));
            }
            Ok(total)
        })?;
        assert_eq!(copied, viewed);
        seconds = [copy_seconds, view_seconds];
    }
    Ok(seconds)
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
    let Some(directory) = arguments.next() else {
        eprintln!("usage: loops DIRECTORY COUNT LARGE_COUNT LARGE_PASSES; speed.py runs it");
        return Ok(());
    };
    let mut number = || {
        arguments
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    let (count, large_count, passes): (usize, usize, usize) = (number(), number(), number());
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
    db.close()?;
    let db = open(&directory.join("large"))?;
    let [large, view] = large(&*env, &db, large_count, passes)?;
    println!(
        "{{\"put\": {put}, \"batch\": {batch}, \"get\": {get}, \"iterate\": {iterate}, \
         \"prefix\": {prefix}, \"large\": {large}, \"view\": {view}}}"
    );
    db.close()
}
