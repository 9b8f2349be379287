//! Benchmark of large values: appending to a value file, encoding while idle, reading raw and
//! reading encoded.
//!
//! Run with `cargo bench -p cairndb-format --bench values`. The data is a thousand values of
//! 100,000 bytes, warm, in a real file; every figure is per value. Most of the time of a read that
//! is not mapped goes into the copy from the system's page cache.

#![allow(
    missing_docs,
    reason = "criterion's macros generate undocumented functions"
)]
#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;

use cairndb_base::FileNumber;
use cairndb_env::{Access, Dir, Env, RealEnv};
use cairndb_format::name;
use cairndb_format::value_file::{Check, Pointer, ValueEncoder, ValueWriter, read_value, value_of};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const VALUE_BYTES: usize = 100_000;
const VALUES: u64 = 1000;

/// Returns printable bytes that compress to half their size, as the benchmark's values do, or that
/// do not compress.
fn value(number: u64, halves: bool) -> Vec<u8> {
    let mut state = number + 1;
    let random = std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33).to_le_bytes()[0]
    });
    if !halves {
        return random.take(VALUE_BYTES).collect();
    }
    let mut value = Vec::with_capacity(VALUE_BYTES);
    let mut random = random.map(|byte| b' ' + byte % 95);
    while value.len() < VALUE_BYTES {
        let start = value.len();
        value.extend(random.by_ref().take(50));
        value.extend_from_within(start..);
    }
    value
}

/// Writes the values to file `number`, encoded or raw, and returns their pointers.
fn file(dir: &dyn Dir, number: u64, shorter: bool) -> Vec<Pointer> {
    let mut writer = ValueWriter::create(dir, FileNumber(number)).unwrap();
    let mut encoder = ValueEncoder::default();
    let mut pointers = Vec::new();
    for hash in 0..VALUES {
        let value = value(hash, true);
        let pointer = if shorter {
            let stored = encoder.encode(&value).unwrap();
            writer.append_encoded(hash, stored, value.len())
        } else {
            writer.append(hash, &[&value])
        };
        pointers.push(pointer.unwrap());
    }
    pointers
}

fn values(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let dir = RealEnv::new().open_dir(folder.path(), true).unwrap();
    let mut group = c.benchmark_group("large value");
    group.throughput(Throughput::Bytes(VALUE_BYTES as u64));
    for (what, halves) in [("that halves", true), ("that does not shrink", false)] {
        let values: Vec<Vec<u8>> = (0..16).map(|number| value(number, halves)).collect();
        let (mut encoder, mut at) = (ValueEncoder::default(), 0);
        group.bench_function(format!("encode one {what}"), |b| {
            b.iter(|| {
                at = (at + 1) % values.len();
                encoder.encode(black_box(&values[at])).map(<[u8]>::len)
            });
        });
    }
    for (number, shorter) in [(1, false), (2, true)] {
        let pointers = file(&*dir, number, shorter);
        let number = FileNumber(number);
        let file = dir.open_read(&name::value(number)).unwrap();
        let (mut out, mut hash) = (Vec::new(), 0);
        let what = if shorter { "encoded" } else { "as it is" };
        group.bench_function(format!("read {what}"), |b| {
            b.iter(|| {
                hash = (hash + 7) % VALUES;
                let pointer = &pointers[usize::try_from(hash).unwrap()];
                read_value(&*file, number, pointer, hash, &mut out).unwrap();
                out.len()
            });
        });
        let mapped = file.map(file.size(), Access::Pieces).unwrap().unwrap();
        group.bench_function(format!("read {what}, mapped"), |b| {
            b.iter(|| {
                hash = (hash + 7) % VALUES;
                let pointer = &pointers[usize::try_from(hash).unwrap()];
                value_of(&mapped, number, pointer, hash, Check::Now, &mut out).unwrap();
                out.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, values);
criterion_main!(benches);
