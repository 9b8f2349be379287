//! The engine's hot paths on a real directory: puts, gets, scans, merges, syncs, opening, queues.
//!
//! `cargo bench -p cairndb --bench engine`. Keys are sixteen digits; values are a hundred bytes,
//! half of which repeat. Databases are created in `CAIRN_BENCH_DIR` if it is set, otherwise in the
//! temporary directory.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cairndb::{Db, Durability, Options, WriteOptions};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const ENTRIES: u64 = 1_000_000;
const BUDGET: usize = 4 << 20;

/// Returns `n` as sixteen digits.
fn key(n: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    let mut rest = n;
    for digit in key.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    key
}

/// Returns a pool of bytes from which half-compressible values are taken.
fn pool() -> Vec<u8> {
    let mut state = 301u64;
    let mut pool = Vec::with_capacity(1 << 20);
    while pool.len() < 1 << 20 {
        let piece: Vec<u8> = (0..50)
            .map(|_| {
                state = state * 16_807 % 2_147_483_647;
                b' ' + u8::try_from(state % 95).unwrap_or(0)
            })
            .collect();
        pool.extend_from_slice(&piece);
        pool.extend_from_slice(&piece);
    }
    pool
}

fn value(pool: &[u8], n: u64) -> &[u8] {
    let at = usize::try_from(n % 10_000).unwrap_or(0) * 100;
    &pool[at..at + 100]
}

/// Returns a pseudorandom number that depends only on `n`.
fn scatter(n: u64) -> u64 {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % ENTRIES
}

struct Bench {
    dir: tempfile::TempDir,
    made: u64,
}

