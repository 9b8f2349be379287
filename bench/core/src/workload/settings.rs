//! The settings of a store: the same total memory for every engine, split as each can.

use serde::{Deserialize, Serialize};

use crate::workload::durability::Durability;

/// The default total: section 1 of the 2011 document.
pub const MEMORY_BYTES_DEFAULT: u64 = 4 << 20;

const HALVES_UP_TO: u64 = 16 << 20;
const SMALL_SIDE: u64 = 8 << 20;
/// Allowed to every store in addition to twice its setting.
const OVERHEADS_BYTES: u64 = 48 << 20;

/// The memory of a store, and the two shares for engines that divide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Everything together.
    pub total_bytes: u64,
    /// For writes that are not yet in a table.
    pub write_bytes: u64,
    /// For reads.
    pub cache_bytes: u64,
}

impl Memory {
    /// The split of a total: halves up to 16 MB; above, 8 MB for the cache and the rest for writes,
    /// or the other way round for a store that is only going to be read.
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

    /// Halves, for a store that is written and read at the same time.
    pub const fn even(total_bytes: u64) -> Self {
        Self::shares(total_bytes - total_bytes / 2, total_bytes / 2)
    }

    /// Given shares, whose sum is the total.
    pub const fn shares(write_bytes: u64, cache_bytes: u64) -> Self {
        Self {
            total_bytes: write_bytes + cache_bytes,
            write_bytes,
            cache_bytes,
        }
    }

    /// Anonymous memory that a store may use above the harness's own before it counts as ignoring
    /// its setting: twice the total and 48 MiB.
    ///
    /// Every store has overheads: a full write buffer waits while the next one fills, tables have
    /// indexes, allocators keep pages. LevelDB and RocksDB take two write buffers and the cache.
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
    /// Comparable with all others: the same durability, checksums on. Ranked.
    #[default]
    Fair,
    /// As in the engine's own published page, whatever it gave up for that. Not ranked.
    Seed,
}

impl Variant {
    /// The word of the flag and of the result record.
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
    /// Bits a key of a Bloom filter, 0 for none, `None` for the engine's default.
    pub bloom_bits: Option<u32>,
    /// Uncompressed bytes of a block or page, where the engine has such a setting.
    pub block_bytes: Option<u64>,
    /// Largest table file, where the engine has such a setting.
    pub file_bytes: Option<u64>,
    /// Most files held open, where the engine has such a setting.
    pub open_files: Option<u32>,
    /// Whether the engine shall keep statistics that cost time with every operation.
    pub statistics: bool,
    /// What the writes of the coming rows must survive.
    pub durability: Durability,
    /// Which of the engine's sets of settings.
    pub variant: Variant,
    /// Entries the store will hold at most.
    pub entries: u64,
    /// Bytes of a key.
    pub key_bytes: usize,
    /// Bytes of a value of most rows.
    pub value_bytes: usize,
}

impl Settings {
    /// The settings of LevelDB's program with `memory`, for one entry: a start for an adapter's
    /// tests.
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
        }
    }

    /// The requested block size, file size and number of open files, as reported by an engine that
    /// has no such settings.
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
