//! Published figures: each is in the page, next to today's.

use serde_json::{Value, json};

use crate::common::{report, row, sheet, with};

const TITLE: &str = "The figures of 2011 and today's";

fn published(text: &str) -> toml::Table {
    toml::from_str(text).expect("well formed")
}

fn page_of_2011() -> toml::Table {
    published(include_str!("../../../published/leveldb-2011.toml"))
}

/// Returns the figures of 2011 as if they had been measured today.
fn measured_today() -> Vec<Value> {
    let mut records = Vec::new();
    for table in page_of_2011()["row"].as_array().expect("rows") {
        let text = |name: &str| table.get(name).and_then(toml::Value::as_str);
        let Some(workload) = text("workload") else {
            continue;
        };
        for (engine, rate) in table["ops"].as_table().expect("figures") {
            let rate = i32::try_from(rate.as_integer().expect("a rate")).expect("small");
            let place = text("place").expect("a section");
            let record = row(engine, place, workload, 1, f64::from(rate));
            let large = if place == "2A" { 100_000 } else { 100 };
            records.push(with(record, "value_bytes", large));
        }
    }
    records
}

fn line<'l>(lines: &'l [Vec<String>], section: &str, store: &str) -> &'l [String] {
    let at = lines
        .iter()
        .position(|line| line[0] == section)
        .expect("a section");
    let mut own = lines[at + 1..].iter().take_while(|line| line.len() > 1);
    own.find(|line| line[0] == store).expect("a store")
}

