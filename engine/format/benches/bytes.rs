//! Benchmark: encoding and reading the log, batches and edits.
//!
//! Run with `cargo bench -p cairndb-format --bench bytes`. The write path's budget is 25 ns for the
//! header and checksum of a 120-byte payload.

#![allow(
    missing_docs,
    reason = "criterion's macros generate undocumented functions"
)]
#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;

use cairndb_base::Kind;
use cairndb_format::batch::{self, BatchWriter};
use cairndb_format::log::{
    RecordHead, SegmentHeader, SegmentReader, Step, encode_header, encode_record,
};
use cairndb_format::manifest::{TableRecord, VersionEdit};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const KEY: &[u8; 16] = b"0000000000123456";
const VALUE: [u8; 100] = [b'v'; 100];

fn header() -> SegmentHeader {
    SegmentHeader {
        segment: 1,
        salt: 2,
        previous_segment: 0,
        previous_end: 0,
        start_seq: 1,
    }
}

/// Returns the parts of a put after its record header.
fn parts(frame: &batch::Frame) -> [&[u8]; 4] {
    [
        frame.before_key(),
        black_box(KEY),
        frame.before_value(),
        &VALUE,
    ]
}

fn log(c: &mut Criterion) {
    let mut group = c.benchmark_group("log");
    let binding = header().binding();
    let head = RecordHead {
        offset: 512,
        seq: 77,
        synced: 512,
        gap: 0,
    };
    group.bench_function("frame of a put", |b| {
        b.iter(|| batch::frame(Kind::Put, false, black_box(16), black_box(100)));
    });
    group.bench_function("header, payload of 120 bytes in 4 parts", |b| {
        let frame = batch::frame(Kind::Put, false, 16, 100);
        b.iter(|| {
            let parts = [frame.before_key(), KEY, frame.before_value(), &VALUE];
            encode_header(binding, black_box(&head), black_box(&parts))
        });
    });
    group.bench_function("header, payload of 120 bytes in 1 part", |b| {
        let mut batch = BatchWriter::new();
        batch.put(KEY, &VALUE);
        let payload = batch.to_payload();
        b.iter(|| encode_header(binding, black_box(&head), black_box(&[&payload[..]])));
    });
    let mut region = [0u8; 256];
    group.bench_function("put into a region: frame, header, 5 copies", |b| {
        b.iter(|| {
            let frame = batch::frame(Kind::Put, false, black_box(16), black_box(100));
            let parts = parts(&frame);
            let header = encode_header(binding, black_box(&head), &parts);
            let mut rest = &mut region[..];
            for part in std::iter::once(&header[..]).chain(parts) {
                let (start, behind) = rest.split_at_mut(part.len());
                start.copy_from_slice(part);
                rest = behind;
            }
            black_box(&mut region);
        });
    });
    group.bench_function("put into a region: frame, record, 1 copy", |b| {
        let mut out = Vec::with_capacity(4096);
        b.iter(|| {
            let frame = batch::frame(Kind::Put, false, black_box(16), black_box(100));
            let parts = parts(&frame);
            encode_record(binding, black_box(&head), &parts, &mut out);
            region[..out.len()].copy_from_slice(&out);
            black_box(&mut region);
        });
    });
    group.finish();
}

fn segment(c: &mut Criterion) {
    let mut group = c.benchmark_group("log");
    let segment = filled_segment();
    group.throughput(Throughput::Elements(records(&segment)));
    group.bench_function("read a segment", |b| {
        b.iter(|| records(black_box(&segment)));
    });
    group.finish();
}

/// Returns a segment filled with 1 MiB of single puts.
fn filled_segment() -> Vec<u8> {
    let mut bytes = header().encode().to_vec();
    let mut batch = BatchWriter::new();
    batch.put(KEY, &VALUE);
    let payload = batch.to_payload();
    let mut seq = 1;
    while bytes.len() < 1 << 20 {
        let offset = u32::try_from(bytes.len()).unwrap();
        let head = RecordHead {
            offset,
            seq,
            synced: 0,
            gap: 0,
        };
        bytes.extend(encode_header(header().binding(), &head, &[&payload]));
        bytes.extend(&payload);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        seq += 1;
    }
    bytes
}

fn records(segment: &[u8]) -> u64 {
    let mut reader = SegmentReader::new(segment, &header());
    let mut count = 0;
    while let Step::Record(record) = reader.advance() {
        count += record.count().unwrap();
    }
    count
}

fn batches(c: &mut Criterion) {
    let mut group = c.benchmark_group("batch");
    let mut batch = BatchWriter::new();
    for _ in 0..1000 {
        batch.put(KEY, &VALUE);
    }
    let payload = batch.to_payload();
    group.throughput(Throughput::Elements(1000));
    group.bench_function("validate 1000 entries", |b| {
        b.iter(|| batch::validate(black_box(&payload)).unwrap().count);
    });
    group.bench_function("iterate 1000 entries", |b| {
        b.iter(|| {
            let entries = batch::iter(black_box(&payload)).unwrap();
            entries
                .map(|entry| entry.unwrap().value.len())
                .sum::<usize>()
        });
    });
    group.bench_function("put 1000 entries", |b| {
        b.iter(|| {
            batch.clear();
            for _ in 0..1000 {
                batch.put(black_box(KEY), &VALUE);
            }
            batch.count()
        });
    });
    group.finish();
}

fn edits(c: &mut Criterion) {
    let table = TableRecord {
        file: 17,
        run: 3,
        smallest: KEY.to_vec(),
        largest: KEY.to_vec(),
        seq_max: 1_000_000,
        entries: 130_000,
        bytes: 8 << 20,
        raw_bytes: 15 << 20,
        ..TableRecord::default()
    };
    let edit = VersionEdit {
        next_file: Some(40),
        added_tables: vec![table; 8],
        removed_tables: (1..9).collect(),
        runs: Some(vec![3, 2, 1]),
        ..VersionEdit::default()
    };
    let mut group = c.benchmark_group("manifest");
    let mut out = Vec::new();
    group.bench_function("encode an edit of 8 tables", |b| {
        b.iter(|| {
            out.clear();
            black_box(&edit).encode(&mut out);
            out.len()
        });
    });
    group.bench_function("decode an edit of 8 tables", |b| {
        b.iter(|| VersionEdit::decode(black_box(&out)).unwrap());
    });
    group.finish();
}

criterion_group!(benches, segment, log, batches, edits);
criterion_main!(benches);