impl Bench {
    fn new() -> Bench {
        let base =
            std::env::var_os("CAIRN_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let dir = tempfile::tempdir_in(base).expect("the benchmark directory can be created");
        Bench { dir, made: 0 }
    }

    fn fresh(&mut self) -> Db {
        self.made += 1;
        let path = self.dir.path().join(self.made.to_string());
        let options = Options::new().create_if_missing(true).memory_budget(BUDGET);
        options.open(path).expect("a new database can be opened")
    }

    fn filled(&mut self) -> Db {
        let (db, pool) = (self.fresh(), pool());
        for n in 0..ENTRIES {
            db.put(&key(n), value(&pool, n)).expect("the disk has room");
        }
        db.compact_range(..).expect("the disk has room");
        db.wait_idle().expect("the disk has room");
        db
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
/// Returns the time of `count` puts into a database that was empty when the run began.
fn puts(db: &Db, pool: &[u8], next: &mut u64, count: u64, random: bool) -> Duration {
    let begun = Instant::now();
    for _ in 0..count {
        let n = if random { scatter(*next) } else { *next };
        db.put(&key(n), value(pool, *next))
            .expect("the disk has room");
        *next += 1;
    }
    begun.elapsed()
}

/// Number of puts in a burst: less than a memtable holds, so that nothing is sealed or flushed.
const BURST: u64 = 3_000;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
/// Returns the time of `count` bursts into an empty memtable and log, which is the cost of the puts
/// alone. Keys are generated before the clock starts.
fn bursts(db: &Db, pool: &[u8], next: &mut u64, count: u64, random: bool) -> Duration {
    let mut spent = Duration::ZERO;
    for _ in 0..count {
        let numbers = *next..*next + BURST;
        let number = |n| key(if random { scatter(n) } else { n });
        let keys: Vec<[u8; 16]> = numbers.clone().map(number).collect();
        db.flush().expect("the disk has room");
        db.wait_idle().expect("the disk has room");
        let begun = Instant::now();
        for (key, n) in keys.iter().zip(numbers) {
            db.put(key, value(pool, n)).expect("the disk has room");
        }
        spent += begun.elapsed();
        *next += BURST;
    }
    spent
}

fn writes(c: &mut Criterion) {
    let mut bench = Bench::new();
    let pool = pool();
    let mut group = c.benchmark_group("write");
    group.throughput(Throughput::Elements(BURST));
    group.sample_size(10);
    for (name, random) in [("burst sequential, Os", false), ("burst random, Os", true)] {
        let (db, mut next) = (bench.fresh(), 0);
        group.bench_function(name, |b| {
            b.iter_custom(|count| bursts(&db, &pool, &mut next, count, random));
        });
    }
    group.throughput(Throughput::Elements(1));
    group.sample_size(100);
    for (name, random) in [("put sequential, Os", false), ("put random, Os", true)] {
        let (db, mut next) = (bench.fresh(), 0);
        group.bench_function(name, |b| {
            b.iter_custom(|count| puts(&db, &pool, &mut next, count, random));
        });
    }
    let db = bench.fresh();
    let sync = WriteOptions::new().durability(Durability::Sync);
    let mut next = 0u64;
    group.sample_size(10);
    group.bench_function("put, Sync", |b| {
        b.iter(|| {
            next += 1;
            db.put_with(&key(next), value(&pool, next), &sync)
                .expect("the disk has room");
        });
    });
    group.finish();
}

fn reads(c: &mut Criterion) {
    let mut bench = Bench::new();
    let db = bench.filled();
    let mut out = Vec::new();
    let mut next = 0u64;
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(1));
    group.bench_function("get", |b| {
        b.iter(|| {
            next += 1;
            let found = db
                .get_into(&key(scatter(next)), &mut out)
                .expect("pages are intact");
            black_box((found, &out));
        });
    });
    group.bench_function("get, missing", |b| {
        b.iter(|| {
            next += 1;
            black_box(
                db.get_into(&key(scatter(next))[..15], &mut out)
                    .expect("pages are intact"),
            );
        });
    });
    group.bench_function("cursor and seek", |b| {
        b.iter(|| {
            next += 1;
            let mut cursor = db.cursor();
            cursor.seek(&key(scatter(next))).expect("pages are intact");
            black_box(cursor.value().len());
        });
    });
    for (name, forward) in [("scan", true), ("scan backward", false)] {
        let mut cursor = db.cursor();
        group.bench_function(name, |b| {
            b.iter(|| {
                if !cursor.valid() {
                    if forward {
                        cursor.seek_to_first()
                    } else {
                        cursor.seek_to_last()
                    }
                    .expect("pages are intact");
                }
                black_box((cursor.key(), cursor.value()));
                if forward {
                    cursor.next()
                } else {
                    cursor.prev()
                }
                .expect("pages are intact");
            });
        });
    }
    group.finish();
}

fn short_scans(c: &mut Criterion) {
    let mut bench = Bench::new();
    let db = bench.filled();
    let mut next = 0u64;
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(1));
    for (name, forward) in [
        ("cursor, seek and twenty", true),
        ("cursor, seek and twenty back", false),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                next += 1;
                let mut cursor = db.cursor();
                cursor.seek(&key(scatter(next))).expect("pages are intact");
                for _ in 0..20 {
                    black_box((cursor.key(), cursor.value()));
                    if forward {
                        cursor.next()
                    } else {
                        cursor.prev()
                    }
                    .expect("pages are intact");
                }
            });
        });
    }
    group.finish();
}

/// Returns a key that shares with those of many other pages all the bytes that a table's fence
/// index compares.
fn alike(n: u64) -> String {
    let (site, page) = (n % 50, n / 50);
    let shelf = page % 97;
    format!("https://www.example-{site:02}.org/en/articles/{shelf:04}/page-{page:08}.html")
}

fn keys_alike(c: &mut Criterion) {
    let mut bench = Bench::new();
    let pool = pool();
    let db = bench.fresh();
    for n in 0..ENTRIES {
        db.put(alike(n).as_bytes(), value(&pool, n))
            .expect("the disk has room");
    }
    db.compact_range(..).expect("the disk has room");
    db.wait_idle().expect("the disk has room");
    let (mut next, mut out) = (0u64, Vec::new());
    let mut group = c.benchmark_group("read, keys that begin alike");
    group.throughput(Throughput::Elements(1));
    group.bench_function("get", |b| {
        b.iter(|| {
            next += 1;
            let key = alike(scatter(next));
            let found = db.get_into(key.as_bytes(), &mut out);
            assert!(found.expect("pages are intact"));
        });
    });
    group.bench_function("cursor and seek", |b| {
        b.iter(|| {
            next += 1;
            let mut cursor = db.cursor();
            let key = alike(scatter(next));
            cursor.seek(key.as_bytes()).expect("pages are intact");
            black_box((cursor.key(), cursor.value()));
        });
    });
    group.finish();
}

