//! Filters: the stores that have them, and the rows of the run in which others do not.

use bench_core::result::record::Record;
use bench_core::workload::definition::{Action, Workload};

use crate::document::Item;
use crate::engine_style;
use crate::run::Run;
use crate::table::{Row, Table, verdict};

const FILTERS: &str = "CairnDB builds filters of 10 bits per key by default; LevelDB and RocksDB build none by \
     default, and the suites, like the pages they come from, keep that default in their plain rows; \
     WiredTiger's LSM tree uses 16 bits by default. In the random rows more than a third of the \
     requested keys do not exist, so filters also help there, not only in readmissing.";

/// Returns the item about filters: whether rows of this run show the peers with filters too, and
/// which rows do not.
pub(super) fn filters(run: &Run) -> Item {
    let mut variants: Vec<String> = Vec::new();
    let rows = run.tables.iter().flat_map(Table::engines);
    let with = rows.filter(|row| row.rate().is_some() && row.engine != engine_style::OURS);
    for row in with.filter(|row| has_filters(row) == Some(true)) {
        let variant = row.variant.clone().filter(|_| !row.is_plain());
        let variant = variant.unwrap_or_else(|| "their plain rows".to_owned());
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    let fairer = if variants.is_empty() {
        "No row of this run shows those stores with filters.".to_owned()
    } else {
        format!(
            "The rows in which they have filters too ({}) are the fairer comparison.",
            verdict::list(&variants)
        )
    };
    let lacking = lacking(run).map_or_else(String::new, |text| format!(" {text}"));
    Item::new(
        "Filters favour CairnDB.",
        format!("{FILTERS} {fairer}{lacking}"),
    )
}

/// Returns whether a record's options state that filters are built, if they mention filters: for
/// CairnDB, and for stores that build none by default.
fn builds_filters(record: &Record) -> Option<bool> {
    let reported = |(name, value): &(String, String)| match name.as_str() {
        "bloom_bits" => Some(value.parse::<u32>().is_ok_and(|bits| bits > 0)),
        // CairnDB's option: a number, or a word for the default.
        "filter_bits" => Some(value != "0"),
        "filter_policy" => Some(value != "nullptr"),
        _ => None,
    };
    record.options.iter().find_map(reported)
}

fn has_filters(row: &Row) -> Option<bool> {
    row.first(builds_filters)
}

/// Returns whether filters save work in a row, because it looks up keys.
const fn looks_up(workload: &Workload) -> bool {
    match workload.action {
        Action::Get(_)
        | Action::MultiGet
        | Action::Update
        | Action::ReadWrite
        | Action::ReadMerge
        | Action::GetBeside(_) => true,
        Action::Ycsb(mix) => mix.read + mix.modify > 0,
        _ => false,
    }
}

/// Returns the peers that could have filters but have none in any variant of a row in which CairnDB
/// has them.
fn without(table: &Table) -> Vec<&str> {
    let ours = table
        .row(engine_style::OURS)
        .filter(|row| row.rate().is_some());
    let reads = table.workload().is_some_and(looks_up);
    if !reads || ours.and_then(has_filters) != Some(true) {
        return Vec::new();
    }
    let measured = || table.engines().filter(|row| row.rate().is_some());
    let mut engines: Vec<&str> = Vec::new();
    for row in measured().filter(|row| has_filters(row) == Some(false)) {
        let engine = row.engine.as_str();
        let filtered = |other: &Row| other.engine == engine && has_filters(other) == Some(true);
        if !engines.contains(&engine) && !measured().any(filtered) {
            engines.push(engine);
        }
    }
    engines
}

/// Returns the rows in which CairnDB has filters, and the stores that have none there in any
/// variant.
fn lacking(run: &Run) -> Option<String> {
    let mut titles: Vec<String> = Vec::new();
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for table in &run.tables {
        let engines = without(table);
        if engines.is_empty() {
            continue;
        }
        for title in engines.into_iter().map(engine_style::title) {
            if !titles.iter().any(|known| known == title) {
                titles.push(title.to_owned());
            }
        }
        let key = &table.key;
        let words = run.suite_words(key.suite.as_deref());
        let section = format!("{words}{}", key.section.as_deref().unwrap_or_default());
        let at = sections.iter().position(|(name, _)| *name == section);
        let at = at.unwrap_or_else(|| {
            sections.push((section, Vec::new()));
            sections.len() - 1
        });
        let workloads = &mut sections[at].1;
        let data = key.data.as_deref().filter(|data| *data != "synthetic");
        let workload = match data {
            Some(data) => format!("{} over {data} data", key.workload),
            None => key.workload.clone(),
        };
        if !workloads.contains(&workload) {
            workloads.push(workload);
        }
    }
    if titles.is_empty() {
        return None;
    }
    let rows = sections.into_iter().map(|(section, workloads)| {
        let workloads = workloads.join(", ");
        if section.is_empty() {
            workloads
        } else {
            format!("{section} ({workloads})")
        }
    });
    let verb = if titles.len() == 1 { "does" } else { "do" };
    Some(format!(
        "In the following rows that look up keys, CairnDB has filters, {} {verb} not, and no \
         variant of theirs has: {}.",
        verdict::list(&titles),
        rows.collect::<Vec<_>>().join("; ")
    ))
}
