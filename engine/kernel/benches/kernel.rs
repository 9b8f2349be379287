//! Benchmarks of the kernels on the sizes that the engine uses.
//!
//! Each benchmark cycles over 4,096 different values of the same shape, or 4,096 random keys, so
//! that the processor cannot learn a result. Each group compares a kernel with its portable twin or
//! with the crate that would otherwise be used.

use std::hint::black_box;

use cairndb_kernel::{codec, crc, crc32c, filter, memory_check, search};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const VARIANTS: usize = 4096;

/// A small generator (xorshift64*) with a fixed seed, so that every run measures the same bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn byte_below(&mut self, bound: u64) -> u8 {
        u8::try_from((self.next() >> 33) % bound).expect("bound is at most 256")
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte_below(256)).collect()
    }

    /// Returns 50 random printable bytes, twice.
    fn classic(&mut self) -> Vec<u8> {
        let half: Vec<u8> = (0..50).map(|_| b' ' + self.byte_below(95)).collect();
        half.repeat(2)
    }

    /// Returns 50 random bytes and 50 zeros.
    fn padded(&mut self) -> Vec<u8> {
        let mut value = self.bytes(50);
        value.resize(100, 0);
        value
    }

    /// Returns a small record whose field names repeat, with literals and matches of all lengths.
    fn record(&mut self) -> Vec<u8> {
        let mut record = Vec::new();
        for name in ["first_name", "last_name", "birth_date", "birth_name"] {
            record.extend_from_slice(format!("{{\"{name}\":\"").as_bytes());
            let len = 3 + self.byte_below(12);
            record.extend((0..len).map(|_| b'a' + self.byte_below(26)));
            record.extend_from_slice(b"\"},");
        }
        record
    }
}

/// Returns records that share their field names and some words but contain no repetition
/// themselves.
fn json(random: &mut Random) -> Vec<u8> {
    const CITIES: [&str; 4] = ["Bergen", "Cusco", "Izmir", "Kyoto"];
    let city = CITIES[usize::from(random.byte_below(4))];
    let user: String = (0..8)
        .map(|_| char::from(b'a' + random.byte_below(26)))
        .collect();
    let id = 1_000_000 + random.next() % 9_000_000;
    let made = 1_000_000_000 + random.next() % 9_000_000_000;
    let record = format!(
        "{{\"id\":{id},\"user\":\"{user}\",\"city\":\"{city}\",\"state\":\"paid\",\"created\":{made},\"amount\":{}}}",
        10_000 + random.next() % 90_000
    );
    record.into_bytes()
}

fn dictionaries(criterion: &mut Criterion) {
    let mut random = Random(7);
    let values: Vec<Vec<u8>> = (0..VARIANTS).map(|_| json(&mut random)).collect();
    let words = values[..16].concat();
    let (matcher, dictionary) = (codec::Matcher::new(&words), codec::Dictionary::new(&words));
    let mut encoder = codec::Encoder::new();
    let mut out = Vec::with_capacity(1 << 16);
    let mut group = criterion.benchmark_group("dictionary");
    group.bench_function("encode_with", |bencher| {
        cycle(bencher, |turn| {
            out.clear();
            encoder.encode_with(&matcher, black_box(&values[turn]), &mut out)
        });
    });
    let stored = values.iter().map(|value| {
        let mut out = Vec::new();
        assert!(
            encoder.encode_with(&matcher, value, &mut out),
            "most of each record must match the dictionary"
        );
        out
    });
    let stored: Vec<Vec<u8>> = stored.collect();
    group.bench_function("decode_with", |bencher| {
        cycle(bencher, |turn| {
            out.clear();
            let stored = black_box(&stored[turn]);
            codec::decode_with(
                &dictionary,
                stored,
                0..stored.len(),
                values[turn].len(),
                &mut out,
            )
        });
    });
    group.finish();
}

