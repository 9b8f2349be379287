//! Filters: who has them, and in which rows of the run the others do not.

use bench_core::result::record::Record;
use bench_core::workload::definition::{Action, Workload};

use crate::document::Item;
use crate::engine_style;
use crate::run::Run;
use crate::table::{Row, Table, verdict};

const FILTERS: &str = "CairnDB builds filters of 10 bits a key by default; LevelDB and RocksDB build none by \
     default, and the suites, like the pages they come from, leave that so in their plain rows; \
     WiredTiger's LSM has 16 bits of its own. In the random rows more than a third of the \
     requested keys do not exist, so filters help there too, not only in readmissing.";

/// Filters, whether rows of this run show the peers with filters too, and which do not.
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
        "No row of this run shows them with filters.".to_owned()
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

/// Whether a record's options say that filters are built, if they say anything: for CairnDB, and
/// for stores that build none by default.
fn builds_filters(record: &Record) -> Option<bool> {
    let reported = |(name, value): &(String, String)| match name.as_str() {
        "bloom_bits" => Some(value.parse::<u32>().is_ok_and(|bits| bits > 0)),
        // Ours, which is a number or a word for the default.
        "filter_bits" => Some(value != "0"),
        "filter_policy" => Some(value != "nullptr"),
        _ => None,
    };
    record.options.iter().find_map(reported)
}

fn has_filters(row: &Row) -> Option<bool> {
    row.first(builds_filters)
}

/// Whether filters spare a row work: it looks for keys.
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

/// The peers that could have filters and have none in any variant of a row in which ours are there.
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

/// In which rows CairnDB has filters and which others have none, with and without a variant.
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
        "In these rows that look for keys CairnDB has filters and {} {verb} not, and no variant of \
         them has: {}.",
        verdict::list(&titles),
        rows.collect::<Vec<_>>().join("; ")
    ))
}
