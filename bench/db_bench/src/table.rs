//! The table of a suite: a line for each row, a column for each engine, and what the writes cost.

mod baseline;
mod row;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use bench_core::outline::{Aggregate, Outline, Section};
use bench_core::record::{Record, Status};

use row::{HARNESS, Row, is_event};
pub(crate) use row::{Rows, label};

const OURS: &str = "cairndb";
const CELL: usize = 13;
/// The least width of the names of rows.
const LABEL: usize = 26;
/// Columns kept for the ratio to the best peer, its name and a word.
const RATIO: usize = 38;
/// Behind figures that are shown and not compared.
const UNRANKED: &str = "*";
const MIB: f64 = 1_048_576.0;

/// What the table is about.
#[derive(Debug)]
pub(crate) struct Shape<'o> {
    /// Engines, sections, how rounds become one figure.
    pub(crate) outline: &'o Outline,
    /// Rounds that were run.
    pub(crate) rounds: u32,
    /// Columns of the terminal; `None` where the text goes elsewhere and lines may have any length.
    pub(crate) columns: Option<usize>,
}

/// The engines that fit beside each other, from the first to the last: a table wider than the terminal is
/// told in several. The first keeps room for `extra` columns behind its cells.
fn sheets(engines: usize, width: usize, extra: usize, columns: Option<usize>) -> Vec<Range<usize>> {
    let Some(columns) = columns else {
        return std::iter::once(0..engines).collect();
    };
    let mut sheets = Vec::new();
    let mut from = 0;
    while from < engines {
        let taken = width + if from == 0 { extra } else { 0 };
        let fits = (columns.saturating_sub(taken) / (CELL + 1)).max(1);
        let to = engines.min(from + fits);
        sheets.push(from..to);
        from = to;
    }
    sheets
}

