//! Golden files: bytes that LevelDB 1.23 wrote, which this crate reads and writes alike. With them
//! is the generator that this crate's unit tests draw from.
//!
//! A file is hexadecimal with comments after `#`. `docs/format/leveldb.md` explains the bytes.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Kind, Order, Result};
use cairndb_env::{Background, Dir, Env, MemEnv};

use crate::{
    BatchWriter, Codec, InternalKey, LogReader, LogStep, LogWriter, Table, TableBuilder,
    TableOptions, VersionEdit, WriteBatch, read_current,
};

const CURRENT: &str = include_str!("../../../testdata/golden/leveldb-current-v1.hex");
const LOG: &str = include_str!("../../../testdata/golden/leveldb-log-v1.hex");
const MANIFEST: &str = include_str!("../../../testdata/golden/leveldb-manifest-v1.hex");
const SNAPPY: &str = include_str!("../../../testdata/golden/leveldb-snappy-v1.hex");
const TABLE: &str = include_str!("../../../testdata/golden/leveldb-table-v1.hex");

/// The bytes a golden file stands for.
fn parse(text: &str) -> Vec<u8> {
    let code = text.lines().filter_map(|line| line.split('#').next());
    let digits = code.flat_map(str::split_whitespace);
    digits
        .map(|byte| u8::from_str_radix(byte, 16).expect("two digits"))
        .collect()
}

const NAME: &str = "000005.ldb";

fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir(Path::new("db"), true).expect("in memory")
}

/// The bytes that `write` puts into a file.
fn written(write: impl FnOnce(Box<dyn cairndb_env::WritableFile>)) -> Vec<u8> {
    let dir = directory();
    write(dir.create(NAME).expect("a new name"));
    let file = dir.open_read(NAME).expect("just written");
    let mut bytes = vec![0; usize::try_from(file.size()).expect("small")];
    file.read_at(0, &mut bytes).expect("in memory");
    bytes
}

fn open(bytes: &[u8]) -> Arc<dyn cairndb_env::ReadFile> {
    let dir = directory();
    let appended = dir.create(NAME).and_then(|mut file| file.append(bytes));
    appended.expect("in memory");
    dir.open_read(NAME).expect("just written")
}

/// The payloads of a log up to the first damage.
fn payloads(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = LogReader::new(open(bytes), NAME);
    let mut payloads = Vec::new();
    while let LogStep::Record { .. } = reader.advance().expect("in memory") {
        payloads.push(reader.payload().to_vec());
    }
    payloads
}

fn written_log(payloads: &[Vec<u8>]) -> Vec<u8> {
    written(|file| {
        let mut writer = LogWriter::new(file);
        for payload in payloads {
            writer.append(payload).expect("in memory");
        }
    })
}

/// Every byte of a file, changed in every way that a single byte is likely to change.
fn sweep(bytes: &[u8], mut check: impl FnMut(usize, &[u8])) {
    let mut changed = bytes.to_vec();
    for (at, byte) in bytes.iter().enumerate() {
        let flips = (0..8).map(|bit| byte ^ (1 << bit));
        let others = [0, 0xff, byte.wrapping_add(1)];
        for damage in flips.chain(others).filter(|new| new != byte) {
            changed[at] = damage;
            check(at, &changed);
        }
        changed[at] = *byte;
    }
}

#[test]
fn logs_and_batches_are_as_leveldb_writes_them() {
    let mut batches = [
        BatchWriter::new(1),
        BatchWriter::new(2),
        BatchWriter::new(4),
    ];
    batches[0].put(b"apple", b"red");
    batches[1].put(b"plum", b"blue");
    batches[1].put(b"quince", b"yellow");
    batches[2].delete(b"pear");
    let expected = batches.map(|batch| batch.bytes().to_vec());
    assert_eq!(payloads(&parse(LOG)), expected);
    assert_eq!(written_log(&expected), parse(LOG));
    let batch = WriteBatch::decode(&expected[1]).unwrap();
    let keys: Result<Vec<&[u8]>> = batch.iter().map(|operation| Ok(operation?.key)).collect();
    assert_eq!(keys.unwrap(), [&b"plum"[..], b"quince"]);
}

#[test]
fn every_damage_to_a_log_ends_it_there() {
    let whole = payloads(&parse(LOG));
    sweep(&parse(LOG), |at, changed| {
        let found = payloads(changed);
        assert!(found.len() < 3 && whole.starts_with(&found), "byte {at}");
    });
}

