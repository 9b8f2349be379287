//! Tests of salvage: every entry of an intact block is found, with the index or without.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Kind, MANIFEST_MARK, Order};
use cairndb_env::{Background, Dir, Env, MemEnv};

use super::{ManifestSalvage, TableSalvage, TableStep, is_leveldb};
use crate::internal_key::InternalKey;
use crate::log::LogWriter;
use crate::table::{Codec, TableBuilder, TableOptions};

const NAME: &str = "000005.ldb";

fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir(Path::new("db"), true).unwrap()
}

fn key(number: u64) -> Vec<u8> {
    format!("key{number:05}").into_bytes()
}

/// The header of our manifests is also a record of LevelDB's, if its random number is text.
#[test]
fn a_manifest_of_ours_is_none_of_leveldbs() {
    let dir = directory();
    let edit = |name: &[u8]| [&[1, u8::try_from(name.len()).unwrap()], name].concat();
    let ours = [&MANIFEST_MARK[..], &[0; 36]].concat();
    for (number, name) in [(2, &b"leveldb.BytewiseComparator"[..]), (3, &ours)] {
        let file = dir.create(&format!("MANIFEST-00000{number}")).unwrap();
        LogWriter::new(file).append(&edit(name)).unwrap();
        let read = ManifestSalvage::read(&*dir, number);
        assert_eq!(read.is_ok(), number == 2, "{read:?}");
    }
    assert!(is_leveldb(&*dir).unwrap());
    dir.unlink("MANIFEST-000002").unwrap();
    assert!(!is_leveldb(&*dir).unwrap());
}

/// Returns a table with `count` entries.
fn table(count: u64, codec: Codec) -> Vec<u8> {
    let dir = directory();
    let options = TableOptions {
        codec,
        ..TableOptions::default()
    };
    let file = dir.create(NAME).unwrap();
    let mut builder = TableBuilder::new(file, Order::Bytewise, options);
    for number in 0..count {
        let (key, seq, kind) = (&key(number)[..], number + 1, Kind::Put);
        let value = format!("{number}").repeat(20);
        let entry = InternalKey { key, seq, kind };
        builder.add(entry, value.as_bytes()).unwrap();
    }
    builder.finish().unwrap();
    let file = dir.open_read(NAME).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

/// Returns the numbers of the entries found, by block, and the number of damages.
fn salvaged(bytes: &[u8]) -> (Vec<Vec<u64>>, usize) {
    let dir = directory();
    dir.create(NAME).unwrap().append(bytes).unwrap();
    let file = dir.open_read(NAME).unwrap();
    let mut salvage = TableSalvage::new(file, NAME, &Order::Bytewise).unwrap();
    let (mut blocks, mut damages) = (Vec::new(), 0);
    while let Some(step) = salvage.advance().unwrap() {
        match step {
            TableStep::Damage { .. } => damages += 1,
            TableStep::Block(mut block) => {
                let mut numbers = Vec::new();
                while block.valid() {
                    let number = block.seq() - 1;
                    assert_eq!(block.key(), key(number));
                    assert_eq!(block.value(), format!("{number}").repeat(20).as_bytes());
                    numbers.push(number);
                    block.next();
                }
                blocks.push(numbers);
            }
        }
    }
    (blocks, damages)
}

#[test]
fn a_table_without_its_index_yields_every_entry() {
    for codec in [Codec::None, Codec::Snappy] {
        let bytes = table(2_000, codec);
        let (whole, damages) = salvaged(&bytes);
        assert_eq!(damages, 0);
        assert_eq!(whole.concat(), (0..2_000).collect::<Vec<u64>>());
        // The footer, the index, and all after the entries.
        for cut in [10, 60, 600] {
            let (found, _) = salvaged(&bytes[..bytes.len() - cut]);
            assert_eq!(found, whole, "{codec:?} without the last {cut} bytes");
        }
    }
}

/// Regression: an index whose blocks had moved was read as a block of entries, which gave keys that
/// had never been written.
#[test]
fn a_table_whose_bytes_have_moved_yields_every_entry() {
    for codec in [Codec::None, Codec::Snappy] {
        let bytes = table(1_000, codec);
        let (whole, _) = salvaged(&bytes);
        let moved = [&[7; 99], &bytes[..]].concat();
        assert_eq!(salvaged(&moved).0, whole, "{codec:?}");
    }
}

#[test]
fn only_entries_of_damaged_blocks_are_lost() {
    for codec in [Codec::None, Codec::Snappy] {
        let bytes = table(1_000, codec);
        let (whole, _) = salvaged(&bytes);
        for (at, with_index) in [(0, true), (9_000, true), (9_000, false), (0, false)] {
            let mut harmed = bytes.clone();
            harmed[at] ^= 0x10;
            if !with_index {
                harmed.truncate(bytes.len() - 20);
            }
            let (found, damages) = salvaged(&harmed);
            assert_eq!(damages, 1, "{codec:?} {at} {with_index}");
            assert_eq!(found.len() + 1, whole.len(), "{codec:?} {at} {with_index}");
            assert!(found.iter().all(|block| whole.contains(block)));
        }
    }
}
