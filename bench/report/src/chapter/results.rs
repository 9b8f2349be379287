//! The tables with bars: chapters and sections of the page of 2011 in its order, then everybody else's.

use crate::chapter::{overview, suite_words, suites};
use crate::document::{Bar, Bars, Block, Item, Measured, Value};
use crate::face;
use crate::number;
use crate::outline::{self, CHAPTERS};
use crate::report::Report;
use crate::sentence;
use crate::spread::Spread;
use crate::standing;
use crate::table::{Outcome, Row, Table};

/// Every chapter with results.
pub(crate) fn results(report: &Report) -> Vec<Block> {
    let mut blocks = Vec::new();
    for suite in suites(report) {
        let words = suite_words(report, suite.as_deref());
        let alone = with_places(report) == 1;
        let tables: Vec<&Table> = report
            .tables
            .iter()
            .filter(|table| table.key.suite == suite && shown(table))
            .collect();
        blocks.extend(chapters(report, if alone { "" } else { &words }, &tables));
        blocks.extend(others(report, suite.as_deref(), &tables));
    }
    blocks
}

/// How many suites have sections of 2011.
fn with_places(report: &Report) -> usize {
    let has = |suite: &Option<String>| {
        let mut tables = report
            .tables
            .iter()
            .filter(|table| table.key.suite == *suite);
        tables.any(|table| outline::place(&table.key).is_some())
    };
    suites(report).iter().filter(|suite| has(suite)).count()
}

/// A table whose only row is the harness's own is told under the harness's cost.
fn shown(table: &Table) -> bool {
    table.engines().next().is_some()
}

/// The chapters of 2011.
fn chapters(report: &Report, words: &str, tables: &[&Table]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, chapter) in CHAPTERS.iter().enumerate() {
        let mut inner = Vec::new();
        for section in chapter.sections {
            let of: Vec<&Table> = tables
                .iter()
                .copied()
                .filter(|table| outline::place(&table.key) == Some(section.place))
                .collect();
            if of.is_empty() {
                continue;
            }
            if !section.title.is_empty() {
                inner.push(Block::heading(3, section.title));
            }
            if !section.text.is_empty() {
                inner.push(Block::text(section.text));
            }
            inner.extend(group(report, &of));
        }
        if inner.is_empty() {
            continue;
        }
        blocks.push(Block::heading(2, format!("{words}{}", chapter.title)));
        if index == 0 {
            blocks.extend(baseline(tables));
        }
        blocks.extend(inner);
    }
    if !blocks.is_empty() {
        blocks.insert(0, overview::legend(report));
    }
    blocks
}

/// What holds for section 1, from its own records.
fn baseline(tables: &[&Table]) -> Vec<Block> {
    let of_one =
        |table: &&&Table| outline::place(&table.key).is_some_and(|place| place.starts_with('1'));
    let mut records = tables
        .iter()
        .filter(of_one)
        .flat_map(|table| table.engines())
        .flat_map(|row| &row.records);
    let known = records.find(|record| record.key_bytes.is_some() && record.memory_bytes.is_some());
    let mut items = Vec::new();
    if let Some(record) = known {
        let size = |bytes: Option<u64>| bytes.map(number::size).unwrap_or_else(|| "-".into());
        items.push(format!(
            "Each store is told to use {} of memory.",
            size(record.memory_bytes)
        ));
        items.push("Every write is handed to the operating system before its call returns, and no call waits for the device.".into());
        items.push(format!("Keys have {} each.", size(record.key_bytes)));
        items.push(format!(
            "Values have {} each, cut from a pool that a simple compressor halves.",
            size(record.value_bytes)
        ));
    }
    items.push("Sequential rows go through the keys in increasing order.".into());
    items.push("Random rows draw keys with replacement: about 37 % of them are never written or asked for.".into());
    let items = items.into_iter().map(|text| Item::new("", text)).collect();
    vec![
        Block::text(
            "What all stores do under the same small memory; the sections after it change one thing at a time.",
        ),
        Block::List(items),
    ]
}