#[test]
fn manifests_are_as_leveldb_writes_them() {
    let recorded = payloads(&parse(MANIFEST));
    assert_eq!(written_log(&recorded), parse(MANIFEST));
    let edits: Vec<VersionEdit> = recorded
        .iter()
        .map(|payload| VersionEdit::decode(payload).unwrap())
        .collect();
    for (edit, payload) in edits.iter().zip(&recorded) {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        assert_eq!(&bytes, payload);
    }
    let [first, second] = &edits[..] else {
        panic!("{edits:?}");
    };
    assert_eq!(
        first.comparator.as_deref(),
        Some("leveldb.BytewiseComparator")
    );
    assert_eq!(
        (second.log, second.next_file, second.last_seq),
        (Some(6), Some(7), Some(45))
    );
    let [table] = &second.added[..] else {
        panic!("{second:?}");
    };
    assert_eq!((table.level, table.number, table.size), (0, 5, 2288));
    let smallest = InternalKey::decode(&table.smallest).unwrap();
    assert_eq!(
        smallest,
        InternalKey {
            key: b"apple",
            seq: 45,
            kind: Kind::Put
        }
    );
}

#[test]
fn changed_contents_under_a_right_checksum_are_an_error_or_another_edit() {
    for payload in payloads(&parse(MANIFEST)) {
        let whole = VersionEdit::decode(&payload).unwrap();
        sweep(&payload, |at, changed| {
            assert!(
                VersionEdit::decode(changed).map_or(true, |edit| edit != whole),
                "byte {at}"
            );
        });
    }
    for payload in payloads(&parse(LOG)) {
        let operations = |bytes: &[u8]| {
            let batch = WriteBatch::decode(bytes).ok()?;
            let all: Result<Vec<_>> = batch.iter().collect();
            Some((batch.seq(), batch.count(), format!("{:?}", all.ok()?)))
        };
        let whole = operations(&payload);
        assert!(whole.is_some());
        sweep(&payload, |at, changed| {
            assert_ne!(operations(changed), whole, "byte {at}");
        });
    }
}

/// The entries of the golden tables: the log's, forty more, and a second value for the first key.
fn entries() -> Vec<(Vec<u8>, u64, Kind, Vec<u8>)> {
    let mut entries = vec![
        (b"apple".to_vec(), 45, Kind::Put, b"green".to_vec()),
        (b"apple".to_vec(), 1, Kind::Put, b"red".to_vec()),
        (b"pear".to_vec(), 4, Kind::Delete, b"".to_vec()),
        (b"plum".to_vec(), 2, Kind::Put, b"blue".to_vec()),
        (b"quince".to_vec(), 3, Kind::Put, b"yellow".to_vec()),
    ];
    for number in 0..40usize {
        let (key, value) = (format!("tree{number:02}"), "leaf ".repeat(number % 17));
        entries.push((
            key.into_bytes(),
            5 + number as u64,
            Kind::Put,
            value.into_bytes(),
        ));
    }
    entries
}

fn table(bytes: &[u8]) -> Result<Arc<Table>> {
    Table::open(open(bytes), NAME, Order::Bytewise)
}

#[test]
fn tables_are_as_leveldb_writes_them() {
    let options = TableOptions {
        block_bytes: 1024,
        codec: Codec::None,
        bloom_bits: Some(10),
        ..TableOptions::default()
    };
    let bytes = written(|file| {
        let mut builder = TableBuilder::new(file, Order::Bytewise, options);
        for (key, seq, kind, value) in &entries() {
            let key = InternalKey {
                key,
                seq: *seq,
                kind: *kind,
            };
            builder.add(key, value).unwrap();
        }
        assert_eq!(builder.finish().unwrap(), 2288);
    });
    assert_eq!(bytes, parse(TABLE));
    for text in [TABLE, SNAPPY] {
        let table = table(&parse(text)).unwrap();
        let summary = table.verify().unwrap();
        assert!(summary.filtered);
        assert_eq!(
            (summary.entries, summary.deletes, summary.seq_max),
            (45, 1, 45)
        );
        let (mut cursor, mut found) = (table.cursor(), Vec::new());
        cursor.seek_to_first().unwrap();
        while cursor.valid() {
            let (key, value) = (cursor.key().to_vec(), cursor.value().to_vec());
            found.push((key, cursor.seq(), cursor.kind(), value));
            cursor.next().unwrap();
        }
        assert_eq!(found, entries());
    }
}

#[test]
fn every_damage_to_a_table_is_noticed_but_in_the_unused_bytes_of_its_footer() {
    for text in [TABLE, SNAPPY] {
        let bytes = parse(text);
        sweep(&bytes, |at, changed| {
            let unused = bytes.len() - 48..bytes.len() - 8;
            let verified = table(changed).and_then(|table| table.verify());
            assert!(verified.is_err() || unused.contains(&at), "byte {at}");
        });
    }
}

#[test]
fn current_is_as_leveldb_writes_it() {
    let dir = directory();
    crate::manifest::install_current(&dir, 4).unwrap();
    let file = dir.open_read("CURRENT").unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(bytes, parse(CURRENT));
    assert_eq!(read_current(&*dir).unwrap(), 4);
}

/// Sebastiano Vigna's `SplitMix64`: small, seeded, the same everywhere.
#[derive(Debug)]
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_u64() % (end as u64)).expect("below a usize")
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.next_u64().to_le_bytes());
        words.flatten().take(len).collect()
    }
}
