//! The table of a suite: a line for each row, a column for each engine, and what the writes cost.

mod baseline;
mod compare;
mod costs;
mod figure;
mod layout;
mod row;
mod rules;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use bench_core::result::outline::{Aggregate, Outline, Section};
use bench_core::result::record::Status;

pub(crate) use figure::amount;
use layout::{head, line, sheets, width};
use row::{BARE, Row, is_event};
pub(crate) use row::{Rows, label};

/// Width reserved for the ratio to the best peer, its name and a remark.
const RATIO: usize = 38;
/// Mark of figures that are shown and not compared.
const UNRANKED: &str = "*";
/// Label of the rates of the concurrent writer.
const WRITER: &str = "writer";

/// Shape of the table.
#[derive(Debug)]
pub(crate) struct Shape<'o> {
    /// Engines, sections and aggregation of the suite.
    pub(crate) outline: &'o Outline,
    /// Number of rounds that were run.
    pub(crate) rounds: u32,
    /// Width of the terminal; `None` if the text goes elsewhere and lines may have any length.
    pub(crate) columns: Option<usize>,
}

/// Returns the middle and spread of one engine's row, or the reason there is none.
fn cell(row: &Row, engine: &str, absent: bool, aggregate: Aggregate) -> String {
    if absent {
        return "absent".into();
    }
    if row.of(engine).any(|record| record.status == Status::Failed) {
        return "FAILED".into();
    }
    let Some(spread) = row.rates(engine, aggregate) else {
        return if row.of(engine).next().is_some() && engine != BARE {
            "skipped".into()
        } else {
            "-".into()
        };
    };
    let unranked = if row.is_ranked(engine) { "" } else { UNRANKED };
    let by_hand = if row.by_hand(engine) {
        rules::BY_HAND
    } else {
        ""
    };
    let mark = format!("{by_hand}{unranked}");
    let middle = amount(&row.workload, spread.middle);
    // Distance of the shown figure from its farther end.
    let shown = if is_event(&row.workload) {
        spread.times()
    } else {
        spread
    };
    match shown.width_text() {
        Some(width) => format!("{middle} {width}{mark}"),
        None => format!("{middle}{mark}"),
    }
}

/// Returns the middle rate of the concurrent writer.
fn writer(row: &Row, engine: &str) -> String {
    let rate = row.writer(engine);
    rate.map_or_else(|| "-".into(), |rate| figure::short(rate.middle))
}

/// Returns the whole text.
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
        "\n{}: {} entries, {} round{}: operations per second, {how} \u{b1} the farther end",
        outline.name,
        outline.num,
        shape.rounds,
        if shape.rounds == 1 { "" } else { "s" }
    );
    let sections: Vec<(&Section, Vec<&Row>)> = outline
        .sections
        .iter()
        .map(|section| (section, rows.shown(&section.name, outline)))
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
    costs::write(&mut text, outline, rows, shape.columns);
    reasons(&mut text, rows);
    for (engine, reason) in absent {
        let _ = writeln!(text, "absent: {engine}: {reason}");
    }
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text.push('\n');
    for (subject, rule) in rules::of(rows) {
        let _ = writeln!(text, "{subject:<11} {rule}");
    }
    text
}

/// Appends some of the engines, with the names of all rows.
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
                    let _ = write!(text, "  {}", compare::ratio(self.rows, row, self.outline));
                }
                text.push('\n');
                if row.has_writer() {
                    let cells = engines.iter().map(|engine| writer(row, engine));
                    line(text, self.width, &format!("    {WRITER}"), cells);
                    text.push('\n');
                }
                if let Some((name, cells)) = baseline::line(self.rows, self.outline, section, row) {
                    let cells = cells[self.engines.clone()].iter().cloned();
                    line(text, self.width, &format!("    {name}"), cells);
                    text.push('\n');
                }
            }
        }
    }
}

/// Returns name, chapter, heading and caption of a section in one line.
fn title(section: &Section) -> String {
    let parts = [&section.chapter, &section.heading, &section.table];
    let words: Vec<&str> = parts
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    format!("{}  {}", section.name, words.join(" / "))
}

/// Appends the reasons rows failed or were skipped, each once.
fn reasons(text: &mut String, rows: &Rows) {
    let mut reported = Vec::new();
    for row in &rows.list {
        for record in &row.records {
            let word = match record.status {
                Status::Ok if record.reason.is_some() => "note",
                Status::Ok => continue,
                // The bare loop does not run most rows.
                Status::Skipped if record.engine == BARE => continue,
                Status::Skipped => "skipped",
                Status::Failed => "FAILED",
            };
            let reason = record.reason.as_deref().unwrap_or_default();
            let line = format!(
                "{word}: {} {} of {}: {reason}",
                record.engine, row.label, row.section
            );
            if !reported.contains(&line) {
                let _ = writeln!(text, "{line}");
                reported.push(line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
