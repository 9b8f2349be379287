//! Golden files: the bytes under `testdata/golden/` are what this version writes and reads.
//!
//! A file is hexadecimal with comments after `#`; `00*40` is forty zero bytes. Before 1.0 a change
//! of format changes the version number, the file and the page in `docs/format/` together. If a
//! test fails, its message contains the bytes as this version writes them.

use cairndb_base::{ErrorKind, FileNumber, Kind};

use crate::batch::{self, BatchWriter};
use crate::log::{self, RecordHead, SegmentHeader, SegmentReader, Step};
use crate::manifest::{
    self, CleanClose, DeletedRange, HiddenVersions, Incarnation, KeptSegment, KeyspaceEvent,
    KeyspaceRecord, Lease, Manifest, ManifestWriter, SegmentRecord, TableRecord, Tail, VersionEdit,
};
use crate::testing::{MemoryBytes, MemoryDir};
use crate::value_file::{Pointer, ValueEncoder, ValueScan, ValueWriter, read_value};

mod sweep;

const BATCH: &str = include_str!("../../../testdata/golden/batch-v1.hex");
const BATCH_2: &str = include_str!("../../../testdata/golden/batch-v2.hex");
const CURRENT: &str = include_str!("../../../testdata/golden/current-v1.hex");
const LOG: &str = include_str!("../../../testdata/golden/log-v1.hex");
const LOG_UNUSED: &str = include_str!("../../../testdata/golden/log-unused-v1.hex");
const MANIFEST_1: &str = include_str!("../../../testdata/golden/manifest-v1.hex");
const MANIFEST: &str = include_str!("../../../testdata/golden/manifest-v2.hex");
const VALUES: &str = include_str!("../../../testdata/golden/value-file-v1.hex");

/// Returns the bytes that a golden file represents.
pub(crate) fn parse(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in text.lines() {
        let code = line.split('#').next().unwrap_or_default();
        for token in code.split_whitespace() {
            let (hex, count) = token.split_once('*').unwrap_or((token, "1"));
            let count: usize = count.parse().expect("a count after *");
            for _ in 0..count {
                bytes.extend((0..hex.len()).step_by(2).map(|at| {
                    u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits")
                }));
            }
        }
    }
    bytes
}

/// Compares, and on a difference prints the bytes in the format of the file.
#[track_caller]
fn assert_golden(golden: &str, written: &[u8]) {
    let hex = |row: &[u8]| {
        let bytes = row.iter().map(|byte| format!("{byte:02x}"));
        bytes.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = written.chunks(16).map(hex).collect();
    let is_same = parse(golden) == written;
    assert!(is_same, "written now:\n{}", lines.join("\n"));
}

fn pointer() -> Pointer {
    let (bytes, pointers) = values();
    assert!(bytes.len() > 64);
    pointers[0]
}

fn batch() -> BatchWriter {
    let mut batch = BatchWriter::new();
    batch.put(b"apple", b"red");
    batch.delete(b"pear");
    batch.merge(b"count", b"+1");
    batch.pointer(b"large", &pointer());
    batch
}

/// Returns a batch of entries in keyspaces.
fn batch_2() -> BatchWriter {
    let mut batch = BatchWriter::new();
    batch.add_in(Kind::Put, 2, b"apple", b"red");
    batch.add_in(Kind::Delete, 2, b"pear", b"");
    batch.add_in(Kind::Merge, 1 << 31, b"count", b"+1");
    batch.add_in(Kind::Pointer, 1 << 31, b"large", &pointer().encode());
    batch.add(Kind::RangeDelete, b"apple", b"");
    batch.add_in(Kind::RangeDelete, 2, b"apple", b"\0\0\0\x03");
    batch.add(Kind::TimeMark, b"", &1_764_500_000_000_u64.to_le_bytes());
    batch
}

const SEGMENT: SegmentHeader = SegmentHeader {
    segment: 3,
    salt: 0x1122_3344_5566_7788,
    previous_segment: 2,
    previous_end: 4096,
    start_seq: 1000,
};

/// Returns a segment of three records, the last of which states that the first is durable; stale
/// bytes follow.
fn segment() -> Vec<u8> {
    let mut put = BatchWriter::new();
    put.put(b"k", b"v");
    let mut bytes = SEGMENT.encode().to_vec();
    let records = [
        (put.to_payload(), 1000, 0, 0),
        (batch().to_payload(), 1001, 0, 0),
        (put.to_payload(), 1010, 5, 544),
    ];
    for (payload, seq, gap, synced) in records {
        let offset = u32::try_from(bytes.len()).unwrap();
        let head = RecordHead {
            offset,
            seq,
            synced,
            gap,
        };
        let (mut whole, parts) = (Vec::new(), [&payload[..]]);
        log::encode_record(SEGMENT.binding(), &head, &parts, &mut whole);
        let header = log::encode_header(SEGMENT.binding(), &head, &parts);
        assert_eq!(whole, [&header[..], &payload].concat());
        bytes.extend(whole);
        bytes.resize(bytes.len().next_multiple_of(8), 0xee);
    }
    bytes.resize(bytes.len() + 32, 0xee);
    bytes
}

const MANIFEST_NUMBER: FileNumber = FileNumber(5);

/// Returns the edits of version 1.
fn edits_1() -> [VersionEdit; 3] {
    let base = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        merge_operator: Some("example.append".to_owned()),
        next_file: Some(23),
        last_seq: Some(999),
        added_tables: vec![
            TableRecord {
                file: 16,
                run: 3,
                smallest: b"quince".to_vec(),
                largest: b"rowan".to_vec(),
                seq_min: 0,
                seq_max: 0,
                entries: 9,
                deletes: 0,
                bytes: 16_384,
                raw_bytes: 900,
                checksum: 0xfeed_f00d,
                ..TableRecord::default()
            },
            TableRecord {
                file: 17,
                run: 3,
                smallest: b"apple".to_vec(),
                largest: b"pear".to_vec(),
                seq_min: 5,
                seq_max: 900,
                entries: 250,
                deletes: 3,
                bytes: 65_536,
                raw_bytes: 130_000,
                checksum: 0xdead_beef,
                value_refs: vec![(12, 33)],
                deferred: true,
                large_encoded: true,
                hidden: HiddenVersions {
                    entries: 40,
                    bytes: 20_000,
                    value_bytes: 33,
                },
                loose_bounds: true,
                ..TableRecord::default()
            },
        ],
        runs: Some(vec![3, 1]),
        added_segments: [(2, 19, 990), (3, 20, 1000)]
            .map(|(segment, file, start_seq)| SegmentRecord {
                segment,
                file,
                salt: SEGMENT.salt,
                bytes: 4 << 20,
                start_seq,
            })
            .to_vec(),
        added_values: vec![11, 12],
        ..VersionEdit::default()
    };
    let change = VersionEdit {
        removed_tables: vec![17],
        moved_tables: vec![(16, 1)],
        retired_segments: vec![2],
        settled_values: vec![12],
        value_sizes: vec![(12, 176)],
        value_dead: vec![(12, 22)],
        removed_values: vec![11],
        ..VersionEdit::default()
    };
    let close = CleanClose {
        last_seq: 1010,
        log_ends: vec![],
    };
    let close = VersionEdit {
        last_seq: Some(1010),
        retired_segments: vec![3],
        clean_close: Some(close),
        ..VersionEdit::default()
    };
    [base, change, close]
}