/// Sections that are not of 2011, each under its own name.
fn others(report: &Report, suite: Option<&str>, tables: &[&Table]) -> Vec<Block> {
    let rest: Vec<&Table> = tables
        .iter()
        .copied()
        .filter(|table| outline::place(&table.key).is_none())
        .collect();
    if rest.is_empty() {
        return Vec::new();
    }
    let title = suite.map_or_else(|| "Results".to_owned(), |suite| format!("Suite {suite}"));
    let mut blocks = vec![Block::heading(2, title)];
    if rest.len() == tables.len() {
        blocks.push(overview::legend(report));
    }
    let mut sections: Vec<Option<&str>> = Vec::new();
    for table in &rest {
        let section = table.key.section.as_deref();
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    for section in sections {
        let of: Vec<&Table> = rest
            .iter()
            .copied()
            .filter(|table| table.key.section.as_deref() == section)
            .collect();
        blocks.extend(section.map(|section| Block::heading(3, section)));
        blocks.extend(group(report, &of));
    }
    blocks
}

/// The tables of one section.
fn group(report: &Report, tables: &[&Table]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for table in tables {
        let alone = tables.len() == 1
            && outline::place(&table.key).is_some_and(|place| place.starts_with('1'));
        if !alone {
            blocks.push(Block::heading(4, outline::heading(table, tables)));
        }
        blocks.push(Block::Bars(bars(report, table)));
        blocks.push(Block::Verdict(sentence::verdict(table)));
    }
    blocks
}

/// The bars of one table, scaled to the fastest row.
pub(crate) fn bars(report: &Report, table: &Table) -> Bars {
    let fastest = table
        .engines()
        .filter_map(|row| row.rate())
        .map(|rate| rate.middle)
        .fold(0.0, f64::max);
    let best = standing::ranking(table).first().map(|(_, rate)| **rate);
    let rows = table.engines().map(|row| Bar {
        name: row.name(),
        unranked: row.unranked().map(str::to_owned),
        value: match &row.outcome {
            Outcome::Measured(rate) => {
                let leads = row.is_ranked()
                    && best.is_some_and(|best| best.ties(rate) || best.middle <= rate.middle);
                Value::Measured(measured(report, table, row, Scale { fastest, leads }))
            }
            Outcome::Skipped(reason) => Value::Missing("skipped", reason.clone()),
            Outcome::Failed(reason) => Value::Missing("failed", reason.clone()),
        },
    });
    Bars {
        rows: rows.collect(),
    }
}

/// What a bar is drawn against.
#[derive(Clone, Copy)]
struct Scale {
    fastest: f64,
    leads: bool,
}

fn measured(report: &Report, table: &Table, row: &Row, scale: Scale) -> Measured {
    let none = Spread {
        low: 0.0,
        middle: 0.0,
        high: 0.0,
        rounds: 0,
    };
    let rate = row.rate().copied().unwrap_or(none);
    let share = |value: f64| {
        if scale.fastest > 0.0 {
            value / scale.fastest
        } else {
            0.0
        }
    };
    let show = |value: f64| overview::amount(table, value);
    // An event's lowest time is its highest rate.
    let (first, last) = if table.is_event() {
        (rate.high, rate.low)
    } else {
        (rate.low, rate.high)
    };
    let reference = standing::reference(table).filter(|_| row.engine != face::REFERENCE);
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
        hint: hint(table, &rate),
        leads: scale.leads,
        times_reference: times,
        times_baseline: standing::times_baseline(&report.tables, table, row)
            .map(|times| format!("({}x baseline)", number::ratio(times))),
        text,
    }
}

fn hint(table: &Table, rate: &Spread) -> String {
    let show = |value: f64| {
        if table.is_event() {
            overview::amount(table, value)
        } else {
            number::rate(value)
        }
    };
    format!(
        "lowest {}, figure {}, highest {}, of {} measurements",
        show(rate.low),
        show(rate.middle),
        show(rate.high),
        rate.rounds
    )
}
