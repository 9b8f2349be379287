//! An open database.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::Instant;

use bench_core::engine::{Durability, Quiet, Role, Store, Variant};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use tidesdb::{
    CfStats, ColumnFamily, ColumnFamilyConfig, CompressionAlgorithm, Config, LogLevel, SyncMode,
    TidesDB,
};

use crate::calls::{PATIENCE, PAUSE, fault, retry};
use crate::session::TidesSession;

/// The only column family, if the row has no keyspaces. The authors' benchmark calls it so.
const FAMILY: &str = "default";
/// Time between two syncs of the log in `Os` rows, in microseconds: a day.
const SYNC_INTERVAL: u64 = 86_400_000_000;
/// Share of absent keys that a filter of one bit per key lets pass; the power of the bits.
const PASSED_PER_BIT: f64 = 0.618_5;
/// Number of levels that a column family can have, and so of passes that move all data to the last.
const LEVELS: usize = 8;

/// Converts a size to the library's `size_t`.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Returns the options of the database.
fn config(dir: &Path, settings: &Settings) -> Config {
    let mode = match (settings.durability, settings.variant) {
        (Durability::Sync, _) => SyncMode::Full,
        (Durability::Os, Variant::Fair) => SyncMode::Interval,
        (Durability::Os, Variant::Seed) => SyncMode::None,
    };
    let config = Config::new(dir)
        .log_level(LogLevel::None)
        .memtable_sync_mode(mode)
        .memtable_sync_interval_us(SYNC_INTERVAL)
        .memtable_write_buffer_size(size(settings.memory.write_bytes))
        .block_cache_size(size(settings.memory.cache_bytes));
    match settings.open_files {
        Some(files) => config.max_open_sstables(size(files.into())),
        None => config,
    }
}

/// Returns the options of each column family.
fn family_config(settings: &Settings) -> ColumnFamilyConfig {
    let codec = if settings.compression {
        CompressionAlgorithm::Lz4
    } else {
        CompressionAlgorithm::None
    };
    let mut config = ColumnFamilyConfig::default().compression_algorithm(codec);
    if let Some(bits) = settings.bloom_bits {
        config = config.enable_bloom_filter(bits > 0);
        if bits > 0 {
            config = config.bloom_fpr(PASSED_PER_BIT.powf(bits.into()));
        }
    }
    match settings.block_bytes {
        Some(bytes) => config.btree_klog_block_size(size(bytes)),
        None => config,
    }
}

/// An open database.
pub struct TidesStore {
    database: TidesDB,
    names: Vec<String>,
    config: Config,
    settings: Settings,
}

impl fmt::Debug for TidesStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TidesStore").finish_non_exhaustive()
    }
}

impl TidesStore {
    /// Opens or creates a database.
    pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let config = config(dir, settings);
        let database = TidesDB::open(config.clone()).map_err(fault)?;
        let mut names: Vec<String> = settings.keyspace_names().collect();
        if names.is_empty() {
            names.push(FAMILY.to_owned());
        }
        let options = family_config(settings);
        for name in &names {
            match database.get_column_family(name) {
                // The stored options may be those of another row.
                Ok(family) => {
                    let change = || family.update_runtime_config(&options, true);
                    retry(change).map_err(fault)?;
                }
                Err(error) if error.is_not_found() => {
                    let create = database.create_column_family(name, options.clone());
                    create.map_err(fault)?;
                }
                Err(error) => return Err(fault(error)),
            }
        }
        Ok(Self {
            database,
            names,
            config,
            settings: *settings,
        })
    }

    /// Returns the column families in the order of their names.
    fn families(&self) -> Result<Vec<ColumnFamily<'_>>, Fault> {
        let names = self.names.iter();
        let families = names.map(|name| self.database.get_column_family(name));
        families.collect::<tidesdb::Result<_>>().map_err(fault)
    }
}

/// Compacts a column family until all its tables are in one level.
///
/// A pass merges some of the levels, or rewrites the last one if it is the only one.
fn compact(family: &ColumnFamily<'_>) -> Result<(), Fault> {
    for _ in 0..LEVELS {
        retry(|| family.compact()).map_err(fault)?;
        let stats = family.get_stats().map_err(fault)?;
        let filled = stats
            .level_num_sstables
            .iter()
            .filter(|&&tables| tables > 0);
        if filled.count() <= 1 {
            break;
        }
    }
    Ok(())
}