/// Returns the same edits with keyspaces.
fn edits() -> [VersionEdit; 3] {
    let mut edits = edits_1();
    let [base, change, _] = &mut edits;
    base.added_tables.push(TableRecord {
        file: 18,
        run: 3,
        section: 1,
        smallest: b"\0\0\0\x02apple".to_vec(),
        largest: b"\0\0\0\x06pear".to_vec(),
        entries: 4,
        bytes: 16_384,
        raw_bytes: 50,
        checksum: 0x1234_5678,
        ranges_applied: 900,
        seq_limit: Some(950),
        ..TableRecord::default()
    });
    base.created_keyspaces = vec![
        KeyspaceRecord {
            number: 2,
            name: "users".to_owned(),
            ..KeyspaceRecord::default()
        },
        KeyspaceRecord {
            number: 1 << 31,
            name: "events".to_owned(),
            comparator: Some("example.reverse".to_owned()),
            merge_operator: Some("example.append".to_owned()),
            compression: Some(0),
            value_bytes: Some(1000),
        },
    ];
    base.dropped_keyspaces = vec![4, 6];
    base.incarnations = [(97, 0), (11, 940)]
        .map(|(number, after)| Incarnation { number, after })
        .to_vec();
    base.kept_segments = Some(vec![KeptSegment {
        segment: 2,
        end: 4096,
        first_values: 12,
    }]);
    base.leases = Some(vec![Lease {
        name: "search".to_owned(),
        seq: 980,
        bytes_max: 1 << 20,
    }]);
    change.keyspace_events = vec![KeyspaceEvent {
        seq: 1001,
        number: 2,
        created: false,
        time_ms: 1_764_500_000_000,
        name: "users".to_owned(),
    }];
    change.kept_segments = Some(Vec::new());
    change.dropped_keyspaces = vec![2];
    change.deleted_ranges = vec![DeletedRange {
        section: 0,
        seq: 901,
        start: b"apple".to_vec(),
        end: Vec::new(),
    }];
    edits
}

fn manifest_bytes() -> Vec<u8> {
    let [base, change, close] = edits();
    let dir = MemoryDir::default();
    let salt = 0x0102_0304_0506_0708;
    let mut writer = ManifestWriter::create(&dir, MANIFEST_NUMBER, salt, &[base]).unwrap();
    writer.append(&change).unwrap();
    writer.sync().unwrap();
    writer.append(&close).unwrap();
    dir.bytes("MANIFEST-000005").unwrap()
}

fn read_manifest(bytes: &[u8]) -> cairndb_base::Result<Manifest> {
    manifest::read_manifest(&MemoryDir::with("MANIFEST-000005", bytes), MANIFEST_NUMBER)
}

