//! Tables written and read: every form, both ways, seeks, verification and damage.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{ErrorKind, Kind, Order, Result};
use cairndb_env::{Background, Dir, Env, MemEnv};

use super::block_builder::BlockBuilder;
use super::footer::FOOTER_BYTES;
use super::*;
use crate::checksum::masked;
use crate::golden::Noise;
use crate::internal_key::InternalKey;

const NAME: &str = "000005.ldb";

type Entry = (Vec<u8>, u64, Kind, Vec<u8>);

fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir(Path::new("db"), true).unwrap()
}

/// Several versions of each key, from the newest.
fn entries(count: usize, seed: u64) -> Vec<Entry> {
    let mut noise = Noise::new(seed);
    let mut entries = Vec::new();
    let mut number = 0;
    while entries.len() < count {
        number += 1 + noise.below(5);
        for version in (0..=noise.below(3)).rev() {
            let (kind, len) = match noise.below(4) {
                0 => (Kind::Delete, 0),
                _ => (Kind::Put, noise.below(120)),
            };
            let value = match noise.below(2) {
                0 => noise.bytes(len),
                _ => vec![b'x'; len],
            };
            let key = format!("{number:06}").into_bytes();
            entries.push((key, 100 + version as u64, kind, value));
        }
    }
    entries
}

fn write(entries: &[Entry], options: TableOptions) -> Vec<u8> {
    let dir = directory();
    let mut builder = TableBuilder::new(dir.create(NAME).unwrap(), Order::Bytewise, options);
    for (key, seq, kind, value) in entries {
        let (seq, kind) = (*seq, *kind);
        builder.add(InternalKey { key, seq, kind }, value).unwrap();
    }
    builder.finish().unwrap();
    let file = dir.open_read(NAME).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn open(bytes: &[u8]) -> Result<Arc<Table>> {
    let dir = directory();
    dir.create(NAME)?.append(bytes)?;
    Table::open(dir.open_read(NAME)?, NAME, Order::Bytewise)
}

fn entry(cursor: &TableCursor) -> Entry {
    let (key, value) = (cursor.key().to_vec(), cursor.value().to_vec());
    (key, cursor.seq(), cursor.kind(), value)
}

fn read(table: &Arc<Table>) -> Result<Vec<Entry>> {
    let (mut cursor, mut found) = (table.cursor(), Vec::new());
    cursor.seek_to_first()?;
    while cursor.valid() {
        found.push(entry(&cursor));
        cursor.next()?;
    }
    Ok(found)
}

fn read_backwards(table: &Arc<Table>) -> Result<Vec<Entry>> {
    let (mut cursor, mut found) = (table.cursor(), Vec::new());
    cursor.seek_to_last()?;
    while cursor.valid() {
        found.push(entry(&cursor));
        cursor.prev()?;
    }
    found.reverse();
    Ok(found)
}

fn forms() -> Vec<TableOptions> {
    let mut forms = Vec::new();
    for codec in [Codec::None, Codec::Snappy] {
        for bloom_bits in [None, Some(10)] {
            for (block_bytes, restart_interval) in [(1, 1), (256, 2), (4096, 16), (1 << 20, 1000)] {
                forms.push(TableOptions {
                    block_bytes,
                    restart_interval,
                    codec,
                    bloom_bits,
                });
            }
        }
    }
    forms
}

#[test]
fn tables_of_every_form_come_back_both_ways() {
    for count in [1, 2, 50, 700] {
        let entries = entries(count, count as u64);
        for options in forms() {
            let table = open(&write(&entries, options.clone())).unwrap();
            assert_eq!(read(&table).unwrap(), entries, "{options:?}");
            assert_eq!(read_backwards(&table).unwrap(), entries, "{options:?}");
            let summary = table.verify().unwrap();
            assert_eq!(summary.entries, entries.len() as u64);
            assert_eq!(summary.filtered, options.bloom_bits.is_some());
            let deletes = entries.iter().filter(|entry| entry.2 == Kind::Delete);
            assert_eq!(summary.deletes, deletes.count() as u64);
        }
    }
}

#[test]
fn a_seek_finds_the_version_that_is_visible() {
    let entries = entries(300, 3);
    for options in forms() {
        let table = open(&write(&entries, options)).unwrap();
        let mut cursor = table.cursor();
        for target in &entries {
            for seq in [0, 100, 101, 200] {
                cursor.seek(&target.0, seq).unwrap();
                let before =
                    |entry: &&Entry| entry.0 < target.0 || (entry.0 == target.0 && entry.1 > seq);
                let expected = entries.iter().find(|entry| !before(entry));
                assert_eq!(cursor.valid().then(|| entry(&cursor)).as_ref(), expected);
            }
        }
        cursor.seek(b"", 1 << 50).unwrap();
        assert_eq!(entry(&cursor), entries[0]);
        cursor.seek(b"z", 1 << 50).unwrap();
        assert!(!cursor.valid());
        cursor.next().unwrap();
        cursor.prev().unwrap();
        assert!(!cursor.valid(), "a step from no entry leads to none");
    }
}

#[test]
fn a_table_without_entries_is_readable() {
    let bytes = write(&[], TableOptions::default());
    let table = open(&bytes).unwrap();
    assert_eq!(read(&table).unwrap(), []);
    assert_eq!(read_backwards(&table).unwrap(), []);
    assert_eq!(table.verify().unwrap(), TableSummary::default());
}

#[test]
fn every_damaged_byte_is_an_error_with_file_and_offset_or_without_effect() {
    let entries = entries(40, 9);
    for options in forms().into_iter().filter(|form| form.block_bytes == 256) {
        let bytes = write(&entries, options);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x24;
            let verified = open(&damaged).and_then(|table| {
                table.verify()?;
                read(&table)
            });
            match verified {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "byte {at}: {error}");
                    assert_eq!(error.file_name(), Some(NAME), "byte {at}: {error}");
                    assert!(error.file_offset().is_some(), "byte {at}: {error}");
                }
                // Only the unused bytes of the footer.
                Ok(found) => {
                    assert!(at >= bytes.len() - FOOTER_BYTES, "byte {at}");
                    assert_eq!(found, entries);
                }
            }
            let cut = open(&bytes[..at]).and_then(|table| read(&table));
            assert!(cut.is_err(), "cut at {at}");
        }
    }
}