/// A rate, or the time of an event, with three digits.
pub(crate) fn amount(workload: &str, rate: f64) -> String {
    if is_event(workload) {
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

/// Middle and spread of one engine's row, or why there is none.
fn cell(row: &Row, engine: &str, absent: bool, aggregate: Aggregate) -> String {
    if absent {
        return "absent".into();
    }
    if row.of(engine).any(|record| record.status == Status::Failed) {
        return "FAILED".into();
    }
    let Some(spread) = row.rates(engine, aggregate) else {
        return if row.of(engine).next().is_some() {
            "skipped".into()
        } else {
            "-".into()
        };
    };
    let mark = if row.is_ranked(engine) { "" } else { UNRANKED };
    let middle = amount(&row.workload, spread.middle);
    // As far as the figure shown lies from its own farther end.
    let shown = if is_event(&row.workload) {
        spread.times()
    } else {
        spread
    };
    match shown.width() {
        Some(width) => format!("{middle} \u{b1}{:.0}%{mark}", 100.0 * width),
        None => format!("{middle}{mark}"),
    }
}

/// Our rate over the best peer's, the peer, and whether the difference is inside the spread.
fn ratio(row: &Row, outline: &Outline) -> String {
    let rates = |engine: &str| row.rates(engine, outline.aggregate);
    let peers = outline
        .engines
        .iter()
        .filter(|name| *name != OURS && *name != HARNESS && row.is_ranked(name));
    let best = peers
        .filter_map(|name| Some((name, rates(name)?)))
        .max_by(|a, b| a.1.middle.total_cmp(&b.1.middle));
    match (rates(OURS), best) {
        (Some(ours), Some((name, theirs))) => {
            let note = match ours.rounds.min(theirs.rounds) {
                1 => " (one round)",
                _ if ours.ties(&theirs) => " (tie)",
                _ => "",
            };
            format!("{:.2}x {name}{note}", ours.middle / theirs.middle)
        }
        _ => "-".into(),
    }
}

/// The whole text.
pub(crate) fn render(
    shape: &Shape<'_>,
    rows: &Rows,
    absent: &BTreeMap<String, String>,
    notes: &[String],
) -> String {
    let outline = shape.outline;
    let mut text = String::new();
    let how = outline.aggregate.words();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        text,
        "\n{}: {} entries, {} round{}: operations a second, {how} \u{b1} the farther end",
        outline.name,
        outline.num,
        shape.rounds,
        if shape.rounds == 1 { "" } else { "s" }
    );
    let sections: Vec<(&Section, Vec<&Row>)> = outline
        .sections
        .iter()
        .map(|section| (section, rows.shown(&section.name, outline.aggregate)))
        .filter(|(_, shown)| !shown.is_empty())
        .collect();
    let shown = sections.iter().flat_map(|(_, shown)| shown);
    let width = width(shown.map(|row| row.label.chars().count() + 2));
    for engines in sheets(outline.engines.len(), width, RATIO, shape.columns) {
        let sheet = Sheet {
            outline,
            rows,
            absent,
            width,
            engines,
        };
        sheet.write(&mut text, &sections);
    }
    costs(&mut text, shape, rows);
    reasons(&mut text, rows);
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

/// Some of the engines, beside the names of all rows.
struct Sheet<'t> {
    outline: &'t Outline,
    rows: &'t Rows,
    absent: &'t BTreeMap<String, String>,
    width: usize,
    engines: Range<usize>,
}

impl Sheet<'_> {
    fn write(&self, text: &mut String, sections: &[(&Section, Vec<&Row>)]) {
        let is_first = self.engines.start == 0;
        let engines = &self.outline.engines[self.engines.clone()];
        let last = if is_first { "cairndb / best peer" } else { "" };
        if !is_first {
            text.push('\n');
        }
        head(text, self.width, engines, last);
        for (section, shown) in sections {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "{}", title(section));
            for row in shown {
                let cell = |engine: &String| {
                    let absent = self.absent.contains_key(engine);
                    cell(row, engine, absent, self.outline.aggregate)
                };
                line(
                    text,
                    self.width,
                    &format!("  {}", row.label),
                    engines.iter().map(cell),
                );
                if is_first {
                    let _ = write!(text, "  {}", ratio(row, self.outline));
                }
                text.push('\n');
                if let Some((name, cells)) = baseline::line(self.rows, self.outline, section, row) {
                    let cells = cells[self.engines.clone()].iter().cloned();
                    line(text, self.width, &format!("    {name}"), cells);
                    text.push('\n');
                }
            }
        }
    }
}

/// A name and a cell for each engine, without the line's end.
fn line(text: &mut String, width: usize, name: &str, cells: impl Iterator<Item = String>) {
    let _ = write!(text, "{name:<width$}");
    for cell in cells {
        let _ = write!(text, " {cell:>CELL$}");
    }
}

/// Name, chapter, heading and caption of a section in one line.
fn title(section: &Section) -> String {
    let parts = [&section.chapter, &section.heading, &section.table];
    let words: Vec<&str> = parts
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    format!("{}  {}", section.name, words.join(" / "))
}

/// The width of the names of rows: that of the longest.
fn width(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.max().unwrap_or(0).max(LABEL)
}

/// The names of the engines, in two lines where they are long.
fn head(text: &mut String, width: usize, engines: &[String], last: &str) {
    let halves: Vec<(&str, &str)> = engines
        .iter()
        .map(|name| match name.split_once('_') {
            Some((first, second)) if name.len() > CELL => (first, second),
            _ => ("", name.as_str()),
        })
        .collect();
    if halves.iter().any(|(first, _)| !first.is_empty()) {
        let _ = write!(text, "{:<width$}", "");
        for (first, _) in &halves {
            let _ = write!(text, " {first:>CELL$}");
        }
        text.push('\n');
    }
    let _ = write!(text, "{:<width$}", "");
    for (_, second) in &halves {
        let _ = write!(text, " {second:>CELL$}");
    }
    let _ = writeln!(text, "{}{last}", if last.is_empty() { "" } else { "  " });
}

/// One figure of an engine's row, spelled.
type Figure = fn(&Row, &str) -> Option<String>;