/// Calls `run` with 0, 1, 2 ... below `VARIANTS`, over and over.
fn cycle<T>(bencher: &mut criterion::Bencher<'_>, mut run: impl FnMut(usize) -> T) {
    let mut turn = 0;
    bencher.iter(|| {
        turn = (turn + 1) % VARIANTS;
        run(turn)
    });
}

type Generator = fn(&mut Random) -> Vec<u8>;

/// Kinds of values that are encoded alone.
const KINDS: [(&str, Generator); 4] = [
    ("classic_100", Random::classic),
    ("padded_100", Random::padded),
    ("record", Random::record),
    ("random_100", |random| random.bytes(100)),
];

fn codecs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    for (name, generate) in KINDS {
        let mut random = Random(7);
        let values: Vec<Vec<u8>> = (0..VARIANTS).map(|_| generate(&mut random)).collect();
        let mut encoder = codec::Encoder::new();
        let mut out = Vec::with_capacity(1 << 16);
        group.bench_function(BenchmarkId::new("encode", name), |bencher| {
            cycle(bencher, |turn| {
                out.clear();
                encoder.encode(black_box(&values[turn]), &mut out)
            });
        });
        let stored: Vec<Vec<u8>> = values
            .iter()
            .map(|value| {
                let mut out = Vec::new();
                encoder.encode(value, &mut out);
                out
            })
            .collect();
        if stored.iter().any(Vec::is_empty) {
            continue;
        }
        group.bench_function(BenchmarkId::new("decode", name), |bencher| {
            cycle(bencher, |turn| {
                out.clear();
                codec::decode(black_box(&stored[turn]), values[turn].len(), &mut out)
            });
        });
        let mut exact = [0; 256];
        group.bench_function(BenchmarkId::new("decode_into", name), |bencher| {
            cycle(bencher, |turn| {
                let exact = &mut exact[..values[turn].len()];
                codec::decode_into(black_box(&stored[turn]), black_box(exact))
            });
        });
        let blocks: Vec<Vec<u8>> = values
            .iter()
            .map(|v| lz4_flex::block::compress(v))
            .collect();
        group.bench_function(BenchmarkId::new("lz4_flex_decode", name), |bencher| {
            cycle(bencher, |turn| {
                let exact = &mut exact[..values[turn].len()];
                lz4_flex::block::decompress_into(black_box(&blocks[turn]), exact)
            });
        });
        group.bench_function(BenchmarkId::new("lz4_flex_encode", name), |bencher| {
            cycle(bencher, |turn| {
                lz4_flex::block::compress_into(black_box(&values[turn]), &mut exact)
            });
        });
    }
    group.finish();
}

/// Measures decoding of a page's values, many at once, and of a large value with many sequences.
fn rows(criterion: &mut Criterion) {
    let mut random = Random(7);
    let mut encoder = codec::Encoder::new();
    let mut group = criterion.benchmark_group("rows");
    let mut row = Vec::new();
    let mut stored_len = 0;
    for _ in 0..64 {
        let value = random.classic();
        let before = row.len();
        encoder.encode(&value, &mut row);
        if stored_len != 0 && row.len() - before != stored_len {
            row.truncate(before);
        }
        stored_len = if stored_len == 0 {
            row.len()
        } else {
            stored_len
        };
    }
    let mut out = Vec::with_capacity(1 << 17);
    group.bench_function("decode_each_64_classic_100", |bencher| {
        bencher.iter(|| {
            out.clear();
            codec::decode_each(black_box(&row), stored_len, 100, &mut out)
        });
    });
    let block: Vec<u8> = std::iter::repeat_with(|| random.classic())
        .take(655)
        .flatten()
        .collect();
    let mut stored = Vec::new();
    assert!(
        encoder.encode(&block, &mut stored),
        "classic values must shrink"
    );
    group.bench_function("decode_classic_65500", |bencher| {
        bencher.iter(|| {
            out.clear();
            codec::decode(black_box(&stored), block.len(), &mut out)
        });
    });
    group.finish();
}

