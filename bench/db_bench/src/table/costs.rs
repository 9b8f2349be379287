//! Costs of writing rows in addition to their time: a table for each figure.

use std::fmt::Write as _;

use bench_core::result::outline::{Outline, Section};
use bench_core::result::record::Record;

use super::figure::digits;
use super::layout::{head, line, sheets, width};
use super::row::{Row, Rows};

const MIB: f64 = 1_048_576.0;

/// One formatted figure of an engine's row.
type Figure = fn(&Row, &str) -> Option<String>;

/// The costs of each row. The two counts of written bytes have a table each: the kernel counts
/// whole folios of its cache even if only one byte of them is written, so the two counts must not
/// be compared within a row.
const FIGURES: [(&str, Figure); 5] = [
    ("seconds until idle", |row, engine| {
        Some(digits(row.middle(engine, |record| record.settle_ns)? / 1e9))
    }),
    ("MB on disk when idle", |row, engine| {
        Some(digits(
            row.middle(engine, |record| record.disk_bytes)? / MIB,
        ))
    }),
    (
        "bytes written over raw bytes, as the store counts them (-: not reported in every round)",
        |row, engine| amplification(row, engine, |record| record.engine_write_bytes),
    ),
    (
        "bytes written over raw bytes, as the kernel counts them for every store",
        |row, engine| amplification(row, engine, |record| record.io_write_bytes),
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

/// Returns one count of written bytes divided by raw key and value bytes; `None` if a round lacks
/// it, because the middle would then cover fewer rounds.
fn amplification(row: &Row, engine: &str, count: fn(&Record) -> Option<u64>) -> Option<String> {
    let raw = row.middle(engine, |record| record.user_bytes)?;
    let mut rounds = row.of(engine);
    if rounds.any(|record| record.user_bytes.is_some() && count(record).is_none()) {
        return None;
    }
    let written = row.middle(engine, count)?;
    (raw > 0.0).then(|| digits(written / raw))
}

/// Returns the costs of writing rows in addition to their time.
pub(super) fn write(text: &mut String, outline: &Outline, rows: &Rows, columns: Option<usize>) {
    let sections = outline.sections.iter();
    let settled: Vec<(&Section, Vec<&Row>)> = sections
        .map(|section| {
            let mut shown = rows.shown(&section.name, outline);
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
    for (caption, figure) in FIGURES {
        let _ = writeln!(text, "\n{caption}");
        let names: Vec<(String, &Row)> = settled
            .iter()
            .flat_map(|(section, shown)| shown.iter().map(|row| (name(section, row), *row)))
            .collect();
        for engines in sheets(outline.engines.len(), width, 0, columns) {
            one_figure(text, width, &outline.engines[engines], &names, figure);
        }
    }
}

/// Appends one figure of some engines, row by row.
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
