//! Size limits. Tests check each one at the limit and beyond it (`behaviour/writes.rs`).

/// Maximum key length: 64 MiB.
pub const KEY_BYTES_MAX: usize = 64 << 20;
/// Length of a keyspace's number, big-endian, at the start of a stored key.
pub const KEYSPACE_BYTES: usize = 4;
/// Maximum length of a stored key, which may begin with the number of its keyspace.
pub const STORED_KEY_BYTES_MAX: usize = KEY_BYTES_MAX + KEYSPACE_BYTES;
/// The smallest number of a keyspace with a comparator. Keyspaces without one have smaller numbers,
/// and 0 is the default keyspace.
pub const COMPARED_KEYSPACE_MIN: u32 = 1 << 31;
/// Maximum length of a keyspace's name.
pub const KEYSPACE_NAME_BYTES_MAX: usize = 255;
/// Maximum number of keyspaces at a time.
pub const KEYSPACES_MAX: usize = 65_536;
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
