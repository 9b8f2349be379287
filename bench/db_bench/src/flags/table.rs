//! The table of flags: name, kind, default, meaning. The parser uses only this table.

use bench_core::flags::FlagKind::{Bool, Number, Ratio, Text, Word};
use bench_core::flags::{Flag, flag};
use bench_core::workload::plan::Distribution;

const WHAT: &str = "what runs";
const DATA: &str = "the data";
const STORE: &str = "the store";
const SHOW: &str = "what is shown";

/// The topics of the help, in order.
pub(super) const TOPICS: &[&str] = &[WHAT, DATA, STORE, SHOW];

/// LevelDB's own list.
const BENCHMARKS: &str = "fillseq,fillsync,fillrandom,overwrite,readrandom,readrandom,readseq,\
readreverse,compact,readrandom,readseq,readreverse,fill100K,crc32c,snappycomp,snappyuncomp,\
zstdcomp,zstduncomp";

/// Maximum number of keys: draws have 31 bits.
const KEYS_MAX: i64 = (1 << 31) - 2;
const BYTES_MAX: i64 = 1 << 50;
#[expect(clippy::cast_possible_wrap, reason = "1 MiB")]
const VALUE_MAX: i64 = bench_core::workload::pool::VALUE_BYTES_MAX as i64;
#[expect(clippy::cast_possible_wrap, reason = "a thousand")]
const PREFIX_MAX: i64 = bench_core::workload::key::PREFIX_MAX as i64;

#[expect(clippy::cast_possible_wrap, reason = "128 MiB")]
const MEMORY_LIMIT_MIN: i64 = bench_core::host::memory_group::BYTES_MIN as i64;

/// Codecs that RocksDB's program accepts.
const CODECS: &[&str] = &[
    "none", "snappy", "zlib", "bzip2", "lz4", "lz4hc", "xpress", "zstd",
];

