//! The table of a suite: a line for each row, a column for each engine, and what the writes cost.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bench_core::line::median;
use bench_core::record::{Record, Status};

const OURS: &str = "cairndb";
const HARNESS: &str = "null";
const CELL: usize = 20;
const LABEL: usize = 24;
/// Behind figures that are shown and not compared.
const UNRANKED: &str = "*";
const MIB: f64 = 1_048_576.0;

/// Rows in the order they first ended, each with all its records.
#[derive(Debug, Default)]
pub(crate) struct Results {
    sections: Vec<(String, Vec<Row>)>,
}

#[derive(Debug)]
struct Row {
    label: String,
    records: Vec<Record>,
}

impl Results {
    /// Adds a record under its section and label.
    pub(crate) fn add(&mut self, section: &str, label: &str, record: Record) {
        let at = self.sections.iter().position(|(name, _)| name == section);
        let at = at.unwrap_or_else(|| {
            self.sections.push((section.to_owned(), Vec::new()));
            self.sections.len() - 1
        });
        let rows = &mut self.sections[at].1;
        match rows.iter_mut().find(|row| row.label == label) {
            Some(row) => row.records.push(record),
            None => rows.push(Row {
                label: label.to_owned(),
                records: vec![record],
            }),
        }
    }

    /// Whether any row failed.
    pub(crate) fn any_failed(&self) -> bool {
        let rows = self.sections.iter().flat_map(|(_, rows)| rows);
        rows.flat_map(|row| &row.records)
            .any(|record| record.status == Status::Failed)
    }
}

/// What the table is about.
#[derive(Debug)]
pub(crate) struct Shape<'c> {
    /// Columns.
    pub(crate) engines: &'c [String],
    /// Entries.
    pub(crate) num: u64,
    /// Rounds that were run.
    pub(crate) rounds: u32,
}

/// Lowest, middle and highest of some measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    low: f64,
    middle: f64,
    high: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        Some(Self {
            low,
            middle: median(values),
            high,
        })
    }

    const fn meets(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

impl Row {
    fn of<'r>(&'r self, engine: &'r str) -> impl Iterator<Item = &'r Record> {
        self.records
            .iter()
            .filter(move |record| record.engine == engine)
    }

    fn rates(&self, engine: &str) -> Option<Spread> {
        let good = self.of(engine).filter(|record| record.status == Status::Ok);
        Spread::of(&good.filter_map(Record::rate).collect::<Vec<_>>())
    }

    /// Whether an engine's figures may be compared; those of the harness itself have no mark.
    fn is_ranked(&self, engine: &str) -> bool {
        engine == HARNESS || self.of(engine).all(|record| record.ranked != Some(false))
    }

    /// A figure's median over the rounds.
    #[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
    fn middle(&self, engine: &str, figure: impl Fn(&Record) -> Option<u64>) -> Option<f64> {
        let values: Vec<f64> = self
            .of(engine)
            .filter_map(figure)
            .map(|value| value as f64)
            .collect();
        (!values.is_empty()).then(|| median(&values))
    }
}

/// Rows that are events: shown as a time, not as a rate.
fn is_event(label: &str) -> bool {
    matches!(label, "compact" | "open")
}

/// A rate, or the time of an event, with three digits.
pub(crate) fn amount(label: &str, rate: f64) -> String {
    if is_event(label) {
        time(1.0 / rate)
    } else {
        short(rate)
    }
}

fn digits(value: f64) -> String {
    let decimals = usize::from(value < 10.0) + usize::from(value < 100.0);
    format!("{value:.decimals$}")
}

fn short(rate: f64) -> String {
    if rate >= 1e6 {
        format!("{}M", digits(rate / 1e6))
    } else if rate >= 1e3 {
        format!("{}k", digits(rate / 1e3))
    } else {
        digits(rate)
    }
}

fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{}s", digits(seconds))
    } else if seconds >= 1e-3 {
        format!("{}ms", digits(seconds * 1e3))
    } else {
        format!("{}us", digits(seconds * 1e6))
    }
}

/// Median and spread of one engine's row, or why there is none.
fn cell(row: &Row, engine: &str, absent: bool) -> String {
    if absent {
        return "absent".into();
    }
    if row.of(engine).any(|record| record.status == Status::Failed) {
        return "FAILED".into();
    }
    let Some(spread) = row.rates(engine) else {
        return if row.of(engine).next().is_some() {
            "skipped".into()
        } else {
            "-".into()
        };
    };
    let (first, last) = if is_event(&row.label) {
        (spread.high, spread.low)
    } else {
        (spread.low, spread.high)
    };
    let show = |rate| amount(&row.label, rate);
    let mark = if row.is_ranked(engine) { "" } else { UNRANKED };
    format!(
        "{} ({}-{}){mark}",
        show(spread.middle),
        show(first),
        show(last)
    )
}

