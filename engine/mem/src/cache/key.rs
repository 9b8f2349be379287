//! Keys of cached values, and their distribution over shards and buckets.

use cairndb_base::FileNumber;

/// Returns the cache key of a page.
pub(super) fn page_key(file: FileNumber, page: u32) -> u128 {
    u128::from(file.0) << 64 | u128::from(page)
}

/// Returns whether a key belongs to a page of `file`.
pub fn is_of_file(key: u128, file: FileNumber) -> bool {
    key >> 64 == u128::from(file.0)
}

/// Hashes a key to 64 bits with a folded 128-bit product, because page numbers are consecutive.
#[expect(clippy::cast_possible_truncation, reason = "the halves are folded")]
pub fn hash_of(key: u128) -> u64 {
    let low = (key as u64) ^ 0xa076_1d64_78bd_642f;
    let high = ((key >> 64) as u64) ^ 0xe703_7ed1_a0b4_28db;
    let product = u128::from(low) * u128::from(high);
    let folded = (product as u64) ^ ((product >> 64) as u64);
    // Multiplied again, so that the high bits, which select the shard, depend on all low bits.
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