const VALUE_NUMBER: FileNumber = FileNumber(12);
const VALUE_HASHES: [u64; 3] = [0x8877_6655_4433_2211, 2, 3];

/// Returns a value to be stored in codec 1.
fn repeating() -> Vec<u8> {
    b"abc".repeat(30)
}

fn values() -> (Vec<u8>, Vec<Pointer>) {
    let dir = MemoryDir::default();
    let mut writer = ValueWriter::create(&dir, VALUE_NUMBER).unwrap();
    let values: [&[u8]; 2] = [b"a value of some length", b""];
    let append = |(value, hash): (&&[u8], u64)| writer.append(hash, &[value]).unwrap();
    let mut pointers: Vec<Pointer> = values.iter().zip(VALUE_HASHES).map(append).collect();
    let (mut encoder, value) = (ValueEncoder::default(), repeating());
    let stored = encoder.encode(&value).unwrap();
    let last = writer.append_encoded(VALUE_HASHES[2], stored, value.len());
    pointers.push(last.unwrap());
    (dir.bytes("000012.val").unwrap(), pointers)
}

fn scan_values(bytes: &[u8]) -> cairndb_base::Result<usize> {
    let file = MemoryBytes(bytes.to_vec());
    let mut scan = ValueScan::new(&file, VALUE_NUMBER)?;
    let mut out = Vec::new();
    let mut count = 0;
    while scan.advance(&mut out)?.is_some() {
        count += 1;
    }
    Ok(count)
}

#[test]
fn batches_are_as_recorded() {
    assert_golden(BATCH, &batch().to_payload());
    let payload = parse(BATCH);
    assert_eq!(batch::validate(&payload).unwrap().count, 4);
    let entries = batch::iter(&payload).unwrap().map(Result::unwrap);
    let expected: [(Kind, &[u8], &[u8]); 4] = [
        (Kind::Put, b"apple", b"red"),
        (Kind::Delete, b"pear", b""),
        (Kind::Merge, b"count", b"+1"),
        (Kind::Pointer, b"large", &pointer().encode()),
    ];
    assert!(entries.map(|it| (it.kind, it.key, it.value)).eq(expected));
    assert_golden(BATCH_2, &batch_2().to_payload());
    let payload = parse(BATCH_2);
    let entries = batch::iter(&payload).unwrap().map(Result::unwrap);
    assert!(entries.eq(batch_2().own_entries()));
}

#[test]
fn log_segments_are_as_recorded() {
    assert_golden(LOG, &segment());
    let bytes = parse(LOG);
    let header = SegmentHeader::decode(&bytes).unwrap();
    assert_eq!(header, SEGMENT);
    let mut reader = SegmentReader::new(&bytes, &header);
    let mut found = Vec::new();
    let end = loop {
        match reader.advance() {
            Step::Record(record) => {
                let count = record.count().unwrap();
                found.push((record.seq, record.gap, record.synced, count));
            }
            Step::End { offset } | Step::Bad { offset, .. } => break offset,
        }
    };
    assert_eq!(found, [(1000, 0, 0, 1), (1001, 0, 0, 4), (1010, 5, 544, 1)]);
    assert_eq!(end, 672);
}

#[test]
fn a_log_that_is_no_segment_yet_is_as_recorded() {
    assert_golden(LOG_UNUSED, &SegmentHeader::UNUSED.encode());
    let header = SegmentHeader::decode(&parse(LOG_UNUSED)).unwrap();
    assert_eq!(header, SegmentHeader::UNUSED);
}

#[test]
fn manifests_are_as_recorded() {
    assert_golden(MANIFEST, &manifest_bytes());
    for (recorded, edits) in [(MANIFEST_1, edits_1()), (MANIFEST, edits())] {
        let manifest = read_manifest(&parse(recorded)).unwrap();
        assert_eq!(manifest.edits, edits);
        assert_eq!(manifest.tail, Tail::Clean);
    }
}

#[test]
fn value_files_are_as_recorded() {
    let (bytes, pointers) = values();
    assert_golden(VALUES, &bytes);
    let file = MemoryBytes(parse(VALUES));
    let mut out = Vec::new();
    read_value(&file, VALUE_NUMBER, &pointers[0], VALUE_HASHES[0], &mut out).unwrap();
    assert_eq!(out, b"a value of some length");
    read_value(&file, VALUE_NUMBER, &pointers[2], VALUE_HASHES[2], &mut out).unwrap();
    assert_eq!(out, repeating());
    assert_eq!(scan_values(&file.0).unwrap(), 3);
}

#[test]
fn current_is_as_recorded() {
    let dir = MemoryDir::default();
    manifest::install_current(&dir, MANIFEST_NUMBER).unwrap();
    assert_golden(CURRENT, &dir.bytes("CURRENT").unwrap());
    let recorded = MemoryDir::with("CURRENT", &parse(CURRENT));
    let number = manifest::read_current(&recorded).unwrap();
    assert_eq!(number, Some(MANIFEST_NUMBER));
}
