//! Benchmarks of the memtable and the cache, per entry of 16 + 100 bytes in a memtable of 512 KiB.
//!
//! Insert times include creating and dropping the memtable. Limits: 25 ns for a sequential insert,
//! 60 ns for a random insert, 15 ns for a get of a missing key. The throughput line gives figures
//! per `elem`.

use std::hint::black_box;
use std::sync::Arc;

use cairndb_base::{Kind, Order, SEQ_MAX, hash64};
use cairndb_mem::{Cache, ChunkPool, ClockCache, MemWriter, Memtable};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const CAPACITY: usize = 512 << 10;
const VALUE: [u8; 100] = [7; 100];
/// Number of possible keys, equal to the number of entries in the classic data set.
const KEYS: u64 = 1_000_000;

type HashedKey = ([u8; 16], u64);

fn key(number: u64) -> HashedKey {
    let mut key = [b'0'; 16];
    let digits = format!("{number:016}");
    key.copy_from_slice(digits.as_bytes());
    (key, hash64(&key))
}

/// Number of memtables with different keys, used in rotation: with the same keys each time, the
/// branch predictor would learn the searches.
const TABLES: usize = 50;

/// Returns the keys of [`TABLES`] memtables that are filled with ascending numbers.
fn ascending() -> Vec<Vec<HashedKey>> {
    let numbers: Vec<u64> = (0..KEYS).collect();
    tables_of(&numbers)
}

/// Returns the keys of [`TABLES`] memtables that are filled with distinct numbers in random order.
fn shuffled() -> Vec<Vec<HashedKey>> {
    let mut numbers: Vec<u64> = (0..KEYS).collect();
    numbers.sort_by_cached_key(|number| hash64(&number.to_le_bytes()));
    tables_of(&numbers)
}

/// Splits numbers into memtables, each with more entries than fit.
fn tables_of(numbers: &[u64]) -> Vec<Vec<HashedKey>> {
    let tables = numbers.chunks(4000).take(TABLES);
    tables
        .map(|numbers| numbers.iter().copied().map(key).collect())
        .collect()
}

fn memtable(pool: &Arc<ChunkPool>, hint: &[u8]) -> (Arc<Memtable>, MemWriter) {
    Memtable::pooled(pool, Order::Bytewise, hint.to_vec(), CAPACITY)
}

fn fill(writer: &mut MemWriter, keys: &[HashedKey]) -> u64 {
    let mut seq = 0;
    for (key, _) in keys {
        if !writer.has_room(key.len(), VALUE.len()) {
            break;
        }
        seq += 1;
        writer.insert(seq, Kind::Put, key, &VALUE);
    }
    seq
}

fn inserts(c: &mut Criterion) {
    let (ascending, shuffled) = (ascending(), shuffled());
    let pool = ChunkPool::new(CAPACITY);
    let mut group = c.benchmark_group("insert");
    for (name, tables, hint) in [
        ("sequential", &ascending, &b"0000000000"[..]),
        ("random", &shuffled, b"0000000000"),
        ("sequential, no hint", &ascending, b""),
        ("random, no hint", &shuffled, b""),
    ] {
        let (_, mut writer) = memtable(&pool, hint);
        group.throughput(Throughput::Elements(fill(&mut writer, &tables[0])));
        let mut turn = 0;
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                let (table, mut writer) = memtable(&pool, hint);
                turn = (turn + 1) % TABLES;
                fill(&mut writer, &tables[turn]);
                table
            });
        });
    }
    group.finish();
}

fn reads(c: &mut Criterion) {
    let tables = shuffled();
    let (table, mut writer) = memtable(&ChunkPool::new(0), b"0000000000");
    let count = usize::try_from(fill(&mut writer, &tables[0])).expect("small");
    // The keys in a long sequence that differs from the insertion order.
    let mut present: Vec<HashedKey> = Vec::new();
    for round in 0..4u64 {
        let mut keys = tables[0][..count].to_vec();
        keys.sort_by_key(|(_, hash)| {
            hash.rotate_left(16) ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        present.extend(keys);
    }
    let absent: Vec<HashedKey> = tables[1..].concat();
    let mut group = c.benchmark_group("read");
    for (name, keys) in [("get hit", &present), ("get miss", &absent)] {
        group.throughput(Throughput::Elements(keys.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                for (key, hash) in keys {
                    black_box(table.get(key, *hash, SEQ_MAX)).expect("values are in memory");
                }
            });
        });
    }
    let mut cursor = table.cursor();
    group.throughput(Throughput::Elements(present.len() as u64));
    group.bench_function("seek", |b| {
        b.iter(|| {
            for (key, _) in &present {
                cursor.seek(key, SEQ_MAX);
                black_box(cursor.seq());
            }
        });
    });
    group.throughput(Throughput::Elements(count as u64));
    group.bench_function("next", |b| {
        b.iter(|| {
            cursor.seek_to_first();
            while cursor.valid() {
                black_box((cursor.key(), cursor.value()));
                cursor.next();
            }
        });
    });
    group.bench_function("prev", |b| {
        b.iter(|| {
            cursor.seek_to_last();
            while cursor.valid() {
                black_box((cursor.key(), cursor.value()));
                cursor.prev();
            }
        });
    });
    group.finish();
}

fn caches(c: &mut Criterion) {
    const PAGES: u128 = 1000;
    let mut group = c.benchmark_group("cache");
    let cache = ClockCache::new(8 << 20);
    let page: Arc<[u8]> = vec![0; 4096].into();
    for key in 0..PAGES {
        cache.insert(key, Arc::clone(&page), page.len());
    }
    let mut at = 0;
    group.bench_function("clock hit", |b| {
        b.iter(|| {
            at = (at + 389) % PAGES;
            black_box(cache.lookup(at))
        });
    });
    group.bench_function("clock insert and evict", |b| {
        b.iter(|| {
            at += 1;
            cache.insert(PAGES + at, Arc::clone(&page), page.len());
        });
    });
    group.finish();
}

criterion_group!(benches, inserts, reads, caches);
criterion_main!(benches);