fn whole(c: &mut Criterion) {
    let mut bench = Bench::new();
    let pool = pool();
    let mut group = c.benchmark_group("whole");
    group.sample_size(10);
    let entries = 200_000u64;
    group.throughput(Throughput::Elements(entries));
    group.bench_function("merge of eight runs, durable", |b| {
        b.iter_batched(
            || {
                let db = bench.fresh();
                for n in 0..entries {
                    db.put(&key(scatter(n)), value(&pool, n))
                        .expect("the disk has room");
                    if n % (entries / 8) == entries / 8 - 1 {
                        db.flush().expect("the disk has room");
                    }
                }
                db
            },
            |db| db.compact_range(..).expect("the disk has room"),
            BatchSize::PerIteration,
        );
    });
    let db = bench.fresh();
    let path = bench.dir.path().join(bench.made.to_string());
    for n in 0..entries {
        db.put(&key(n), value(&pool, n)).expect("the disk has room");
    }
    db.close().expect("the disk has room");
    group.throughput(Throughput::Elements(1));
    group.bench_function("open and close after a clean close", |b| {
        b.iter(|| {
            Options::new()
                .open(&path)
                .expect("the database can be opened")
                .close()
                .expect("the database can be closed");
        });
    });
    group.finish();
}

/// Returns the key of job `n` in `queue`.
fn job(queue: u64, n: u64) -> [u8; 16] {
    key(queue * 1_000_000_000_000 + n)
}

/// Queues of a thousand jobs each: reads the first job, deletes it, and puts another after the
/// last; then the same in descending order.
fn queue(c: &mut Criterion) {
    const LENGTH: u64 = 1_000;
    let mut group = c.benchmark_group("queue");
    group.throughput(Throughput::Elements(1));
    for (name, queues, ascending) in [
        ("first, delete, put", 1, true),
        ("first, delete, put in sixteen by turns", 16, true),
        ("last, delete, put", 1, false),
    ] {
        let mut bench = Bench::new();
        let (db, pool) = (bench.fresh(), pool());
        let at = |queue, n| job(queue, if ascending { n } else { 999_999_999_999 - n });
        let put = |queue, n| {
            let put = db.put(&at(queue, n), value(&pool, n));
            put.expect("the disk has room");
        };
        (0..LENGTH).for_each(|n| (0..queues).for_each(|queue| put(queue, n)));
        let mut turn = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                let (queue, head) = (turn % queues, turn / queues);
                let mut cursor = db.cursor();
                if ascending {
                    cursor.seek(&job(queue, 0)).expect("pages are intact");
                } else {
                    cursor.seek_to_last().expect("pages are intact");
                }
                assert_eq!(cursor.key(), at(queue, head));
                db.delete(cursor.key()).expect("the disk has room");
                put(queue, head + LENGTH);
                turn += 1;
            });
        });
    }
    group.finish();
}

/// Writes ten keys repeatedly, and scans them after each write.
fn hot(c: &mut Criterion) {
    const KEYS: u64 = 10;
    let mut bench = Bench::new();
    let (db, pool) = (bench.fresh(), pool());
    let put = |n| {
        db.put(&key(n % KEYS), value(&pool, n))
            .expect("the disk has room");
    };
    (0..100_000).for_each(put);
    let mut group = c.benchmark_group("hot keys");
    group.throughput(Throughput::Elements(1));
    for (name, forward) in [("put, scan ten", true), ("put, scan ten back", false)] {
        let mut n = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                put(n);
                n += 1;
                let mut cursor = db.cursor();
                let mut seen = 0;
                if forward {
                    cursor.seek_to_first().expect("pages are intact");
                } else {
                    cursor.seek_to_last().expect("pages are intact");
                }
                while cursor.valid() {
                    seen += 1;
                    if forward {
                        cursor.next().expect("pages are intact");
                    } else {
                        cursor.prev().expect("pages are intact");
                    }
                }
                assert_eq!(seen, KEYS);
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    writes,
    reads,
    short_scans,
    keys_alike,
    whole,
    queue,
    hot
);
criterion_main!(benches);
