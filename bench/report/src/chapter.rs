//! The chapters of the report, in order: those of the page of 2011, then what it lacked.

mod bias;
mod cost;
mod facts;
mod fair;
mod harness;
mod latency;
mod overview;
mod results;
mod then;
mod timeline;

use crate::document::{Bars, Block};
use crate::face;
use crate::report::Report;
use crate::table::Table;

/// The whole report.
pub(crate) fn all(report: &Report) -> Vec<Block> {
    let chapters: [fn(&Report) -> Vec<Block>; 14] = [
        overview::title,
        overview::glance,
        facts::source_code,
        facts::builds,
        fair::rules,
        results::results,
        latency::latency,
        timeline::timeline,
        cost::costs,
        harness::harness,
        then::pages,
        bias::biases,
        facts::provenance,
        facts::missing,
    ];
    let mut blocks: Vec<Block> = chapters
        .iter()
        .flat_map(|chapter| chapter(report))
        .collect();
    blocks.extend(facts::acknowledgements());
    blocks
}

/// Title and warnings, for the summary.
pub(crate) fn summary_head(report: &Report) -> Vec<Block> {
    overview::title(report)
}

/// The bars of one table.
pub(crate) fn bars(report: &Report, table: &Table) -> Bars {
    results::bars(report, table)
}

/// Engines of the report in the order of faces, the harness's own left out.
fn engines(report: &Report) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for row in report.tables.iter().flat_map(Table::engines) {
        if !names.contains(&row.engine.as_str()) {
            names.push(&row.engine);
        }
    }
    names.sort_by_key(|name| (face::index(name), *name));
    names.into_iter().map(str::to_owned).collect()
}

/// A suite of the report, `None` for lists that belong to none, each once in order.
fn suites(report: &Report) -> Vec<Option<String>> {
    let mut suites: Vec<Option<String>> = Vec::new();
    for table in &report.tables {
        if !suites.contains(&table.key.suite) {
            suites.push(table.key.suite.clone());
        }
    }
    suites
}

/// What comes before a heading of a table when the report has several suites.
fn suite_words(report: &Report, suite: Option<&str>) -> String {
    match suite {
        Some(suite) if suites(report).len() > 1 => format!("{suite}: "),
        _ => String::new(),
    }
}