/// Formats a published rate as the sheet does.
fn thousands(rate: i64) -> String {
    let digits = rate.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn every_figure_of_2011_is_there() {
    let lines = sheet(&measured_today(), TITLE);
    let titles = [
        ("leveldb", "LevelDB"),
        ("kyoto_treedb", "Kyoto TreeDB"),
        ("sqlite3", "SQLite3"),
    ];
    let mut figures = 0;
    for table in page_of_2011()["row"].as_array().expect("rows") {
        let section = table["section"].as_str().expect("a text");
        for (engine, rate) in table["ops"].as_table().expect("figures") {
            let title = titles
                .iter()
                .find(|(name, _)| name == engine)
                .expect("known")
                .1;
            let cells = line(&lines, section, title);
            let rate = thousands(rate.as_integer().expect("a rate"));
            assert_eq!(cells[1], rate, "{section} {title}");
            let number = |name: &str| Some(table.get(name)?.get(engine)?.as_integer()?.to_string());
            let px = number("bar_px").map(|px| format!("{px} px"));
            assert_eq!(cells[7], px.unwrap_or_default(), "{section} {title}");
            let printed = table.get("times_baseline").and_then(|it| it.get(engine));
            assert_eq!(printed.is_some(), !cells[9].is_empty(), "{section} {title}");
            if table.get("workload").is_some() {
                assert_eq!(cells[2], rate, "{section} {title}: today");
                assert_eq!(cells[3], "1.00x");
            }
            figures += 1;
        }
        let note = table.get("note").and_then(toml::Value::as_str);
        assert!(note.is_none_or(|note| lines.contains(&vec![note.to_owned()])));
    }
    assert_eq!(figures, 54);
    for version in page_of_2011()["engines"]
        .as_table()
        .expect("versions")
        .values()
    {
        assert!(lines[0][0].contains(version.as_str().expect("a text")));
    }
}

#[test]
fn what_does_not_follow_from_its_own_document_is_named() {
    let lines = sheet(&measured_today(), TITLE);
    let mut section = "";
    let mut wrong = Vec::new();
    for line in &lines {
        match line.as_slice() {
            [title] => section = title.as_str(),
            [store, .., what] if !what.is_empty() => {
                let place = section.split(' ').next().expect("a word");
                let workload = section.rsplit(": ").next().expect("words");
                wrong.push(format!("{place} {workload}, {store}: {what}"));
            }
            _ => {}
        }
    }
    let expected = [
        "1A sequential reads, Kyoto TreeDB: bar",
        "2C sequential writes, LevelDB: baseline",
        "2C sequential writes, Kyoto TreeDB: baseline",
        "2C random writes, LevelDB: baseline",
        "2C random writes, Kyoto TreeDB: baseline",
        "2D sequential writes, Kyoto TreeDB: bar",
        "3B sequential reads, Kyoto TreeDB: baseline",
    ];
    assert_eq!(wrong, expected);
    let cells = line(
        &lines,
        "3B compression off: sequential reads",
        "Kyoto TreeDB",
    );
    assert_eq!(cells[9..], ["3.60x", "1.22x", "baseline"]);
    // Without rows of these sections, today's columns are empty.
    let lines = sheet(&[row("lmdb", "S", "readhot", 1, 1e6)], TITLE);
    let cells = line(&lines, "1A baseline: sequential reads", "LevelDB");
    assert_eq!(cells[2], "");
}

#[test]
fn every_ratio_of_the_wiredtiger_page_is_there() {
    let mut records = Vec::new();
    for (engine, rate) in [
        ("leveldb", 1e6),
        ("wiredtiger_btree", 5e5),
        ("cairndb", 2e6),
    ] {
        let record = row(engine, "fill", "fillseq", 1, rate);
        records.push(with(record, "suite", "wiredtiger"));
    }
    let lines = sheet(&records, "The WiredTiger page and today's figures");
    let page = published(include_str!("../../../published/wiredtiger.toml"));
    let rows = page["row"].as_array().expect("rows");
    assert_eq!(
        lines.iter().filter(|line| line.len() == 1).count(),
        rows.len()
    );
    let published = rows
        .iter()
        .flat_map(|row| row["times_leveldb"].as_table().expect("ratios"));
    let shown = lines
        .iter()
        .filter(|line| line.len() == 5 && !line[1].is_empty());
    assert_eq!(shown.count(), published.count());
    let section = "sequential insert (the B-tree uses the bulk cursor)";
    assert_eq!(
        line(&lines, section, "WiredTiger B-tree")[1..3],
        ["1.86x", "0.50x"]
    );
    assert_eq!(line(&lines, section, "CairnDB")[1..3], ["", "2.00x"]);
    assert_eq!(
        line(&lines, "reverse read", "WiredTiger LSM")[1],
        "more than 2.00x"
    );
    assert_eq!(
        line(&lines, "reverse read", "LevelDB, reverse to forward")[1],
        "0.46x"
    );
}

#[test]
fn ratios_to_the_baseline_are_those_of_2011() {
    let bases = [
        ("2B", "1C"),
        ("2B random", "1D"),
        ("2C", "1C"),
        ("2D", "1C"),
        ("2E", "1C"),
    ];
    let section = |(name, base): &(&str, &str)| json!({"name": name, "baseline": base});
    let sections: Vec<Value> = bases.iter().map(section).collect();
    let mut lines = vec![json!({"type": "suite", "name": "leveldb-2011", "sections": sections})];
    lines.extend(measured_today());
    let json = report(&lines).json().expect("plain data");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["results"].as_array().expect("rows");
    for (engine, workload, printed) in [
        ("leveldb", "fillseqbatch", "1.08"),
        ("sqlite3", "fillseqbatch", "2.55"),
        ("sqlite3", "fillrandbatch", "0.45"),
    ] {
        let mut own = rows.iter().filter(|row| row["engine"] == engine);
        let row = own
            .find(|row| row["workload"] == workload)
            .expect("measured");
        let times = row["times_baseline"].as_f64().expect("a ratio");
        assert_eq!(format!("{times:.2}"), printed, "{engine} {workload}");
    }
    let text = report(&lines).markdown();
    for sentence in [
        "LevelDB is fastest, 3.99 times Kyoto TreeDB, the next.",
        "Kyoto TreeDB is fastest, 1.13 times SQLite3, the next.",
    ] {
        assert!(text.contains(sentence), "{sentence}");
    }
}
