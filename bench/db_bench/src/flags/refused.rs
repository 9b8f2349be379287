//! Flags of other programs that would change what is measured in ways that no row here supports.
//! Values that state the actual behaviour are accepted silently.

use bench_core::flags::Refused;

type Words = &'static [&'static str];

const fn valued(name: &'static str, harmless: Words, reason: &'static str) -> Refused {
    Refused {
        name,
        switch: false,
        harmless,
        reason,
    }
}

const fn switch(name: &'static str, harmless: Words, reason: &'static str) -> Refused {
    Refused {
        switch: true,
        ..valued(name, harmless, reason)
    }
}

/// A parameter of `mixgraph`, which has the published setting.
const fn graph(name: &'static str, published: Words) -> Refused {
    let reason = "mixgraph has the published setting, and --data=pareto its values";
    valued(name, published, reason)
}

/// All refused flags of LevelDB's, RocksDB's and related programs.
#[rustfmt::skip]
pub(super) const FLAGS: &[Refused] = &[
    switch("WAL_enabled", &["1"],
        "SQLite keeps its write-ahead log in every row; without it a write is not comparable"),
    switch("cleanmem", &["0"],
        "rows read what the previous rows left in memory; a round starts with an empty directory"),
    switch("disable_wal", &["0"],
        "every acknowledged write must survive the end of its process, in every engine alike"),
    switch("intkey", &["0"], "keys are the same bytes for every engine"),
    graph("iter_k", &["2.517"]),
    graph("iter_sigma", &["14.236"]),
    graph("iter_theta", &["0"]),
    graph("key_dist_a", &["0.002312"]),
    graph("key_dist_b", &["0.3467"]),
    graph("keyrange_dist_a", &["14.18"]),
    graph("keyrange_dist_b", &["-2.917"]),
    graph("keyrange_dist_c", &["0.0164"]),
    graph("keyrange_dist_d", &["-0.08082"]),
    graph("keyrange_num", &["30"]),
    graph("mix_get_ratio", &["0.83"]),
    graph("mix_max_scan_len", &["10000"]),
    graph("mix_max_value_size", &["1024"]),
    graph("mix_put_ratio", &["0.14"]),
    graph("mix_seek_ratio", &["0.03"]),
    graph("value_k", &["0.2615"]),
    graph("value_sigma", &["25.45"]),
    graph("value_theta", &["0"]),
    valued("max_compact_wait", &[],
        "compact and waitforcompaction wait until compaction has ended; --row_timeout limits a \
         row"),
    valued("max_scan_distance", &["0"], "--seek_nexts sets how many entries are read after a seek"),
    valued("merge_operator", &["", "max"], "merging keeps the greater value, in every engine"),
    switch("metasync", &[], "LMDB writes without syncs, or in synchronous rows with all syncs"),
    switch("no_transaction", &["0"], "a batch is one transaction, and so is a single write"),
    valued("num_column_families", &["1", "0"], "--keyspaces=N is for every engine that has them"),
    valued("num_multi_db", &["0", "1"],
        "a list runs over one database; --engine and --rounds run several"),
    valued("num_pages", &[], "--cache_size or --memory sets it in bytes, for every engine alike"),
    switch("open_as_follower", &["0"], "a row opens its own database"),
    switch("optimistic_transaction_db", &["0"],
        "workloads put, get and delete without transactions"),
    valued("options_file", &[""],
        "the flags here set every engine alike; Options shows what is in effect"),
    switch("readahead", &["1"], "LMDB reads ahead as the system does"),
    switch("readonly", &["0"],
        "not every engine can be opened read-only; with --use_existing_db, reading rows do not \
         change the data"),
    switch("sine_mix_rate", &["0"], "--rate sets one rate for all of a row"),
    switch("sine_write_rate", &["0"], "--rate sets one rate for all of a row"),
    switch("stagger", &["0"], "the threads of a row start together"),
    valued("trace_file", &[""], "nothing is traced; --json has each result"),
    switch("transaction_db", &["0"], "workloads put, get and delete without transactions"),
    valued("ttl_seconds", &["0"],
        "entries do not expire here: every answer is compared with what was written"),
    switch("use_blob_db", &["0"],
        "RocksDB is opened without it; CairnDB always stores large values separately"),
    switch("use_existing_keys", &["0"],
        "keys are drawn from all of --num, and the line shows how many were found"),
    switch("use_rowids", &["0"],
        "the key is the table's primary key, and row numbers exist only if entries exceed a page"),
    switch("use_secondary_db", &["0"], "a row opens its own database"),
    valued("user_timestamp_size", &["0"], "keys are the same bytes for every engine"),
    valued("value_size_distribution_type", &["fixed"],
        "values of a row have one size, --value_size; with --data=FILE each has its own"),
    switch("writemap", &[], "LMDB writes through its map in unsynced rows only"),
    valued("writes_per_second", &["0"], "--benchmark_write_rate_limit sets it in bytes per second"),
];
