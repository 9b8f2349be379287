//! Blocks both ways, for runs of every length, and every damage to a small one.

use super::*;
use cairndb_base::coding::put_varint;

use crate::table::block_builder::BlockBuilder;

fn entries(count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entry = |number: usize| {
        let key = format!("key{:05}{}", number / 3, ["", "a", "bcdefgh"][number % 3]);
        (key.into_bytes(), vec![b'v'; number % 40])
    };
    (0..count).map(entry).collect()
}

fn block(entries: &[(Vec<u8>, Vec<u8>)], interval: usize) -> Vec<u8> {
    let mut builder = BlockBuilder::new(interval);
    for (key, value) in entries {
        builder.add(key, value);
    }
    let len = builder.len();
    let bytes = builder.finish();
    assert_eq!(bytes.len(), len);
    bytes
}

fn cursor(bytes: &[u8]) -> Result<BlockCursor> {
    Ok(BlockCursor::new(Arc::new(Block::new(bytes.to_vec())?)))
}

fn forward(bytes: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = cursor(bytes)?;
    let mut found = Vec::new();
    cursor.seek_to_first()?;
    while cursor.valid() {
        found.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next()?;
    }
    Ok(found)
}

fn backward(bytes: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = cursor(bytes)?;
    let mut found = Vec::new();
    cursor.seek_to_last()?;
    while cursor.valid() {
        found.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev()?;
    }
    found.reverse();
    Ok(found)
}

#[test]
fn blocks_come_back_in_both_directions() {
    for count in [0, 1, 2, 15, 16, 17, 100] {
        for interval in [1, 2, 16, 1000] {
            let entries = entries(count);
            let bytes = block(&entries, interval);
            assert_eq!(forward(&bytes).unwrap(), entries, "{count} by {interval}");
            assert_eq!(backward(&bytes).unwrap(), entries, "{count} by {interval}");
        }
    }
}

#[test]
fn a_seek_finds_every_key_and_every_gap_and_goes_on_both_ways() {
    for interval in [1, 3, 16, 1000] {
        let entries = entries(60);
        let mut cursor = cursor(&block(&entries, interval)).unwrap();
        for target in 0..=entries.len() {
            let entry = entries.get(target);
            let mut sought = entry.map_or(b"z".to_vec(), |entry| entry.0.clone());
            for gap in [false, true] {
                if gap {
                    sought.push(0);
                }
                cursor.seek(|key| Ok(key.cmp(&sought))).unwrap();
                let place = entries.partition_point(|entry| entry.0 < sought);
                assert_eq!(cursor.valid(), place < entries.len());
                if place == entries.len() {
                    continue;
                }
                assert_eq!(cursor.key(), entries[place].0);
                let mut back = cursor.clone();
                back.prev().unwrap();
                let before = place.checked_sub(1).map(|before| &entries[before].0[..]);
                assert_eq!(back.valid().then(|| back.key()), before);
                if back.valid() {
                    back.next().unwrap();
                    assert_eq!(back.key(), entries[place].0);
                    assert_eq!(back.value(), entries[place].1);
                }
            }
        }
    }
}

#[test]
fn every_damaged_byte_is_an_error_or_another_block() {
    let entries = entries(20);
    let bytes = block(&entries, 4);
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            for found in [forward(&damaged), backward(&damaged)] {
                assert!(found.map_or(true, |found| found != entries), "byte {at}");
            }
            if let Ok(mut cursor) = cursor(&damaged) {
                let _ = cursor.seek(|key| Ok(key.cmp(b"key00003")));
            }
        }
        let cut = forward(&bytes[..at]).map_or(0, |found| found.len());
        assert!(cut < 20, "cut at {at}");
    }
}

#[test]
fn keys_that_spell_out_far_more_than_the_block_are_refused() {
    // One long key, and entries of a few bytes that share all of it.
    let walk = |key_bytes: usize, count: usize| {
        let mut bytes = vec![0];
        put_varint(&mut bytes, key_bytes as u64);
        bytes.push(0);
        bytes.resize(bytes.len() + key_bytes, b'k');
        for _ in 0..count {
            put_varint(&mut bytes, key_bytes as u64);
            bytes.extend([0, 0]);
        }
        bytes.extend([0, 0, 0, 0, 1, 0, 0, 0]);
        let mut cursor = cursor(&bytes)?;
        cursor.seek_to_last()?;
        let mut passed = 0;
        while cursor.valid() {
            passed += 1;
            cursor.prev()?;
        }
        Ok::<usize, Error>(passed)
    };
    assert_eq!(walk(10_000, 4000).unwrap(), 4001);
    assert_eq!(walk(100, 1_000_000).unwrap(), 1_000_001);
    assert!(walk(100_000, 100_000).is_err());
}
