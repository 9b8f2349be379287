//! Tests of the search: it finds what a slow search finds, and its work is linear.

use cairndb_kernel::crc32c_append;

use super::*;
use crate::checksum::{mask, masked};
use crate::golden::Noise;
use crate::salvage::ends::BLOCK_BYTES_MAX;
use crate::table::block_builder::BlockBuilder;
use crate::table::codec::{Codec, encode};

/// Returns the most work for these bytes: what decodes in vain is counted afterwards.
fn limit(bytes: &[u8]) -> u64 {
    let decoded = bytes.len().min(BLOCK_BYTES_MAX) as u64;
    (bytes.len() as u64 * WORK_FACTOR).max(WORK_MIN) + decoded
}

fn found(bytes: &[u8]) -> (Vec<FoundBlock>, u64) {
    let mut search = BlockSearch::new(bytes.len() as u64);
    let mut found = Vec::new();
    while let Some(step) = search.advance(bytes) {
        found.push(step);
    }
    (found, search.work)
}

/// Appends a block with one entry of `value_len` noisy bytes, and returns what finds it.
fn append_block(table: &mut Vec<u8>, value_len: usize, noise: &mut Noise) -> FoundBlock {
    let mut builder = BlockBuilder::new(16);
    builder.add(b"a key", &noise.bytes(value_len));
    let raw = builder.finish();
    let (id, encoded) = encode(Codec::Snappy, &raw);
    let stored = encoded.as_deref().unwrap_or(&raw);
    let (offset, len) = (table.len() as u64, stored.len() as u64);
    table.extend_from_slice(stored);
    table.push(id);
    table.extend_from_slice(&masked(stored, &[id]).to_le_bytes());
    FoundBlock::Block(Handle { offset, len })
}

fn table(value_lens: &[usize]) -> (Vec<u8>, Vec<FoundBlock>) {
    let mut noise = Noise::new(9);
    let mut bytes = Vec::new();
    let append = |len: &usize| append_block(&mut bytes, *len, &mut noise);
    let blocks = value_lens.iter().map(append).collect();
    (bytes, blocks)
}

#[test]
fn blocks_of_all_lengths_follow_one_another() {
    let lens = [10, 4_000, 0, 100_000, 4_000, 3_000_000, 1, 700_000];
    let (bytes, blocks) = table(&lens);
    assert_eq!(found(&bytes).0, blocks);
}

#[test]
fn work_is_linear_whatever_the_bytes_are() {
    for mib in [1, 5] {
        let len = mib << 20;
        let noise = Noise::new(1).bytes(len);
        let ends_everywhere = noise.iter().map(|byte| byte % 5).collect();
        let (blocks, _) = table(&vec![4_000; len / 4_000]);
        let mut damaged_everywhere = blocks.clone();
        damaged_everywhere
            .iter_mut()
            .step_by(500)
            .for_each(|byte| *byte ^= 1);
        let zeros = vec![0; len];
        for bytes in [noise, zeros, ends_everywhere, blocks, damaged_everywhere] {
            let (found, work) = found(&bytes);
            assert!(!found.is_empty());
            assert!(work <= limit(&bytes), "{work} for {} bytes", bytes.len());
        }
    }
}

#[test]
fn ends_made_to_match_one_start_are_tried_within_the_limit() {
    // Every tenth byte ends a Snappy block that begins at 1, and none of them decodes.
    let (mut bytes, mut checksum) = (vec![0xff], 0);
    while bytes.len() < 1 << 20 {
        let next = [0xff, 0xff, 0xff, 0xff, 0xff, 1];
        checksum = crc32c_append(checksum, &next);
        let stored = mask(checksum).to_le_bytes();
        checksum = crc32c_append(checksum, &stored);
        bytes.extend_from_slice(&next);
        bytes.extend_from_slice(&stored);
    }
    let (found, work) = found(&bytes);
    assert!(!found.is_empty());
    assert!(work <= limit(&bytes), "{work}");
}

#[test]
fn a_damaged_long_block_costs_itself_only() {
    let lens = [2_000_000, 3_000_000, 2_500_000, 100, 3_500_000, 4_000];
    let (bytes, blocks) = table(&lens);
    for harmed in 0..lens.len() {
        let FoundBlock::Block(handle) = blocks[harmed] else {
            unreachable!("all are blocks");
        };
        let mut bytes = bytes.clone();
        bytes[usize::try_from(handle.offset + handle.len / 2).unwrap()] ^= 4;
        let mut expected = blocks.clone();
        let end = handle.offset + handle.len + TRAILER_BYTES as u64;
        let offset = handle.offset;
        expected[harmed] = FoundBlock::Damage { offset, end };
        let (found, work) = found(&bytes);
        assert_eq!(found, expected, "block {harmed}");
        assert!(work <= limit(&bytes) / 2, "{work}");
    }
}