/// Every flag.
#[rustfmt::skip]
pub(crate) static FLAGS: &[Flag] = &[
    flag(WHAT, "benchmarks", Text, BENCHMARKS,
        "comma-separated list of workloads, run in this order over one database"),
    flag(WHAT, "engine", Text, "cairndb", "comma-separated list of engines, or all"),
    flag(WHAT, "against", Text, "",
        "another build of db_bench: runs the engine in both, in turns, and prints for each row the \
         ratio of the rates, its interval and a verdict; exits with 3 if a row is worse"),
    flag(WHAT, "use_lsm", Bool, "1",
        "tree of the engine wiredtiger: 1 wiredtiger_lsm, 0 wiredtiger_btree"),
    flag(WHAT, "num", Number(1, KEYS_MAX), "1000000",
        "number of keys, and the range random keys are drawn from"),
    flag(WHAT, "reads", Number(-1, i64::MAX), "-1",
        "number of reads of each thread; negative: as num"),
    flag(WHAT, "writes", Number(-1, i64::MAX), "-1",
        "number of writes of each thread; negative: as num"),
    flag(WHAT, "deletes", Number(-1, i64::MAX), "-1",
        "number of deletes of each thread; negative: as num"),
    flag(WHAT, "threads", Number(1, 1024), "1",
        "threads of each workload; each does the full count"),
    flag(WHAT, "duration", Number(0, 1_000_000), "0",
        "seconds; above 0 it replaces the count of random workloads"),
    flag(WHAT, "benchmark_write_rate_limit", Number(0, i64::MAX), "0",
        "maximum bytes per second written by fills, or by the writer in readwhilewriting; 0: no \
         limit"),
    flag(WHAT, "benchmark_read_rate_limit", Number(0, i64::MAX), "0",
        "maximum point reads and seeks per second of all threads together; 0: no limit"),
    flag(WHAT, "rounds", Number(1, 1000), "1",
        "number of rounds; the order of the engines differs from round to round"),
    flag(WHAT, "row_timeout", Number(1, 1_000_000), "600",
        "seconds after which a workload is stopped and fails"),
    flag(WHAT, "suite", Text, "",
        "run a suite over every engine and print a summary: quick, leveldb-2011, wiredtiger, \
         rocksdb, ycsb, scale, shapes, deletes, keyspaces, readers, or your own file"),
    flag(WHAT, "aggregate", Word(&["median", "trimmed"]), "",
        "how the rounds of a suite are aggregated: the median, or the mean without the lowest and \
         the highest"),
    flag(WHAT, "resume", Bool, "0", "resume the suite whose results are in the file of --json"),
    flag(WHAT, "add_rounds", Bool, "0",
        "as --resume; to a complete run of the same build and settings, add as many rounds again, \
         and replace any other run"),
    flag(WHAT, "started", Text, "",
        "count a suite's time limits from the modification time of this file, which may precede a \
         build"),
    flag(WHAT, "allocator", Text, "",
        "library that replaces malloc for every engine, such as libtcmalloc.so.4"),
    flag(WHAT, "db", Text, "",
        "directory of the database; without it one folder for each engine below \
         $TEST_TMPDIR/db_bench or /tmp/db_bench-UID, with several engines one below it for each; a \
         suite takes several, with commas, and compares them"),
    flag(WHAT, "use_existing_db", Bool, "0",
        "use the existing database; workloads that need a fresh one are skipped"),
    flag(WHAT, "verify", Bool, "1", "compare every answer with what was written"),
    flag(WHAT, "store", Text, "",
        "URL of the store of the engine etcd or postgres; rows use one beside it, ..._db_bench"),
    flag(WHAT, "leveldb_lib", Text, "", "another build of the LevelDB library"),
    flag(WHAT, "cairndb_lib", Text, "", "another build of CairnDB's C library"),
    flag(WHAT, "kyotocabinet_lib", Text, "", "another build of the Kyoto Cabinet library"),
    flag(WHAT, "rocksdb_lib", Text, "", "another build of the RocksDB library"),
    flag(WHAT, "sqlite3_lib", Text, "", "another build of the SQLite library"),
    flag(WHAT, "lmdb_lib", Text, "", "another build of the LMDB library"),
    flag(WHAT, "wiredtiger_lib", Text, "",
        "another build of the WiredTiger library, of version 3.2"),
    flag(DATA, "value_size", Number(0, VALUE_MAX), "100", "bytes of each value"),
    flag(DATA, "compression_ratio", Ratio(0.01, 1.0), "0.5",
        "values shrink to this fraction when compressed"),
    flag(DATA, "key_prefix", Number(0, PREFIX_MAX), "0", "bytes of a common prefix of all keys"),
    flag(DATA, "key_size", Number(8, 16 + PREFIX_MAX), "16",
        "bytes of each key, with prefix; below 16 only with --keys=rocksdb, not with \
         --data=random"),
    flag(DATA, "seed", Number(0, super::clock_seed::MAX as i64), "1000",
        "added to the running number of each thread to seed its draws; 0: taken from the clock and \
         printed"),
    flag(DATA, "distribution", Word(Distribution::WORDS), "",
        "distribution of random keys; default uniform, for ycsb that of the workload; in a suite, \
         for the sections that set none"),
    flag(DATA, "data", Text, "synthetic",
        "synthetic (LevelDB's pool), json (records that share structure across values), random \
         (keys and values), or a file of lines key<TAB>value, which a suite runs over alone"),
    flag(DATA, "keys", Word(&["leveldb", "rocksdb"]), "leveldb",
        "program whose keys and draws are used: 16 digits, or the index in eight bytes and zeros"),
    flag(DATA, "shuffle", Bool, "0",
        "random workloads take every key once instead of drawing keys"),
    flag(DATA, "batch_size", Number(1, 1_000_000), "",
        "entries of one write or multi-get; default 1, for multireadrandom 100").also(&["batch"]),
    flag(DATA, "seek_nexts", Number(0, 1 << 32), "0",
        "entries that seekrandom reads after each seek"),
    flag(DATA, "reverse_iterator", Bool, "0", "seekrandom reads them backwards"),
    flag(WHAT, "rate", Text, "",
        "open loop: operations of all threads that begin per second, or a percentage of what a closed \
         loop of the row did just before (50%); latencies count from when they should begin"),
    flag(DATA, "keyspaces", Number(0, 65_535), "0",
        "spread the keys in turns over this many named keyspaces; 0: all in the default one"),
    flag(DATA, "ranges", Number(1, 1_000_000), "10", "ranges that deleteranges deletes"),
    flag(DATA, "readwritepercent", Number(0, 100), "90",
        "percentage of reads in readrandomwriterandom"),
    flag(DATA, "mergereadpercent", Number(0, 100), "70",
        "percentage of merges in readrandommergerandom"),
    flag(STORE, "memory", Number(1 << 16, BYTES_MAX), "",
        "total bytes of memory; default 4 MB; split in halves up to 16 MB, above 8 MB for reads \
         and the rest for writes (the other way round with --use_existing_db)"),
    flag(STORE, "memory_limit", Number(MEMORY_LIMIT_MIN, BYTES_MAX), "",
        "bytes that the process may use, with what its files take in the page cache: in a control \
         group, which needs rights"),
    flag(STORE, "cold", Bool, "0",
        "before each row, close the store and drop its files from the page cache"),
    flag(STORE, "write_buffer_size", Number(1 << 12, BYTES_MAX), "", "bytes of it for writes"),
    flag(STORE, "cache_size", Number(-1, BYTES_MAX), "", "bytes of it for reads; negative: half"),
    flag(STORE, "compression", Bool, "1", "compress with the engine's usual codec"),
    flag(STORE, "compression_type", Word(CODECS), "",
        "none switches compression off; any other codec leaves it on, and each engine takes its \
         usual one"),
    flag(STORE, "bloom_bits", Number(-1, 100), "-1",
        "bits per key of a Bloom filter; negative: the engine's default"),
    flag(STORE, "block_size", Number(256, 1 << 30), "",
        "uncompressed bytes of a block or page; not for CairnDB, LMDB and redb")
        .also(&["page_size"]),
    flag(STORE, "max_file_size", Number(1 << 16, BYTES_MAX), "",
        "bytes of a table file; LevelDB and RocksDB only").also(&["target_file_size_base"]),
    flag(STORE, "open_files", Number(-1, 1_000_000), "0",
        "maximum number of open files; 0 or negative: the engine's default; LevelDB and RocksDB \
         only"),
    flag(STORE, "sync", Bool, "0", "every write must survive loss of power"),
    flag(STORE, "variant", Word(&["fair", "seed"]), "fair",
        "settings variant, for engines with two: fair is comparable and ranked, seed is that of \
         the engine's own published page"),
    flag(SHOW, "histogram", Bool, "0",
        "time every operation in a separate pass and print the distribution"),
    flag(SHOW, "stats_interval", Number(0, i64::MAX), "0",
        "operations between two lines of progress in RocksDB's form; 0: LevelDB's form"),
    flag(SHOW, "stats_interval_seconds", Number(0, 1_000_000), "0",
        "minimum seconds between two such lines"),
    flag(SHOW, "report_interval_seconds", Number(0, 1_000_000), "0",
        "write the operations of each interval of this many seconds to --report_file; 0: do not"),
    flag(SHOW, "report_file", Text, "report.csv",
        "file of --report_interval_seconds; it contains only the last workload"),
    flag(SHOW, "format", Word(&["leveldb", "rocksdb"]), "leveldb",
        "program whose header, result lines and histograms are printed"),
    flag(SHOW, "confidence_interval_only", Bool, "0",
        "after each run of a repeated workload print only the confidence interval"),
    flag(SHOW, "statistics", Bool, "0", "print the engine's own counters at the end"),
    flag(SHOW, "json", Text, "",
        "write one JSON object per line to this file as each workload ends"),
    flag(SHOW, "report", Text, "",
        "write index.html, report.md, report.csv and report.json into this directory"),
    flag(SHOW, "render", Text, "",
        "run nothing; make the report of this report.json or file of --json again, next to it or \
         in --report=DIR"),
    flag(SHOW, "compare", Text, "",
        "OLD.json NEW.json: run nothing; compare two files of --json row by row, which is weaker \
         than --against; exits with 3 if a row is worse"),
    flag(SHOW, "csv", Text, "", "write the results as CSV to this file as each workload ends"),
    flag(SHOW, "verbose", Bool, "0",
        "for a suite or --render, print every row and table instead of a summary"),
    flag(SHOW, "help", Bool, "0", "print this"),
    flag(SHOW, "list", Bool, "0",
        "print the engines and whether they are installed, and the workloads"),
    flag(SHOW, "version", Bool, "0", "print the version"),
];