fn searches(criterion: &mut Criterion) {
    let mut random = Random(11);
    let keys: Vec<u64> = (0..VARIANTS).map(|_| random.next()).collect();
    let mut group = criterion.benchmark_group("search");
    for width in [1, 2, 4, 8] {
        for count in [40, 64, 100, 128] {
            let mut heads: Vec<u64> = (0..count).map(|_| random.next()).collect();
            heads.sort_unstable();
            let shift = 64 - 8 * width;
            let column: Vec<u8> = heads
                .iter()
                .flat_map(|head| (head >> shift).to_le_bytes().into_iter().take(width))
                .collect();
            let id = format!("{count}_x_{width}");
            group.bench_function(BenchmarkId::new("lower_bound", &id), |bencher| {
                cycle(bencher, |turn| {
                    search::lower_bound(black_box(&column), width, count, keys[turn] >> shift)
                });
            });
            group.bench_function(BenchmarkId::new("locate", &id), |bencher| {
                cycle(bencher, |turn| {
                    search::locate(black_box(&column), width, count, keys[turn] >> shift)
                });
            });
            group.bench_function(BenchmarkId::new("twin", &id), |bencher| {
                cycle(bencher, |turn| {
                    search::twin::lower_bound(black_box(&column), width, count, keys[turn] >> shift)
                });
            });
        }
    }
    for count in [16, 64, 256, 508] {
        let mut fences: Vec<u64> = (0..count).map(|_| random.next()).collect();
        fences.sort_unstable();
        let column: Vec<u8> = fences
            .iter()
            .flat_map(|fence| fence.to_le_bytes())
            .collect();
        group.bench_function(BenchmarkId::new("fences", count), |bencher| {
            cycle(bencher, |turn| {
                search::lower_bound_u64_le(black_box(&column), count, keys[turn])
            });
        });
        group.bench_function(BenchmarkId::new("fences_twin", count), |bencher| {
            cycle(bencher, |turn| {
                search::twin::lower_bound_u64_le(black_box(&column), count, keys[turn])
            });
        });
    }
    group.finish();
}

fn filters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("filter");
    let mut random = Random(17);
    let line: [u8; filter::LINE_BYTES] = std::array::from_fn(|_| random.next().to_le_bytes()[0]);
    let mut half = || ((random.next() >> 32) & 0xffff_ffff) as u32;
    let factors: [u32; filter::PROBES_MAX] = std::array::from_fn(|_| half() | 1);
    let states: Vec<u32> = (0..VARIANTS).map(|_| half()).collect();
    group.bench_function("kernel", |bencher| {
        cycle(bencher, |turn| {
            filter::all_set(black_box(&line), states[turn], &factors, 6)
        });
    });
    group.bench_function("twin", |bencher| {
        cycle(bencher, |turn| {
            filter::twin::all_set(black_box(&line), states[turn], &factors, 6)
        });
    });
    group.finish();
}

fn checksums(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("crc32c");
    for len in [16, 64, 100, 130, 200, 1000, 4092, 65536] {
        let bytes = Random(13).bytes(len);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_with_input(BenchmarkId::new("kernel", len), &bytes, |bencher, bytes| {
            bencher.iter(|| crc32c(black_box(bytes)));
        });
        group.bench_with_input(BenchmarkId::new("memory", len), &bytes, |bencher, bytes| {
            bencher.iter(|| memory_check(black_box(bytes)));
        });
        group.bench_with_input(BenchmarkId::new("twin", len), &bytes, |bencher, bytes| {
            bencher.iter(|| crc::portable::crc32c_append(0, black_box(bytes)));
        });
        group.bench_with_input(BenchmarkId::new("crate", len), &bytes, |bencher, bytes| {
            bencher.iter(|| ::crc32c::crc32c(black_box(bytes)));
        });
    }
    group.finish();
}

criterion_group!(
    kernels,
    codecs,
    rows,
    dictionaries,
    searches,
    filters,
    checksums
);
criterion_main!(kernels);
