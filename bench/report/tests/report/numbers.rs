//! Figures, ratios and sentences compared with values computed by hand.

use crate::common::{page, report, rounds, row, sheet, with};

#[test]
fn ties_are_called_ties() {
    let mut lines = rounds("cairndb", "1D", "fillrandom", 1000.0);
    lines.extend(rounds("leveldb", "1D", "fillrandom", 1005.0));
    lines.extend(rounds("lmdb", "1D", "fillrandom", 500.0));
    let text = page(&lines);
    assert!(
        text.contains("CairnDB and LevelDB tie for first place: their spreads overlap.")
            || text.contains("LevelDB and CairnDB tie for first place: their spreads overlap.")
    );
    assert!(
        text.contains("it is ahead in 0 of 1 rows, ties in 1 and is behind in 0."),
        "{text}"
    );
    let lost = sheet(&lines, "Where CairnDB loses");
    let line = [
        "1D fillrandom",
        "LevelDB",
        "1.00k",
        "1.00k",
        "1.00x",
        "within the spread",
    ];
    assert_eq!(lost[0][..2], line[..2]);
    assert_eq!(lost[0][4..], line[4..]);
}

#[test]
fn events_are_reported_as_times() {
    let mut lines = rounds("cairndb", "1D", "compact", 8.0);
    lines.extend(rounds("leveldb", "1D", "compact", 4.0));
    lines.push(row("sqlite3", "1D", "compact", 1, 1.0));
    let text = page(&lines);
    assert!(text.contains("CairnDB is quickest, 2.00 times LevelDB, the next."));
    assert!(text.contains("125 ms\n123 ms to 126 ms"), "{text}");
    assert!(text.contains("SQLite3\n1.00 s"), "{text}");
}

#[test]
fn losses_are_reported_with_unranked_stores() {
    let mut lines = rounds("cairndb", "1D", "fillrandom", 1000.0);
    lines.extend(rounds("lmdb", "1D", "fillrandom", 4000.0));
    let below = rounds("kyoto_treedb", "1D", "fillrandom", 8000.0);
    let below = below
        .into_iter()
        .map(|it| with(with(it, "durability", "below_os"), "ranked", false));
    lines.extend(below);
    let text = page(&lines);
    assert!(text.contains("LMDB is fastest, 4.00 times CairnDB, the next."));
    assert!(text.contains("Kyoto TreeDB is faster still but not ranked."));
    assert!(text.contains("Kyoto TreeDB, not ranked: below Os"));
    let lost = sheet(&lines, "Where CairnDB loses");
    let line = [
        "1D fillrandom",
        "Kyoto TreeDB, not ranked: below Os",
        "8.00k",
        "1.00k",
        "8.00x",
        "",
    ];
    assert_eq!(lost, [line]);
    let csv = report(&lines).csv();
    let kyoto = csv.lines().find(|line| line.contains("kyoto_treedb"));
    assert!(
        kyoto.is_some_and(|line| line.contains(",below_os,ok,,false,median,3,")),
        "{csv}"
    );
}

#[test]
fn rounds_become_the_mean_of_the_middle_three_where_the_suite_says_so() {
    let outline = serde_json::json!({
        "type": "suite", "name": "leveldb-2011", "title": "T", "aggregate": "trimmed",
        "sections": [{"name": "own", "heading": "Own heading", "baseline": "base"}, {"name": "base"}],
    });
    let mut lines = vec![outline];
    let rates = [100.0, 900.0, 200.0, 300.0, 400.0];
    for (section, part) in [("own", 1.0), ("base", 0.5)] {
        let rows = (1..).zip(rates);
        lines.extend(rows.map(|(round, rate)| row("lmdb", section, "readhot", round, rate * part)));
    }
    let text = page(&lines);
    assert!(
        text.contains("LMDB\n300\n100 to 900\n\n2.00x"),
        "the mean of 200, 300 and 400: {text}"
    );
    assert!(text.contains("Own heading"));
}

#[test]
fn the_peers_are_the_five_that_it_is_least_ahead_of() {
    let engines = [
        ("leveldb", 4e5),
        ("rocksdb", 3e5),
        ("sqlite3", 2e5),
        ("lmdb", 2e6),
        ("kyoto_treedb", 1e5),
        ("redb", 5e4),
    ];
    let mut lines = Vec::new();
    for n in 0..8 {
        let section = format!("S{n}");
        lines.extend(rounds("cairndb", &section, "fillseq", 1e6));
        for (engine, rate) in engines {
            lines.extend(rounds(engine, &section, "fillseq", rate));
        }
    }
    // One row is too few for a mean.
    lines.extend(rounds("wiredtiger_btree", "S0", "fillseq", 5e6));
    let data = crate::common::data(&report(&lines).html());
    let peers = data["peers"].as_array().expect("a list").iter();
    let peers: Vec<String> = peers
        .map(|it| format!("{} {} {}", it["title"], it["text"], it["rows"]))
        .collect();
    let expected = [
        "\"LMDB\" \"0.50x\" 8",
        "\"LevelDB\" \"2.50x\" 8",
        "\"RocksDB\" \"3.33x\" 8",
        "\"SQLite3\" \"5.00x\" 8",
        "\"Kyoto TreeDB\" \"10.0x\" 8",
    ];
    assert_eq!(peers, expected);
}

#[test]
fn the_verdict_names_reads_writes_and_costs() {
    let mut lines = Vec::new();
    for (workload, ours) in [("fillseq", 4e6), ("readseq", 1e6)] {
        for (engine, rate, cost) in [("cairndb", ours, 3_u64), ("lmdb", 1e6, 2)] {
            for mut line in rounds(engine, "1C", workload, rate) {
                for field in ["cpu_user_ns", "anon_rss_peak", "disk_bytes"] {
                    line = with(line, field, cost << 30);
                }
                lines.push(line);
            }
        }
    }
    let verdict = "CairnDB is 2.00 times as fast as the best peer of each row (4.00x in writes, 1.00x in reads) \
                   for 1.50x its CPU time, 1.50x its peak memory and 1.50x its disk space, as geometric means; \
                   it is ahead in 1 of 2 rows, ties in 1 and is behind in 0.";
    assert!(page(&lines).contains(verdict), "{}", page(&lines));
}