/// Our rate over the best peer's, the peer, and whether the difference is inside the spread.
fn ratio(row: &Row, engines: &[String]) -> String {
    let peers = engines
        .iter()
        .filter(|name| *name != OURS && *name != HARNESS && row.is_ranked(name));
    let best = peers
        .filter_map(|name| Some((name, row.rates(name)?)))
        .max_by(|a, b| a.1.middle.total_cmp(&b.1.middle));
    match (row.rates(OURS), best) {
        (Some(ours), Some((name, theirs))) => {
            let tie = if ours.meets(theirs) { " (tie)" } else { "" };
            format!("{:.2}x {name}{tie}", ours.middle / theirs.middle)
        }
        _ => "-".into(),
    }
}

/// The whole text.
pub(crate) fn render(
    shape: &Shape<'_>,
    results: &Results,
    absent: &BTreeMap<String, String>,
    notes: &[String],
) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail, here and below.
    for (name, rows) in &results.sections {
        let _ = writeln!(
            text,
            "
{name} of memory, {} entries, {} round{}: operations a second, median (lowest-highest)",
            shape.num,
            shape.rounds,
            if shape.rounds == 1 { "" } else { "s" }
        );
        head(&mut text, shape.engines, "cairndb / best peer");
        for row in rows {
            let _ = write!(text, "{:<LABEL$}", row.label);
            for engine in shape.engines {
                let _ = write!(
                    text,
                    " {:>CELL$}",
                    cell(row, engine, absent.contains_key(engine))
                );
            }
            let _ = writeln!(text, "  {}", ratio(row, shape.engines));
        }
        costs(&mut text, name, rows, shape);
    }
    reasons(&mut text, results);
    for (engine, reason) in absent {
        let _ = writeln!(text, "absent: {engine}: {reason}");
    }
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text.push('\n');
    for (subject, rule) in RULES {
        let _ = writeln!(text, "{subject:<11} {rule}");
    }
    text
}

fn head(text: &mut String, engines: &[String], last: &str) {
    let _ = write!(text, "{:<LABEL$}", "");
    for engine in engines {
        let _ = write!(text, " {engine:>CELL$}");
    }
    let _ = writeln!(text, "  {last}");
}

/// What writing rows cost beside their time.
fn costs(text: &mut String, name: &str, rows: &[Row], shape: &Shape<'_>) {
    let _ = writeln!(
        text,
        "\n{name} of memory, what the rows left behind: seconds until quiet, MB on disk, bytes written over raw bytes, MB anonymous"
    );
    head(text, shape.engines, "");
    let settled = |row: &&Row| row.records.iter().any(|record| record.settle_ns.is_some());
    for row in rows.iter().filter(settled) {
        let _ = write!(text, "{:<LABEL$}", row.label);
        for engine in shape.engines {
            let _ = write!(text, " {:>CELL$}", cost(row, engine));
        }
        text.push('\n');
    }
}

fn cost(row: &Row, engine: &str) -> String {
    let figure =
        |value: Option<f64>, scale: f64| value.map_or("-".into(), |value| digits(value / scale));
    let settle = row.middle(engine, |record| record.settle_ns);
    if settle.is_none() {
        return "-".into();
    }
    let disk = row.middle(engine, |record| record.disk_bytes);
    let raw = row
        .middle(engine, |record| record.user_bytes)
        .filter(|&raw| raw > 0.0);
    let written = row.middle(engine, |record| {
        record.engine_write_bytes.or(record.io_write_bytes)
    });
    let amplified = raw.and_then(|raw| Some(written? / raw));
    let anonymous = row.middle(engine, |record| record.anon_rss_peak);
    format!(
        "{:>4} {:>4} {:>4} {:>4}",
        figure(settle, 1e9),
        figure(disk, MIB),
        figure(amplified, 1.0),
        figure(anonymous, MIB)
    )
}

/// Why rows failed or were skipped, each reason once.
fn reasons(text: &mut String, results: &Results) {
    let mut told = Vec::new();
    for (section, rows) in &results.sections {
        for record in rows.iter().flat_map(|row| &row.records) {
            let word = match record.status {
                Status::Ok => continue,
                Status::Skipped => "skipped",
                Status::Failed => "FAILED",
            };
            let reason = record.reason.as_deref().unwrap_or_default();
            let line = format!(
                "{word}: {} {} at {section}: {reason}",
                record.engine, record.workload
            );
            if !told.contains(&line) {
                let _ = writeln!(text, "{line}");
                told.push(line);
            }
        }
    }
}

/// How the figures came about; the rules of fairness in short.
const RULES: &[(&str, &str)] = &[
    (
        "durability",
        "every row but fillsync and those marked * survives SIGKILL: each write is with the system when its call returns;",
    ),
    (
        "",
        "fillsync survives loss of power: N/100 writes, the device's flushes counted",
    ),
    (
        "",
        "* not ranked: writes below Os (a killed process loses some it had acknowledged), or seed settings",
    ),
    (
        "memory",
        "the same total for every engine; lmdb has no cache of its own and uses the page cache",
    ),
    (
        "answers",
        "every byte read is folded and compared with what was written; a wrong answer fails its row",
    ),
    (
        "debt",
        "a fill's rate ends with its last call; what it left to do is in the second table",
    ),
    (
        "reads",
        "over the store as the fills left it when quiet, and again after compact",
    ),
    (
        "noise",
        "a difference inside the spread is a tie; null is the cost of the harness itself",
    ),
];

#[cfg(test)]
mod tests;
