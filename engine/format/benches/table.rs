//! Benchmark of tables in the workloads of the suite: gets, misses, scans, building and compacting.
//!
//! All except the build run on finished tables of the classic data, mapped and warm: a million
//! entries with 16-digit keys and 100-byte values that compress to half their size. Every figure is
//! per entry.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::head::head_behind;
use cairndb_base::{FileNumber, Kind, Order, SEQ_MAX, hash64};
use cairndb_env::{Dir, Env, RealEnv};
use cairndb_format::table::{
    BoundLimits, Compression, PageAccess, Table, TableBuilder, TableCursor, TableOptions, ValueIn,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const ENTRIES: u64 = 1_000_000;
/// Number of entries that one iteration touches.
const BATCH: u64 = 1000;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Generator of values: 50 random printable bytes, repeated once.
struct Values(Vec<u8>);

impl Values {
    fn new() -> Values {
        let mut rng = Rng(7);
        let mut pool = Vec::new();
        while pool.len() < 1 << 20 {
            let start = pool.len();
            let printable = |rng: &mut Rng| b' ' + u8::try_from(rng.next() % 95).unwrap_or(0);
            pool.extend((0..50).map(|_| printable(&mut rng)));
            pool.extend_from_within(start..);
        }
        Values(pool)
    }

    fn get(&self, number: u64) -> &[u8] {
        let at = usize::try_from(number % 10_000).unwrap_or(0) * 100;
        &self.0[at..at + 100]
    }
}

fn write_key(number: u64, key: &mut [u8; 16]) {
    let mut rest = number;
    for digit in key.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
}

fn options(file: u64, compression: Compression) -> TableOptions {
    TableOptions {
        compression,
        ..TableOptions::new(FileNumber(file))
    }
}

fn build(
    dir: &dyn Dir,
    file: u64,
    numbers: impl Iterator<Item = u64>,
    compression: Compression,
) -> u32 {
    let values = Values::new();
    let name = format!("{file:06}.tbl");
    let output = dir.create(&name).expect("a fresh name");
    let mut builder = TableBuilder::new(output, options(file, compression));
    let mut key = [0u8; 16];
    for number in numbers {
        write_key(number, &mut key);
        builder
            .add(&key, 0, Kind::Put, ValueIn::Raw(values.get(number)))
            .expect("entries are in order");
    }
    let summary = builder.finish(&BoundLimits::default()).expect("room");
    eprintln!("{name}: {} bytes for {}", summary.bytes, summary.entries);
    summary.checksum
}

fn open(dir: &dyn Dir, file: u64, checksum: u32) -> Arc<Table> {
    let source = dir.open_read(&format!("{file:06}.tbl")).expect("was built");
    let (number, access) = (FileNumber(file), PageAccess::Mapped(None));
    let table = Table::open(source, number, &Order::Bytewise, access, checksum);
    Arc::new(table.expect("an intact table"))
}

/// Returns an empty directory for this benchmark.
fn directory() -> Arc<dyn Dir> {
    let env = RealEnv::new();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("table-bench");
    let dir = env.open_dir(&path, true).expect("a writable target");
    for name in dir.list().expect("the directory was just opened") {
        dir.unlink(&name).expect("a file");
    }
    dir
}

fn table_of(dir: &dyn Dir, file: u64, compression: Compression) -> Arc<Table> {
    let checksum = build(dir, file, 0..ENTRIES, compression);
    let table = open(dir, file, checksum);
    let mut cursor = table.cursor();
    cursor.first().expect("an intact table");
    while cursor.valid() {
        cursor.next().expect("an intact table");
    }
    table
}

/// Performs one get and returns a number that depends on the value found.
fn get(table: &Table, key: &[u8], scratch: &mut Vec<u8>) -> u64 {
    let found = table
        .get(key, hash64(key), SEQ_MAX, scratch)
        .expect("an intact table");
    found.map_or(0, |_| {
        u64::from(scratch[0]) + u64::from(scratch[scratch.len() - 1])
    })
}

fn gets(c: &mut Criterion, name: &str, table: &Table) {
    let mut group = c.benchmark_group(format!("get/{name}"));
    group.throughput(Throughput::Elements(BATCH));
    let mut scratch = Vec::new();
    let mut key = [0u8; 16];
    let mut rng = Rng(1);
    group.bench_function("independent", |b| {
        b.iter(|| {
            let mut sum = 0;
            for _ in 0..BATCH {
                write_key(rng.next() % ENTRIES, &mut key);
                sum += get(table, &key, &mut scratch);
            }
            black_box(sum)
        });
    });
    let mut rng = Rng(2);
    group.bench_function("dependent", |b| {
        b.iter(|| {
            let mut last = 0;
            for _ in 0..BATCH {
                write_key((rng.next() + last) % ENTRIES, &mut key);
                last = get(table, &key, &mut scratch);
            }
            black_box(last)
        });
    });
    group.bench_function("missing", |b| {
        b.iter(|| {
            let mut sum = 0;
            for _ in 0..BATCH {
                write_key(rng.next() % ENTRIES, &mut key);
                sum += get(table, &key[..15], &mut scratch);
            }
            black_box(sum)
        });
    });
    group.bench_function("seek", |b| {
        let table = open_again(table);
        let mut cursor = table.cursor();
        b.iter(|| {
            for _ in 0..BATCH {
                write_key(rng.next() % ENTRIES, &mut key);
                cursor.seek(&key, SEQ_MAX).expect("an intact table");
                black_box(cursor.value().expect("an intact table")[0]);
            }
        });
    });
    group.finish();
}

/// Opens the table's file again, for benchmarks that need a shared table.
fn open_again(table: &Table) -> Arc<Table> {
    let env = RealEnv::new();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("table-bench");
    let dir = env.open_dir(&path, false).expect("exists");
    open(&*dir, table.file().0, table.summary().checksum)
}

fn sum_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

fn scans(c: &mut Criterion, name: &str, table: &Arc<Table>) {
    let mut group = c.benchmark_group(format!("scan/{name}"));
    group
        .throughput(Throughput::Elements(ENTRIES))
        .sample_size(10);
    let scan = |forward: bool, sum: bool| {
        let mut cursor = table.cursor();
        if forward {
            cursor.first()
        } else {
            cursor.last()
        }
        .expect("an intact table");
        let mut total = 0;
        while cursor.valid() {
            total += u64::from(cursor.key()[15]);
            let value = cursor.value().expect("an intact table");
            total += if sum {
                sum_bytes(value)
            } else {
                u64::from(value[99])
            };
            if forward {
                cursor.next()
            } else {
                cursor.prev()
            }
            .expect("an intact table");
        }
        black_box(total)
    };
    group.bench_function("forward", |b| b.iter(|| scan(true, false)));
    group.bench_function("backward", |b| b.iter(|| scan(false, false)));
    group.bench_function("forward, summing every byte", |b| {
        b.iter(|| scan(true, true));
    });
    group.finish();
}

fn builds(c: &mut Criterion, dir: &dyn Dir) {
    let mut group = c.benchmark_group("build");
    let count = 200_000;
    group
        .throughput(Throughput::Elements(count))
        .sample_size(10);
    for (row, compression) in [
        ("raw", Compression::None),
        ("short", Compression::Short),
        ("adaptive", Compression::Adaptive),
    ] {
        let values = Values::new();
        group.bench_function(BenchmarkId::from_parameter(row), |b| {
            b.iter(|| {
                let name = "999999.tmp";
                let output = dir.create(name).expect("a fresh name");
                let mut builder = TableBuilder::new(output, options(999_999, compression));
                let mut key = [0u8; 16];
                for number in 0..count {
                    write_key(number * 5, &mut key);
                    builder
                        .add(&key, 0, Kind::Put, ValueIn::Raw(values.get(number)))
                        .expect("entries are in order");
                }
                let summary = builder.finish(&BoundLimits::default()).expect("room");
                dir.unlink(name).expect("just written");
                black_box(summary.checksum)
            });
        });
    }
    group.finish();
}

/// Merges four interleaved tables into one, copying values verbatim. The next entry is found by
/// comparing heads, as in the engine: the first eight of the sixteen digits are equal.
fn merges(c: &mut Criterion, dir: &dyn Dir) {
    let mut group = c.benchmark_group("merge");
    let count = 200_000;
    group
        .throughput(Throughput::Elements(count))
        .sample_size(10);
    let tables: Vec<Arc<Table>> = (0..4)
        .map(|part| {
            let numbers = (0..count).filter(move |number| number % 4 == part);
            let file = 100 + part;
            open(dir, file, build(dir, file, numbers, Compression::Short))
        })
        .collect();
    group.bench_function("four tables interleaved", |b| {
        b.iter(|| {
            let name = "999998.tmp";
            let output = dir.create(name).expect("a fresh name");
            let mut builder = TableBuilder::new(output, options(999_998, Compression::Short));
            let mut cursors: Vec<TableCursor> = tables.iter().map(Table::cursor).collect();
            for cursor in &mut cursors {
                cursor.first().expect("an intact table");
            }
            while let Some(cursor) = cursors
                .iter_mut()
                .filter(|cursor| cursor.valid())
                .min_by_key(|cursor| head_behind(cursor.key(), 8))
            {
                let entry = cursor.entry().expect("an intact table");
                builder
                    .add(entry.key, entry.seq, entry.kind, entry.value)
                    .expect("entries are in order");
                cursor.next().expect("an intact table");
            }
            let summary = builder.finish(&BoundLimits::default()).expect("room");
            dir.unlink(name).expect("just written");
            assert_eq!(summary.entries, count);
        });
    });
    group.finish();
}

fn all(c: &mut Criterion) {
    let dir = directory();
    for (file, name, compression) in [
        (1, "short", Compression::Short),
        (2, "raw", Compression::None),
    ] {
        let table = table_of(&*dir, file, compression);
        gets(c, name, &table);
        scans(c, name, &table);
    }
    builds(c, &*dir);
    merges(c, &*dir);
}

criterion_group! {
    name = table;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = all
}
criterion_main!(table);
