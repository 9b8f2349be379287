//! The part of the chapter on biases that is computed from the records.

use serde_json::{Value, json};

use crate::common::{report, rounds, with};

/// Rows of an engine with one of its options.
fn reported(engine: &str, workload: &str, rate: f64, option: [&str; 2]) -> Vec<Value> {
    let rows = rounds(engine, "1B", workload, rate);
    let with_option = |row| with(row, "options", json!([option]));
    rows.into_iter().map(with_option).collect()
}

#[test]
fn rows_in_which_only_ours_has_filters_are_named() {
    let mut lines = Vec::new();
    for workload in ["readrandom", "readmissing", "readseq"] {
        lines.extend(reported("cairndb", workload, 2e6, ["filter_bits", "10"]));
        lines.extend(reported("leveldb", workload, 1e6, ["bloom_bits", "none"]));
        lines.extend(reported(
            "rocksdb",
            workload,
            1e6,
            ["filter_policy", "nullptr"],
        ));
    }
    let named = "In the following rows that look up keys, CairnDB has filters, LevelDB and RocksDB do not, and \
                 no variant of theirs has: 1B (readrandom, readmissing).";
    let html = report(&lines).html();
    assert!(html.contains(named));
    assert!(html.contains("No row of this run shows those stores with filters."));
    for workload in ["readrandom", "readmissing"] {
        for (engine, option) in [
            ("leveldb", ["bloom_bits", "10"]),
            ("rocksdb", ["filter_policy", "bloomfilter"]),
        ] {
            let rows = reported(engine, workload, 1e6, option);
            lines.extend(rows.into_iter().map(|row| with(row, "variant", "bloom10")));
        }
    }
    let html = report(&lines).html();
    assert!(!html.contains("In the following rows that look up keys"));
    assert!(html.contains("The rows in which they have filters too (bloom10) are the fairer"));
}

#[test]
fn the_table_of_sqlite_is_reported_where_sqlite_is() {
    const TITLE: &str = "The table of SQLite hurts it";
    let mut lines = rounds("cairndb", "1D", "fillrandom", 1e6);
    assert!(!report(&lines).html().contains(TITLE));
    lines.extend(rounds("sqlite3", "1D", "fillrandom", 1e5));
    let html = report(&lines).html();
    assert!(html.contains(TITLE) && html.contains("No row of this run has the old table."));
    let old = rounds("sqlite3", "1D", "fillrandom", 1e5);
    for row in old {
        lines.push(with(with(row, "variant", "seed"), "ranked", false));
    }
    let html = report(&lines).html();
    assert!(
        html.contains("The rows of the variant seed, which are not ranked, have the old table.")
    );
}

#[test]
fn memory_that_belongs_to_the_system_is_compared_too() {
    let mut lines = Vec::new();
    for (engine, mapped) in [("cairndb", 64_u64 << 20), ("leveldb", 8 << 20)] {
        for row in rounds(engine, "1B", "readrandom", 1e6) {
            let row = with(row, "mapped_rss_peak", mapped);
            lines.push(with(row, "page_cache_bytes", mapped / 2));
        }
    }
    let markdown = report(&lines).markdown();
    for title in ["mapped MB, peak", "page cache MB"] {
        let line = format!("| {title} | 1 of 1 |");
        assert!(markdown.contains(&line), "{title}");
    }
}

#[test]
fn what_reads_as_loaded_find_is_reported() {
    let html = report(&rounds("cairndb", "1A", "readseq", 1e6)).html();
    assert!(html.contains("Waiting until stores are idle favours CairnDB in reads as loaded."));
}
