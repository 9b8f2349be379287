//! The hash of a key, used by filters and never by anything that must survive a change of it
//! without a new format version.

/// XXH3-64 of `key` with seed 0. Part of the table format: filters are built from it.
#[inline]
pub fn hash64(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}