/// What writing rows cost beside their time.
fn costs(text: &mut String, shape: &Shape<'_>, rows: &Rows) {
    let outline = shape.outline;
    let sections = outline.sections.iter();
    let settled: Vec<(&Section, Vec<&Row>)> = sections
        .map(|section| {
            let mut shown = rows.shown(&section.name, outline.aggregate);
            shown.retain(|row| row.records.iter().any(|record| record.settle_ns.is_some()));
            (section, shown)
        })
        .filter(|(_, shown)| !shown.is_empty())
        .collect();
    if settled.is_empty() {
        return;
    }
    let name = |section: &Section, row: &Row| format!("{} {}", section.name, row.label);
    let names = settled.iter().flat_map(|(section, shown)| {
        let lengths = shown.iter().map(|row| name(section, row).chars().count());
        lengths.collect::<Vec<_>>()
    });
    let width = width(names);
    let figures: [(&str, Figure); 4] = [
        ("seconds until quiet", |row, engine| {
            Some(digits(row.middle(engine, |record| record.settle_ns)? / 1e9))
        }),
        ("MB on disk when quiet", |row, engine| {
            Some(digits(
                row.middle(engine, |record| record.disk_bytes)? / MIB,
            ))
        }),
        (
            "bytes written over raw bytes (~: by the kernel's count, as the store did not tell in every round)",
            amplification,
        ),
        (
            "MB of anonymous memory above the harness's own",
            |row, engine| {
                let above = row.middle(engine, |record| {
                    let base = record.anon_rss_base?;
                    Some(record.anon_rss_peak?.saturating_sub(base))
                });
                Some(digits(above? / MIB))
            },
        ),
    ];
    for (caption, figure) in figures {
        let _ = writeln!(text, "\n{caption}");
        let names: Vec<(String, &Row)> = settled
            .iter()
            .flat_map(|(section, shown)| shown.iter().map(|row| (name(section, row), *row)))
            .collect();
        for engines in sheets(outline.engines.len(), width, 0, shape.columns) {
            one_figure(text, width, &outline.engines[engines], &names, figure);
        }
    }
}

/// One figure of some engines, row by row.
fn one_figure(
    text: &mut String,
    width: usize,
    engines: &[String],
    rows: &[(String, &Row)],
    figure: Figure,
) {
    head(text, width, engines, "");
    for (name, row) in rows {
        let cells = engines.iter();
        let cells = cells.map(|engine| figure(row, engine).unwrap_or_else(|| "-".into()));
        line(text, width, name, cells);
        text.push('\n');
    }
}

/// Bytes the engine says it wrote, else the kernel's count, over raw key and value bytes. The two are told
/// apart: the kernel counts whole folios of its cache when a byte of one is written.
fn amplification(row: &Row, engine: &str) -> Option<String> {
    let raw = row.middle(engine, |record| record.user_bytes)?;
    // One kind of count for all rounds: the middle of two kinds would be neither.
    let told =
        |record: &Record| record.engine_write_bytes.is_some() || record.io_write_bytes.is_none();
    let told = row.of(engine).all(told);
    let (mark, written) = match row.middle(engine, |record| record.engine_write_bytes) {
        Some(written) if told => ("", written),
        _ => ("~", row.middle(engine, |record| record.io_write_bytes)?),
    };
    (raw > 0.0).then(|| format!("{mark}{}", digits(written / raw)))
}

/// Why rows failed or were skipped, each reason once.
fn reasons(text: &mut String, rows: &Rows) {
    let mut told = Vec::new();
    for row in &rows.list {
        for record in &row.records {
            let word = match record.status {
                Status::Ok if record.reason.is_some() => "told",
                Status::Ok => continue,
                Status::Skipped => "skipped",
                Status::Failed => "FAILED",
            };
            let reason = record.reason.as_deref().unwrap_or_default();
            let line = format!(
                "{word}: {} {} of {}: {reason}",
                record.engine, row.label, row.section
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
        "the same total for every engine; lmdb has no cache of its own and uses the page cache;",
    ),
    (
        "",
        "a row whose anonymous memory above the harness's own exceeds twice its setting and 48 MB fails",
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
