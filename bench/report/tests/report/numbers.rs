//! Figures, ratios and lengths compared with values computed by hand.

use serde_json::Value;

use crate::common::{report, rounds, row, with};

/// Returns the figures of 2011 as if they had been measured today.
fn page_of_2011() -> Vec<Value> {
    let page: toml::Table =
        toml::from_str(include_str!("../../../published/leveldb-2011.toml")).expect("well formed");
    let rows = page["row"].as_array().expect("rows");
    let mut records = Vec::new();
    for table in rows.iter().filter(|table| table.get("workload").is_some()) {
        let text = |name: &str| table[name].as_str().expect("a text");
        for (engine, rate) in table["ops"].as_table().expect("figures") {
            let rate = rate.as_integer().expect("a rate");
            let rate = f64::from(i32::try_from(rate).expect("small"));
            let mut record = row(engine, text("place"), text("workload"), 1, rate);
            if text("place") == "2A" {
                record = with(record, "value_bytes", 100_000);
            }
            records.push(record);
        }
    }
    records
}

#[test]
fn the_page_of_2011_comes_out_again() {
    let html = report(&page_of_2011()).html();
    for text in [
        "4,030,000 ops/sec",
        "383,000 ops/sec",
        "840,000 entries/sec",
        "(1.08x baseline)",
        "(2.55x baseline)",
        "(0.00013x baseline)",
        "(3.21x baseline)",
        "(0.98x baseline)",
        "LevelDB is fastest, 3.99 times Kyoto TreeDB, the next.",
        "Kyoto TreeDB is fastest, 1.13 times SQLite3, the next.",
    ] {
        assert!(html.contains(text), "{text}");
    }
    // 1,010,000 of 4,030,000.
    assert!(html.contains("width=\"25.06%\""));
    // A printed figure that does not follow.
    assert!(html.contains("3B compression off: sequential reads: Kyoto TreeDB is printed as 3.60x baseline; its rates give 1.22x."));
}

#[test]
fn headings_are_those_of_2011_in_its_order() {
    let html = report(&page_of_2011()).html();
    let headings = [
        "Benchmark Source Code</h2>",
        "Custom Build Specifications</h2>",
        "1. Baseline Performance</h2>",
        "A. Sequential Reads</h3>",
        "B. Random Reads</h3>",
        "C. Sequential Writes</h3>",
        "D. Random Writes</h3>",
        "2. Write Performance under Different Configurations</h2>",
        "A. Large Values</h3>",
        "B. Batch Writes</h3>",
        "C. Synchronous Writes</h3>",
        "D. Turning Compression Off</h3>",
        "E. Using More Memory</h3>",
        "3. Read Performance under Different Configurations</h2>",
        "A. Larger Caches</h3>",
        "B. No Compression Reads</h3>",
        "Acknowledgements</h2>",
    ];
    let mut from = 0;
    for heading in headings {
        let at = html[from..].find(heading);
        from += at.unwrap_or_else(|| panic!("{heading} is missing or out of order"));
    }
}

#[test]
fn ties_are_called_ties() {
    let mut lines = rounds("cairndb", "1D", "fillrandom", 1000.0);
    lines.extend(rounds("leveldb", "1D", "fillrandom", 1005.0));
    lines.extend(rounds("lmdb", "1D", "fillrandom", 500.0));
    let html = report(&lines).html();
    assert!(html.contains("LevelDB and CairnDB tie for first place: their spreads overlap."));
    assert!(html.contains("LMDB is last: LevelDB does 2.01 times as much."));
    assert!(html.contains("CairnDB is ahead in 0 of 1, ties in 1 and is behind in 0."));
    assert!(
        html.contains("Ahead in its middle round, but within the spread: 1D fillrandom (LevelDB).")
    );
}

#[test]
fn events_are_reported_as_times() {
    let mut lines = rounds("cairndb", "1D", "compact", 8.0);
    lines.extend(rounds("leveldb", "1D", "compact", 4.0));
    lines.extend(rounds("lmdb", "1D", "compact", 2.0));
    lines.push(row("sqlite3", "1D", "compact", 1, 1.0));
    let html = report(&lines).html();
    assert!(html.contains("CairnDB is quickest, 2.00 times LevelDB, the next."));
    assert!(html.contains("SQLite3 is last: CairnDB is 8.00 times as quick."));
    assert!(html.contains("lowest 123 ms, figure 125 ms, highest 126 ms, of 3 measurements"));
    assert!(html.contains("1.00 s, measured once"));
}

