//! The settings of a store: the same total memory for every engine, split as each engine allows.

use serde::{Deserialize, Serialize};

use crate::workload::durability::Durability;

/// The default total: section 1 of the 2011 document.
pub const MEMORY_BYTES_DEFAULT: u64 = 4 << 20;

const HALVES_UP_TO: u64 = 16 << 20;
const SMALL_SIDE: u64 = 8 << 20;
/// Overhead allowed to every store in addition to twice its memory setting.
const OVERHEADS_BYTES: u64 = 48 << 20;

/// The memory of a store, and the two shares for engines that divide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The total.
    pub total_bytes: u64,
    /// For writes that are not yet in a table.
    pub write_bytes: u64,
    /// For reads.
    pub cache_bytes: u64,
}

impl Memory {
    /// Splits a total: halves up to 16 MB; above that, 8 MB for the cache and the rest for writes,
    /// or the reverse for a store that is only read.
    pub const fn split(total_bytes: u64, reading: bool) -> Self {
        let small = if total_bytes <= HALVES_UP_TO {
            total_bytes / 2
        } else {
            SMALL_SIDE
        };
        let large = total_bytes - small;
        let (write_bytes, cache_bytes) = if reading {
            (small, large)
        } else {
            (large, small)
        };
        Self {
            total_bytes,
            write_bytes,
            cache_bytes,
        }
    }

    /// Splits a total in halves, for a store that is written and read at the same time.
    pub const fn even(total_bytes: u64) -> Self {
        Self::shares(total_bytes - total_bytes / 2, total_bytes / 2)
    }

    /// Creates a setting from given shares, whose sum is the total.
    pub const fn shares(write_bytes: u64, cache_bytes: u64) -> Self {
        Self {
            total_bytes: write_bytes + cache_bytes,
            write_bytes,
            cache_bytes,
        }
    }

    /// Returns the anonymous memory that a store may use in addition to the harness's own before it
    /// counts as ignoring its setting: twice the total plus 48 MiB.
    ///
    /// Every store has overheads: a full write buffer waits while the next one fills, tables have
    /// indexes, allocators retain pages. LevelDB and RocksDB use two write buffers and the cache.
    pub const fn allowed_bytes(self) -> u64 {
        self.total_bytes
            .saturating_mul(2)
            .saturating_add(OVERHEADS_BYTES)
    }
}

/// The set of settings of an engine that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Settings comparable with all other engines: the same durability, checksums enabled. Ranked.
    #[default]
    Fair,
    /// Settings from the engine's own published benchmarks, with whatever they sacrifice. Not
    /// ranked.
    Seed,
}

impl Variant {
    /// Returns the word used in the flag and in the result record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fair => "fair",
            Self::Seed => "seed",
        }
    }
}

/// Everything that an engine needs to open a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory.
    pub memory: Memory,
    /// Whether values may be compressed, with the engine's usual codec.
    pub compression: bool,
    /// Bloom filter bits per key; 0 for none, `None` for the engine's default.
    pub bloom_bits: Option<u32>,
    /// Uncompressed size of a block or page in bytes, if the engine has such a setting.
    pub block_bytes: Option<u64>,
    /// Maximum size of a table file in bytes, if the engine has such a setting.
    pub file_bytes: Option<u64>,
    /// Maximum number of open files, if the engine has such a setting.
    pub open_files: Option<u32>,
    /// Whether the engine keeps statistics that cost time on every operation.
    pub statistics: bool,
    /// The durability of writes in the following rows.
    pub durability: Durability,
    /// The variant of the engine's settings.
    pub variant: Variant,
    /// Maximum number of entries in the store.
    pub entries: u64,
    /// Key size in bytes.
    pub key_bytes: usize,
    /// Value size in bytes in most rows.
    pub value_bytes: usize,
    /// Number of named keyspaces that take the place of the one without a name; 0 for none.
    pub keyspaces: u32,
    /// Whether other processes may open the store to read it.
    pub shared: bool,
}

impl Settings {
    /// Returns the settings of LevelDB's program with `memory`, for one entry: a basis for an
    /// adapter's tests.
    pub const fn plain(memory: Memory) -> Settings {
        Settings {
            memory,
            compression: true,
            bloom_bits: None,
            block_bytes: None,
            file_bytes: None,
            open_files: None,
            statistics: false,
            durability: Durability::Os,
            variant: Variant::Fair,
            entries: 1,
            key_bytes: 16,
            value_bytes: 100,
            keyspaces: 0,
            shared: false,
        }
    }

    /// Returns the names of the keyspaces.
    pub fn keyspace_names(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.keyspaces).map(|index| format!("keyspace{index:05}"))
    }

    /// Returns the requested block size, file size and number of open files as reported by an
    /// engine without these settings.
    pub fn unused(&self) -> Vec<(String, String)> {
        let asked = [
            ("block_size", self.block_bytes),
            ("max_file_size", self.file_bytes),
            ("open_files", self.open_files.map(u64::from)),
        ];
        let reported = asked
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        reported
            .map(|(name, value)| (name.to_owned(), format!("not used ({value} was asked for)")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_split_as_the_documents_split_them() {
        const MIB: u64 = 1 << 20;
        let shares = |total, reading| {
            let memory = Memory::split(total * MIB, reading);
            (memory.write_bytes / MIB, memory.cache_bytes / MIB)
        };
        assert_eq!(shares(4, false), (2, 2));
        assert_eq!(shares(16, true), (8, 8));
        assert_eq!(shares(128, false), (120, 8));
        assert_eq!(shares(128, true), (8, 120));
        assert_eq!(Memory::shares(3, 4).total_bytes, 7);
    }

    #[test]
    fn two_write_buffers_are_allowed_and_a_default_of_64_mb_is_not() {
        const MIB: u64 = 1 << 20;
        let allowed = |total| Memory::split(total * MIB, false).allowed_bytes() / MIB;
        assert!(allowed(128) > 120 + 120 + 8);
        assert!(allowed(4) < 64);
    }
}