#[test]
fn verification_notices_what_checksums_do_not() {
    let mut entries = entries(40, 4);
    let sorted = write(&entries, TableOptions::default());
    entries.swap(3, 30);
    let dir = directory();
    let file = dir.create(NAME).unwrap();
    // A builder of another order lets them pass.
    let order = Order::Custom(Arc::new(Unordered));
    let mut builder = TableBuilder::new(file, order, TableOptions::default());
    for (number, (key, _, kind, value)) in (0..).zip(&entries) {
        let (seq, kind) = (1000 - number, *kind);
        builder.add(InternalKey { key, seq, kind }, value).unwrap();
    }
    builder.finish().unwrap();
    let table = Table::open(dir.open_read(NAME).unwrap(), NAME, Order::Bytewise).unwrap();
    let error = table.verify().unwrap_err();
    assert!(error.to_string().contains("not in order"), "{error}");
    assert!(open(&sorted).unwrap().verify().is_ok());
}

/// Finds all keys equal.
#[derive(Debug)]
struct Unordered;

impl cairndb_base::Comparator for Unordered {
    fn name(&self) -> &'static str {
        "test.Unordered"
    }

    fn compare(&self, _: &[u8], _: &[u8]) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// How a program stores the contents of a block.
type Store<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// A table of one block whose blocks are stored by `store`, as other programs store them.
fn foreign(codec: u8, store: Store<'_>, entries: &[Entry]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut append = |raw: &[u8]| {
        let stored = store(raw);
        let handle = footer::Handle {
            offset: file.len() as u64,
            len: stored.len() as u64,
        };
        file.extend_from_slice(&stored);
        file.push(codec);
        file.extend_from_slice(&masked(&stored, &[codec]).to_le_bytes());
        handle
    };
    let mut data = BlockBuilder::new(16);
    let mut last = Vec::new();
    for (key, seq, kind, value) in entries {
        last.clear();
        let (seq, kind) = (*seq, *kind);
        InternalKey { key, seq, kind }.encode(&mut last);
        data.add(&last, value);
    }
    let mut value = Vec::new();
    append(&data.finish()).encode(&mut value);
    let mut index = BlockBuilder::new(1);
    index.add(&last, &value);
    let metaindex = append(&BlockBuilder::new(1).finish());
    let index = append(&index.finish());
    file.extend(footer::Footer { metaindex, index }.encode());
    file
}

#[test]
fn tables_of_other_programs_are_read() {
    let entries = entries(200, 6);
    let zstandard = |raw: &[u8]| zstd::bulk::compress(raw, 1).unwrap();
    let zlib = |raw: &[u8]| miniz_oxide::deflate::compress_to_vec_zlib(raw, 6);
    let deflate = |raw: &[u8]| miniz_oxide::deflate::compress_to_vec(raw, 6);
    let forms: [(u8, Store<'_>); 4] = [(2, &zstandard), (2, &zlib), (3, &zstandard), (4, &deflate)];
    for (codec, store) in forms {
        let bytes = foreign(codec, store, &entries);
        let table = open(&bytes).unwrap();
        assert_eq!(read(&table).unwrap(), entries, "codec {codec}");
        assert_eq!(table.verify().unwrap().entries, entries.len() as u64);
    }
    let error = open(&foreign(7, &zlib, &entries)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert_eq!(error.file_name(), Some(NAME));
}

#[test]
fn blocks_that_overlap_are_refused() {
    let entries = entries(60, 8);
    let form = TableOptions {
        block_bytes: 200,
        codec: Codec::None,
        ..TableOptions::default()
    };
    let mut bytes = write(&entries, form);
    // The second entry of the index: its handle becomes that of the first block.
    let footer: [u8; FOOTER_BYTES] = *bytes.last_chunk().unwrap();
    let index = footer::Footer::decode(&footer).unwrap().index;
    let start = usize::try_from(index.offset).unwrap();
    let end = start + usize::try_from(index.len).unwrap();
    let first = bytes[start] + bytes[start + 1] + 3;
    let second = start + usize::from(first + bytes[start + 2]);
    let handle = second + 3 + usize::from(bytes[second + 1]);
    bytes[handle..handle + 2].copy_from_slice(&[0x80, 0]);
    let checksum = masked(&bytes[start..end], &[0]);
    bytes[end + 1..end + 5].copy_from_slice(&checksum.to_le_bytes());
    let error = open(&bytes).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
    let place = (error.file_name(), error.file_offset());
    assert_eq!(place, (Some(NAME), Some(index.offset)));
}
