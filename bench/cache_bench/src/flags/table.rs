//! The table of flags, with the defaults of both profiles.

use bench_core::flags::FlagKind::{Bool, Number, Ratio, Text, Word};
use bench_core::flags::{Family, Flag, FlagKind, flag};

/// The caches that `--cache` may name, in the order of `all`.
#[rustfmt::skip]
pub(crate) const NAMES: &[&str] =
    &["null", "lru", "clock", "quick_cache", "moka", "rocksdb_lru", "rocksdb_hyper_clock"];

const BYTES_MAX: i64 = 1 << 50;
const VALUE_MAX: i64 = 1 << 30;
const SEED_MAX: i64 = (1 << 32) - 1;
const PERCENT: FlagKind = Number(0, 100);

pub(super) const CLASSIC: &str = "Flags of RocksDB 5.x";
pub(super) const LATER: &str = "Flags of newer versions (each chooses --profile=modern)";
pub(super) const OURS: &str = "Flags of this program only";

/// The headings of the help, in order.
pub(super) const TOPICS: &[&str] = &[CLASSIC, LATER, OURS];

/// Defaults of the modern profile that differ.
#[rustfmt::skip]
pub(super) const MODERN: &[(&str, &str)] = &[
    ("cache_size", "1073741824"), ("erase_percent", "1"), ("insert_percent", "2"),
    ("lookup_insert_percent", "87"), ("lookup_percent", "10"), ("max_key", ""),
    ("num_shard_bits", "6"), ("ops_per_thread", "2000000"), ("populate_cache", "1"), ("skew", "5"),
    ("value_bytes", "8192"),
];

/// Returns the flags that 5.x did not have.
pub(super) fn newer() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().filter(|flag| flag.topic == LATER)
}

/// All flags.
#[rustfmt::skip]
pub(crate) static FAMILY: Family = Family {
    flags: FLAGS,
    model: "RocksDB's cache_bench",
    tolerated_valued: &[
        "compressible_to_ratio", "degenerate_hash_bits", "eviction_effort_cap",
        "gather_stats_entries_per_lock", "gather_stats_sleep_ms",
        "jemalloc_no_dump_allocator_num_arenas", "pinned_ratio", "sck_days_per_run", "sck_db_count",
        "sck_file_size_mb", "sck_files_per_day", "sck_keep_bits", "sck_min_collision",
        "sck_newdb_nreopen", "sck_reopen_nfiles", "sck_restarts_per_day", "sck_table_bits",
        "secondary_cache_uri", "stress_cache_instances", "usleep", "value_bytes_estimate",
        "vary_capacity_ratio",
    ],
    refused: &[],
    tolerated_switches: &[
        "early_exit", "gather_stats", "jemalloc_no_dump_allocator_limit_tcache_size",
        "report_problems", "sck_footer_unique_id", "sck_randomize", "skewed", "stress_cache_key",
        "use_jemalloc_no_dump_allocator",
    ],
};

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(CLASSIC, "cache_size", Number(1, BYTES_MAX), "8388608",
        "Number of bytes to use as a cache of uncompressed data."),
    flag(CLASSIC, "erase_percent", PERCENT, "10",
        "Ratio of erase to total workload (expressed as a percentage)"),
    flag(CLASSIC, "insert_percent", PERCENT, "40",
        "Ratio of insert to total workload (expressed as a percentage)"),
    flag(CLASSIC, "lookup_percent", PERCENT, "50",
        "Ratio of lookup to total workload (expressed as a percentage)"),
    flag(CLASSIC, "max_key", Number(1, i64::MAX), "1073741824",
        "Max number of key to place in cache"),
    flag(CLASSIC, "num_shard_bits", Number(-1, 19), "4",
        "shard_bits. Negative: each cache's own choice"),
    flag(CLASSIC, "ops_per_thread", Number(1, i64::MAX), "1200000",
        "Number of operations per thread."),
    flag(CLASSIC, "populate_cache", Bool, "0", "Populate cache before operations"),
    flag(CLASSIC, "threads", Number(1, 4096), "16",
        "Number of concurrent threads to run."),
    flag(CLASSIC, "use_clock_cache", Bool, "0", "the same as --cache=clock"),

    flag(LATER, "blind_insert_percent", PERCENT, "0",
        "Ratio of insert without keeping the value to total workload (expressed as a percentage)"),
    flag(LATER, "cache_type", Word(&["lru_cache", "clock_cache", "hyper_clock_cache"]),
        "lru_cache",
        "lru_cache is --cache=lru, the others are --cache=clock"),
    flag(LATER, "histograms", Bool, "1", "Whether to measure and print latencies."),
    flag(LATER, "lean", Bool, "0",
        "Fill and check only the first eight bytes of each value."),
    flag(LATER, "lookup_insert_percent", PERCENT, "0",
        "Ratio of lookup (+ insert on not found) to total workload (expressed as a percentage)"),
    flag(LATER, "resident_ratio", Ratio(1e-9, 1e9), "0.25",
        "Ratio of keys fitting in cache to keyspace; determines max_key if that is not given."),
    flag(LATER, "seed", Number(0, SEED_MAX), "1000",
        "Thread t draws from seed + t. 0 = choose at random, and print it"),
    flag(LATER, "skew", Number(0, 1000), "0",
        "Degree of skew in key selection: the smallest of skew + 1 draws. 0 = no skew"),
    flag(LATER, "value_bytes", Number(1, VALUE_MAX), "10", "Size of each value added."),

    flag(OURS, "cache", Text, "lru",
        "comma-separated list of caches, or all: null, lru, clock, quick_cache, moka, rocksdb_lru, \
         rocksdb_hyper_clock. The last two run RocksDB's own cache_bench; all takes them if it is \
         installed"),
    flag(OURS, "help", Bool, "0", "print this"),
    flag(OURS, "json", Text, "",
        "write one JSON object per line to this file as each run ends"),
    flag(OURS, "latency_ops", Number(-1, i64::MAX), "-1",
        "operations per thread of the latency pass; negative: a tenth of ops_per_thread; 0: no latency pass"),
    flag(OURS, "profile", Word(&["classic", "modern"]), "classic",
        "whose defaults apply: RocksDB 5.x or 7.8; modern if a flag of newer versions is given"),
    flag(OURS, "rocksdb_cache_bench", Text, "",
        "RocksDB's own program; without this flag it is looked for in PATH"),
    flag(OURS, "rounds", Number(1, 1000), "1",
        "how often each cache runs, in rotating order; the table shows median, lowest and highest"),
    flag(OURS, "timeout", Number(1, 1 << 30), "600",
        "seconds after which a run is killed and counted as failed"),
    flag(OURS, "version", Bool, "0", "print the version"),
    flag(OURS, "warmup_ops", Number(0, i64::MAX), "0",
        "operations per thread before those that are measured"),
];