#[test]
fn losses_are_reported_with_unranked_stores() {
    let mut lines = rounds("cairndb", "1D", "fillrandom", 1000.0);
    lines.extend(rounds("lmdb", "1D", "fillrandom", 4000.0));
    let below = rounds("kyoto_treedb", "1D", "fillrandom", 8000.0);
    lines.extend(
        below
            .into_iter()
            .map(|record| with(with(record, "durability", "below_os"), "ranked", false)),
    );
    let report = report(&lines);
    let html = report.html();
    assert!(
        html.contains("LMDB alone has")
            || html.contains("LMDB is fastest, 4.00 times CairnDB, the next.")
    );
    assert!(html.contains("CairnDB is number 2 of 2: LMDB does 4.00 times as much."));
    assert!(html.contains("Kyoto TreeDB is faster still but not ranked."));
    assert!(html.contains("Kyoto TreeDB, not ranked: below Os"));
    assert!(html.contains(">8.00x<"));
    let csv = report.csv();
    let kyoto = csv
        .lines()
        .find(|line| line.contains("kyoto_treedb"))
        .expect("a line");
    assert!(kyoto.contains(",below_os,ok,,false,median,3,"), "{kyoto}");
}

#[test]
fn rounds_become_the_mean_of_the_middle_three_where_the_suite_says_so() {
    let outline = serde_json::json!({
        "type": "suite", "name": "leveldb-2011", "title": "T", "aggregate": "trimmed",
        "sections": [{"name": "own", "heading": "Own heading", "baseline": "base"}, {"name": "base"}],
    });
    let mut lines = vec![outline];
    let rates = [100.0, 900.0, 200.0, 300.0, 400.0];
    lines.extend(
        (1..)
            .zip(rates)
            .map(|(round, rate)| row("lmdb", "own", "readhot", round, rate)),
    );
    lines.extend(
        (1..)
            .zip(rates)
            .map(|(round, rate)| row("lmdb", "base", "readhot", round, rate / 2.0)),
    );
    let html = report(&lines).html();
    assert!(html.contains("300 ops/sec"), "the mean of 200, 300 and 400");
    assert!(html.contains("100 to 900"));
    assert!(html.contains("(2.00x baseline)"));
    assert!(html.contains("Own heading</h3>"));
}

#[test]
fn costs_are_divided_by_what_they_are_for() {
    let mut record = row("cairndb", "1D", "fillrandom", 1, 1e6);
    for (field, value) in [
        ("cpu_user_ns", 1_500_000_000_u64),
        ("cpu_sys_ns", 500_000_000),
        ("disk_bytes", 58_000_000),
        ("live_bytes", 46_400_000),
        ("engine_write_bytes", 232_000_000),
        ("settle_ns", 1_250_000_000),
        ("anon_rss_peak", 8 << 20),
    ] {
        record = with(record, field, value);
    }
    let html = report(&[record]).html();
    for text in [
        ">2.00 \u{b5}s<",
        ">500 ns<",
        ">1.25<",
        ">2.00<",
        ">1.25 s<",
        ">8.00<",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn rows_in_two_directories_stand_beside_each_other() {
    let mut lines = Vec::new();
    for (place, rate) in [("ext4, /a", 1e6), ("tmpfs, /b", 3e6)] {
        for line in rounds("lmdb", "FS", "fillseq", rate) {
            lines.push(with(line, "file_system", place));
        }
    }
    let html = report(&lines).html();
    assert!(html.contains("The same rows in each directory:"));
    assert!(html.contains(">3.00x<"));
    assert!(html.contains("FS fillseq, on tmpfs, /b"));
    let alone = report(&rounds("lmdb", "FS", "fillseq", 1e6)).html();
    assert!(!alone.contains("in each directory") && !alone.contains("Growth"));
}

#[test]
fn sections_of_growing_size_have_a_chapter() {
    let mut lines = Vec::new();
    for (section, ops, rate) in [("10 M", 10_000_000_u64, 5e5), ("1 M", 1_000_000, 1e6)] {
        for workload in ["fillrandom", "readrandom"] {
            let record = with(row("lmdb", section, workload, 1, rate), "ops", ops);
            let record = with(record, "disk_bytes", 58_000_000);
            lines.push(with(record, "live_bytes", ops * 58));
        }
    }
    let html = report(&lines).html();
    assert!(html.contains("Growth</h2>"));
    assert!(html.contains("1,000,000 entries") && html.contains("10,000,000 entries"));
    assert!(html.contains("fillrandom: space amplification"));
    assert!(html.contains(">0.10x<"), "ten times as much is live");
}
