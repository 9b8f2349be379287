//! Limits, each tested at the limit and beyond it (`behaviour/writes.rs`).

/// Longest key: 64 MiB.
pub const KEY_BYTES_MAX: usize = 64 << 20;
/// Longest value: 1 GiB.
pub const VALUE_BYTES_MAX: usize = 1 << 30;
/// Largest batch, as encoded: 2 GiB, minus the ten bytes that the last entry's lengths may take.
pub const BATCH_BYTES_MAX: usize = 2 << 30;
/// Values of at least this size go to value files; the tree keeps a pointer.
pub const LARGE_VALUE_BYTES_MIN: usize = 8 << 10;
/// Values of at least this size are not copied out of the log if it can be read in place.
pub const LONG_VALUE_BYTES_MIN: usize = 32;
/// The unit of table files: pages are aligned to it and never straddle it.
pub const PAGE_BYTES: usize = 4096;

const _: () = assert!(LARGE_VALUE_BYTES_MIN > PAGE_BYTES);
