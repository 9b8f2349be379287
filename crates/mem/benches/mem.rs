//! What the memtable and the caches cost, per entry of 16 + 100 bytes in a part of 512 KiB.
//!
//! Inserts include making and dropping the memtable. Gates: sequential insert 40 ns, random insert 110 ns,
//! get of a missing key 15 ns. Figures are per `elem` in the throughput line.

use std::hint::black_box;
use std::sync::Arc;

use cairndb_base::{Kind, Order, SEQ_MAX, hash64};
use cairndb_mem::{Cache, ClockCache, LruCache, MemWriter, Memtable};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const CAPACITY: usize = 512 << 10;
const VALUE: [u8; 100] = [7; 100];
/// Keys are drawn from as many numbers as the classic data set has entries.
const KEYS: u64 = 1_000_000;

type HashedKey = ([u8; 16], u64);

fn key(number: u64) -> HashedKey {
    let mut key = [b'0'; 16];
    let digits = format!("{number:016}");
    key.copy_from_slice(digits.as_bytes());
    (key, hash64(&key))
}

/// `count` distinct numbers below [`KEYS`] in no order: a full-period congruential walk.
fn shuffled(count: u64) -> Vec<HashedKey> {
    (0..count)
        .map(|i| key((i * 618_033 + 271_829) % KEYS))
        .collect()
}

fn part(hint: &[u8]) -> (Arc<Memtable>, MemWriter) {
    Memtable::new(Order::Bytewise, hint.to_vec(), CAPACITY)
}

fn fill(writer: &mut MemWriter, keys: &[HashedKey]) -> u64 {
    let mut seq = 0;
    for (key, hash) in keys {
        if !writer.has_room(key.len(), VALUE.len()) {
            break;
        }
        seq += 1;
        writer.insert(seq, Kind::Put, key, &VALUE, *hash);
    }
    seq
}

fn inserts(c: &mut Criterion) {
    let sequential: Vec<HashedKey> = (0..10_000).map(key).collect();
    let random = shuffled(10_000);
    let mut group = c.benchmark_group("insert");
    for (name, keys, hint) in [
        ("sequential", &sequential, &b"0000000000"[..]),
        ("random", &random, b"0000000000"),
        ("sequential, no hint", &sequential, b""),
        ("random, no hint", &random, b""),
    ] {
        let (_, mut writer) = part(hint);
        group.throughput(Throughput::Elements(fill(&mut writer, keys)));
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                let (table, mut writer) = part(hint);
                fill(&mut writer, keys);
                table
            });
        });
    }
    group.finish();
}

fn reads(c: &mut Criterion) {
    let keys = shuffled(10_000);
    let (table, mut writer) = part(b"0000000000");
    let count = usize::try_from(fill(&mut writer, &keys)).expect("small");
    let (present, absent) = keys.split_at(count);
    let mut group = c.benchmark_group("read");
    for (name, keys) in [("get hit", present), ("get miss", absent)] {
        group.throughput(Throughput::Elements(keys.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                for (key, hash) in keys {
                    black_box(table.get(key, *hash, SEQ_MAX));
                }
            });
        });
    }
    group.throughput(Throughput::Elements(count as u64));
    let mut cursor = table.cursor();
    group.bench_function("seek", |b| {
        b.iter(|| {
            for (key, _) in present {
                cursor.seek(key, SEQ_MAX);
                black_box(cursor.seq());
            }
        });
    });
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
    let caches: [(&str, Box<dyn Cache>); 2] = [
        ("lru", Box::new(LruCache::new(8 << 20))),
        ("clock", Box::new(ClockCache::new(8 << 20))),
    ];
    let page: Arc<[u8]> = vec![0; 4096].into();
    for (name, cache) in &caches {
        for key in 0..PAGES {
            cache.insert(key, Arc::clone(&page), page.len());
        }
        let mut at = 0;
        group.bench_function(format!("{name} hit"), |b| {
            b.iter(|| {
                at = (at + 389) % PAGES;
                black_box(cache.lookup(at))
            });
        });
        group.bench_function(format!("{name} insert and evict"), |b| {
            b.iter(|| {
                at += 1;
                cache.insert(PAGES + at, Arc::clone(&page), page.len());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, inserts, reads, caches);
criterion_main!(benches);
