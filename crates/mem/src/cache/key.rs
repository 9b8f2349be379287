//! Keys of cached values, and how they are spread over shards and buckets.

use cairndb_base::FileNumber;

/// The cache key of a page.
pub(super) fn page_key(file: FileNumber, page: u32) -> u128 {
    u128::from(file.0) << 64 | u128::from(page)
}

/// Whether a key belongs to a page of `file`.
pub(super) fn is_of_file(key: u128, file: FileNumber) -> bool {
    key >> 64 == u128::from(file.0)
}

/// Spreads a key over 64 bits by a folded 128-bit product, because page numbers are consecutive.
#[expect(
    clippy::cast_possible_truncation,
    reason = "halves are taken on purpose"
)]
pub(super) fn hash_of(key: u128) -> u64 {
    let low = (key as u64) ^ 0xa076_1d64_78bd_642f;
    let high = ((key >> 64) as u64) ^ 0xe703_7ed1_a0b4_28db;
    let product = u128::from(low) * u128::from(high);
    let folded = (product as u64) ^ ((product >> 64) as u64);
    // Multiplied again, so that the high bits, which choose the shard, depend on all low bits.
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
