//! The tables with bars: chapters and sections of the page of 2011 in its order, then all others.

use std::fmt::Write as _;

use crate::chapter::{compare, overview, provenance};
use crate::document::{Bar, Bars, Block, Item, Measured, Value};
use crate::engine_style;
use crate::number;
use crate::outline;
use crate::outline::sections::{Chapter, Group, arrange};
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing, verdict};
use bench_core::result::spread::Spread;

/// Minimum number of rows that share a reason for it not to be repeated in each.
const MANY: usize = 6;

/// Returns every chapter with results.
pub(crate) fn results(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    let several = run.suites().len() > 1;
    for suite in run.suites() {
        let tables: Vec<&Table> = run
            .tables
            .iter()
            .filter(|table| table.key.suite == suite && shown(table))
            .collect();
        if tables.is_empty() {
            continue;
        }
        let legend = overview::legend(run);
        if several {
            let title = suite.as_deref().unwrap_or("No suite");
            blocks.push(Block::heading(2, format!("Suite {title}")));
            blocks.extend(about(run, suite.as_deref()));
        }
        blocks.push(legend);
        for chapter in arrange(run, suite.as_deref(), &tables) {
            blocks.extend(results_of(run, &chapter, &tables));
        }
    }
    blocks
}

/// Returns the suite's own introduction.
fn about(run: &Run, suite: Option<&str>) -> Option<Block> {
    let outline = run.outline(suite)?;
    (!outline.about.is_empty()).then(|| Block::text(outline.about.clone()))
}

/// Tables whose only row is the harness's own appear under the harness's cost.
fn shown(table: &Table) -> bool {
    table.engines().next().is_some()
}

fn results_of(run: &Run, chapter: &Chapter<'_>, tables: &[&Table]) -> Vec<Block> {
    let mut blocks = vec![Block::heading(2, chapter.title.clone())];
    let first = chapter
        .groups
        .first()
        .and_then(|group| group.tables.first());
    if first.is_some_and(|(_, table)| is_of_section_1(table)) {
        blocks.extend(baseline(tables));
    }
    for group in &chapter.groups {
        if !group.heading.is_empty() {
            blocks.push(Block::heading(3, group.heading.clone()));
        }
        blocks.extend(group.about.iter().map(|text| Block::text(text.clone())));
        blocks.extend(group_of(run, group));
    }
    blocks
}

fn is_of_section_1(table: &Table) -> bool {
    outline::place(&table.key).is_some_and(|place| place.starts_with('1'))
}

/// Returns what holds for section 1, from its records.
fn baseline(tables: &[&Table]) -> Vec<Block> {
    let mut records = tables
        .iter()
        .filter(|table| is_of_section_1(table))
        .flat_map(|table| table.engines())
        .flat_map(|row| &row.records);
    let known = records.find(|record| record.key_bytes.is_some() && record.memory_bytes.is_some());
    let mut items = Vec::new();
    if let Some(record) = known {
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".into(), number::size);
        items.push(format!(
            "Each store may use {} of memory.",
            size(record.memory_bytes)
        ));
        items.push("Every write is handed to the operating system before its call returns, and no call waits for the device.".into());
        items.push(format!("Keys are {} long.", size(record.key_bytes)));
        items.push(format!(
            "Values are {} long, cut from a pool that a simple compressor halves.",
            size(record.value_bytes)
        ));
    }
    items.push("Sequential rows go through the keys in increasing order.".into());
    items.push("Random rows draw keys with replacement: about 37 % of them are never written or requested.".into());
    let items = items.into_iter().map(|text| Item::new("", text)).collect();
    vec![
        Block::text(
            "All stores run the same rows with the same small memory; the later sections change one thing at a time.",
        ),
        Block::List(items),
    ]
}

/// Returns the tables under one heading.
fn group_of(run: &Run, group: &Group<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let tables: Vec<&Table> = group.tables.iter().map(|(_, table)| *table).collect();
    if let Some(grid) = compare::directories(&tables) {
        blocks.push(Block::text("The same rows in each directory:"));
        blocks.push(grid);
    }
    for (caption, table) in &group.tables {
        if tables.len() > 1 || !is_of_section_1(table) {
            let heading = outline::heading(table, &tables, caption);
            blocks.push(Block::heading(4, heading));
        }
        blocks.push(Block::Bars(reported_once(run, bars(run, table))));
        blocks.push(Block::Verdict(verdict::verdict(table)));
    }
    blocks
}

