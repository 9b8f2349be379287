//! The key hash that filters use. Changing it requires a new format version.

/// Returns XXH3-64 of `key` with seed 0. Part of the table format: filters are built from it.
#[inline]
pub fn hash64(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}

#[cfg(test)]
mod tests {
    use super::hash64;

    /// Checks the value in `docs/format/README.md`.
    #[test]
    fn the_hash_is_the_one_that_is_written_down() {
        assert_eq!(hash64(b""), 0x2d06_8005_38d3_94c2);
    }
}
