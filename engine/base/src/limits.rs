//! Size limits. Tests check each one at the limit and beyond it (`behaviour/writes.rs`).

/// Maximum key length: 64 MiB.
pub const KEY_BYTES_MAX: usize = 64 << 20;
/// Maximum value length: 1 GiB.
pub const VALUE_BYTES_MAX: usize = 1 << 30;
/// Maximum encoded length of a batch: 2 GiB, minus the ten bytes that the last entry's lengths may
/// take.
pub const BATCH_BYTES_MAX: usize = 2 << 30;
/// Minimum size of a value that is stored in a value file; the tree keeps a pointer to it.
pub const LARGE_VALUE_BYTES_MIN: usize = 8 << 10;
/// Minimum size of a value that is not copied out of the log if the log can be read in place.
pub const LONG_VALUE_BYTES_MIN: usize = 32;
/// The page size of table files: pages are aligned to it and never straddle it.
pub const PAGE_BYTES: usize = 4096;

const _: () = assert!(LARGE_VALUE_BYTES_MIN > PAGE_BYTES);