impl Store for TidesStore {
    type Session<'s> = TidesSession<'s>;

    fn session(&self, _role: Role) -> Result<TidesSession<'_>, Fault> {
        TidesSession::new(&self.database, self.families()?)
    }

    fn compact(&mut self) -> Result<(), Fault> {
        self.flush()?;
        self.families()?.iter().try_for_each(compact)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        retry(|| self.database.flush_memtable()).map_err(fault)
    }

    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        let name = &self.names[index as usize];
        self.database.drop_column_family(name).map_err(fault)
    }

    /// Waits until nothing is queued or running. Its threads cannot be watched, because some wake
    /// up by a clock; what starts after a look is seen by the counts.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        // Without those that have been dropped.
        let names = self.names.iter();
        let families = names.filter_map(|name| self.database.get_column_family(name).ok());
        let families: Vec<_> = families.collect();
        let begin = Instant::now();
        loop {
            let stats = self.database.get_db_stats().map_err(fault)?;
            let busy = stats.is_flushing
                || stats.compaction_pending_count > 0
                || families.iter().any(ColumnFamily::is_compacting);
            if !busy || begin.elapsed() > PATIENCE {
                return Ok(Quiet::Progress(stats.flush_count + stats.compaction_count));
            }
            thread::park_timeout(PAUSE);
        }
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        let stats = self.database.get_db_stats().ok()?;
        let cache = self.database.get_cache_stats().ok()?;
        let families = self.families().ok()?;
        let levels = |stats: CfStats| format!("{} {:?}", stats.name, stats.level_num_sstables);
        let levels = families.iter().map(|family| family.get_stats().map(levels));
        let levels = levels.collect::<tidesdb::Result<Vec<_>>>().ok()?;
        Some(format!(
            "flushes {}, compactions {}, bytes compacted {}, tables {}, full memtables {}, cached \
             bytes {}, writers delayed {}, writers blocked {}, microseconds of both {}, tables by \
             level: {}",
            stats.flush_count,
            stats.compaction_count,
            stats.compaction_bytes_written,
            stats.total_sstable_count,
            stats.immutable_memtable_count,
            cache.total_bytes,
            stats.writes_throttled,
            stats.writes_blocked,
            stats.write_stall_us,
            levels.join(", "),
        ))
    }

    fn bytes_written(&self) -> Option<u64> {
        let stats = self.database.get_db_stats().ok()?;
        let tables = stats.flush_bytes_written + stats.compaction_bytes_written;
        Some(stats.wal_bytes_written + tables + stats.vlog_bytes_written)
    }

    /// Returns the options of the first column family as the library reports them, and those of the
    /// database as requested, because it does not report these.
    fn options(&self) -> Vec<(String, String)> {
        let config = &self.config;
        let mode = match config.memtable_sync_mode {
            SyncMode::None => "None (default): written by another thread, later",
            SyncMode::Interval => "Interval: written before each return, synced once a day",
            SyncMode::Full => "Full: synced before each return",
        };
        let mut reported = vec![
            ("block_cache_size", config.block_cache_size.to_string()),
            (
                "memtable_write_buffer_size",
                config.memtable_write_buffer_size.to_string(),
            ),
            ("memtable_sync_mode", mode.to_owned()),
            ("num_flush_threads", config.num_flush_threads.to_string()),
            (
                "num_compaction_threads",
                config.num_compaction_threads.to_string(),
            ),
            ("max_open_sstables", config.max_open_sstables.to_string()),
            (
                "value_separation_threshold",
                config.value_separation_threshold.to_string(),
            ),
        ];
        let family = self.database.get_column_family(&self.names[0]);
        if let Ok(stats) = family.and_then(|family| family.get_stats()) {
            let family = stats.config;
            let filter = if family.enable_bloom_filter {
                family.bloom_fpr.to_string()
            } else {
                "none".to_owned()
            };
            reported.extend([
                (
                    "encoding_pipeline",
                    format!("{:?}", family.encoding_pipeline),
                ),
                ("bloom_fpr", filter),
                (
                    "btree_klog_block_size",
                    family.btree_klog_block_size.to_string(),
                ),
            ]);
        }
        let unused = Settings {
            block_bytes: None,
            open_files: None,
            ..self.settings
        };
        let reported = reported
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        reported.chain(unused.unused()).collect()
    }
}
