//! Helpers that make records and reports, and read what a page shows.

use std::time::Duration;

use bench_report::Report;
use serde_json::{Value, json};

/// Returns a record of one engine in one round, with a given rate in operations per second.
pub(crate) fn row(engine: &str, section: &str, workload: &str, round: u32, rate: f64) -> Value {
    let wall = Duration::from_secs_f64(1e6 / rate);
    let wall_ns = u64::try_from(wall.as_nanos()).expect("less than centuries");
    json!({
        "engine": engine, "engine_version": "1.0", "suite": "leveldb-2011", "section": section,
        "workload": workload, "instance": 1, "round": round, "status": "ok", "durability": "os",
        "ranked": true, "verified": true, "data": "synthetic", "memory_bytes": 4 << 20,
        "key_bytes": 16, "value_bytes": 100, "threads": 1, "ops": 1_000_000,
        "user_bytes": 116_000_000, "wall_ns": wall_ns,
        "options": [["compression", "snappy"]],
    })
}

/// Returns records of three rounds, one and two per cent apart.
pub(crate) fn rounds(engine: &str, section: &str, workload: &str, rate: f64) -> Vec<Value> {
    rated(engine, section, workload, &[0.99 * rate, rate, 1.02 * rate])
}

/// Returns records of as many rounds as there are rates.
pub(crate) fn rated(engine: &str, section: &str, workload: &str, rates: &[f64]) -> Vec<Value> {
    (1..)
        .zip(rates)
        .map(|(round, rate)| row(engine, section, workload, round, *rate))
        .collect()
}

/// Returns a machine line.
pub(crate) fn machine() -> Value {
    json!({
        "type": "machine", "db_bench": "0.1.0", "command": ["db_bench", "--suite=leveldb-2011"],
        "cpu": "Some CPU", "cpus": 2, "kernel": "Linux 6", "file_system": "ext4",
        "write_cache": "write back", "assertions": false, "started_at": 1_311_811_199,
    })
}

/// Returns the report of some lines.
pub(crate) fn report(lines: &[Value]) -> Report {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = lines.join("\n");
    Report::from_text(&text).expect("well formed")
}

/// Returns a record with one field changed.
pub(crate) fn with(mut record: Value, field: &str, value: impl Into<Value>) -> Value {
    record[field] = value.into();
    record
}

/// Returns the data of a page.
pub(crate) fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"data\">").expect("data");
    let (text, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(text).expect("JSON")
}

/// Returns every text that the page of some lines shows, each on a separate line.
pub(crate) fn page(lines: &[Value]) -> String {
    fn collect(value: &Value, texts: &mut Vec<String>) {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(parts) => parts.iter().for_each(|part| collect(part, texts)),
            Value::Object(members) => members.values().for_each(|part| collect(part, texts)),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    collect(&data(&report(lines).html()), &mut texts);
    texts.join("\n")
}

/// Returns the lines of a sheet of the page.
pub(crate) fn sheet(lines: &[Value], title: &str) -> Vec<Vec<String>> {
    let data = data(&report(lines).html());
    let sheets = data["sheets"].as_array().expect("a list");
    let sheet = sheets.iter().find(|sheet| sheet["title"] == title);
    let lines = sheet.map(|sheet| sheet["lines"].clone());
    lines.map_or_else(Vec::new, |lines| {
        serde_json::from_value(lines).expect("texts")
    })
}