/// Replaces reasons that many rows of a store share, such as a refused directory: these appear
/// once, under Rows without a Figure.
fn reported_once(run: &Run, mut bars: Bars) -> Bars {
    for bar in &mut bars.rows {
        let Value::Missing(_, reason) = &mut bar.value else {
            continue;
        };
        let count = provenance::rows_without(run, &bar.name.title, reason);
        if count >= MANY {
            *reason = format!("the same reason in {count} rows: see Rows without a Figure");
        }
    }
    bars
}

/// Returns the bars of one table, scaled to the highest round of all rows, so that no spread line
/// is cut off.
pub(crate) fn bars(run: &Run, table: &Table) -> Bars {
    let fastest = table
        .engines()
        .filter_map(|row| row.rate())
        .map(|rate| rate.high)
        .fold(0.0, f64::max);
    let leaders = standing::leaders(table);
    let rows = table.engines().map(|row| Bar {
        name: row.name(),
        unranked: row.unranked().map(str::to_owned),
        value: match &row.outcome {
            Outcome::Measured(rate) => {
                let leads = leaders.iter().any(|(leader, _)| std::ptr::eq(*leader, row));
                let rate = *rate;
                Value::Measured(measured(
                    run,
                    table,
                    row,
                    Scale {
                        rate,
                        fastest,
                        leads,
                    },
                ))
            }
            Outcome::Skipped(reason) => Value::Missing("skipped", reason.clone()),
            Outcome::Failed(reason) => Value::Missing("failed", reason.clone()),
        },
    });
    Bars {
        rows: rows.collect(),
    }
}

/// The figures that a bar is compared with.
#[derive(Clone, Copy)]
struct Scale {
    rate: Spread,
    fastest: f64,
    leads: bool,
}

fn measured(run: &Run, table: &Table, row: &Row, scale: Scale) -> Measured {
    let rate = scale.rate;
    let share = |value: f64| {
        if scale.fastest > 0.0 {
            value / scale.fastest
        } else {
            0.0
        }
    };
    let show = |value: f64| overview::amount(table, value);
    let (first, last) = ends(table, &rate);
    let reference = standing::reference(table).filter(|_| row.engine != engine_style::REFERENCE);
    let times = reference.and_then(|(reference, other)| {
        Some(format!(
            "{}x {}",
            number::ratio(standing::over(&rate, other)?),
            reference.title()
        ))
    });
    let text = if table.is_event() {
        show(rate.middle)
    } else {
        format!("{} {}", number::rate(rate.middle), table.unit())
    };
    Measured {
        share: share(rate.middle),
        low: share(rate.low),
        high: share(rate.high),
        range: (rate.rounds > 1).then(|| format!("{} to {}", show(first), show(last))),
        writer: row
            .writer()
            .map(|writer| format!("writer {}", number::short(writer.middle))),
        hint: hint(table, row, &rate),
        leads: scale.leads,
        times_reference: times,
        times_baseline: standing::times_baseline(run, table, row)
            .map(|times| format!("({}x baseline)", number::ratio(times))),
        text,
    }
}

/// Returns the ends of a spread as shown: an event's lowest time is its highest rate.
fn ends(table: &Table, rate: &Spread) -> (f64, f64) {
    if table.is_event() {
        (rate.high, rate.low)
    } else {
        (rate.low, rate.high)
    }
}

fn hint(table: &Table, row: &Row, rate: &Spread) -> String {
    let show = |value: f64| {
        if table.is_event() {
            overview::amount(table, value)
        } else {
            number::rate(value)
        }
    };
    let mut text = reported(rate, ends(table, rate), show);
    if let Some(writer) = row.writer() {
        let ends = (writer.low, writer.high);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "; the writer: {}",
            reported(&writer, ends, number::rate)
        );
    }
    text
}

fn reported(rate: &Spread, (lowest, highest): (f64, f64), show: impl Fn(f64) -> String) -> String {
    if rate.rounds == 1 {
        return format!("{}, measured once", show(rate.middle));
    }
    format!(
        "lowest {}, figure {}, highest {}, of {} measurements",
        show(lowest),
        show(rate.middle),
        show(highest),
        rate.rounds
    )
}
