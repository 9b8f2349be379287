//! One run of the benchmark: what was recorded, and the tables made from it.

use bench_core::result::outline::{Aggregate, Outline, Settings};
use bench_core::workload::definition::Workload;
use serde_json::Value;

use crate::engine;
use crate::input::ReportInput;
use crate::list::distinct;
use crate::table::{self, Key, Table};

/// A run, ready to be reported.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Input as read.
    pub(crate) source: ReportInput,
    /// Tables made from the records: these are shown, ranked and counted.
    pub(crate) tables: Vec<Table>,
    /// Earlier instances of workloads that a section runs several times, in suites that count the
    /// last instance only.
    pub(crate) earlier: Vec<Table>,
}

impl Run {
    pub(crate) fn new(source: ReportInput) -> Self {
        let mut tables = table::tables(&source.records, |record| {
            aggregate(&source, record.suite.as_deref())
        });
        for table in &mut tables {
            let apart = apart(&source, table);
            for row in &mut table.rows {
                row.apart = apart;
            }
        }
        let keys: Vec<Key> = tables.iter().map(|table| table.key.clone()).collect();
        let counted = |table: &Table| is_counted(&source, &keys, &table.key);
        let (tables, earlier) = tables.into_iter().partition(counted);
        let mut run = Self {
            source,
            tables,
            earlier,
        };
        let suites = run.suites();
        let mut tables = std::mem::take(&mut run.tables);
        tables.sort_by_cached_key(|table| {
            let suite = suites.iter().position(|suite| *suite == table.key.suite);
            (suite, run.position(&table.key))
        });
        run.tables = tables;
        run
    }

    /// Returns all tables; those that do not count come last.
    pub(crate) fn all_tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().chain(&self.earlier)
    }

    /// Returns the aggregation of the rounds of a table.
    pub(crate) fn aggregate(&self, table: &Table) -> Aggregate {
        aggregate(&self.source, table.key.suite.as_deref())
    }

    /// Returns the outline of a suite, if the records include it.
    pub(crate) fn outline(&self, suite: Option<&str>) -> Option<&Outline> {
        self.source.outline(suite)
    }

    /// Returns the position of a table's section in its suite, or the largest number.
    fn position(&self, key: &Key) -> usize {
        let outline = self.outline(key.suite.as_deref());
        let mut sections = outline.into_iter().flat_map(|outline| &outline.sections);
        let name = key.section.as_deref().unwrap_or_default();
        sections
            .position(|section| section.name == name)
            .unwrap_or(usize::MAX)
    }

    /// Returns the engines in the order of styles, without the harness's own.
    pub(crate) fn engines(&self) -> Vec<String> {
        let rows = self.tables.iter().flat_map(Table::engines);
        let mut names = distinct(rows.map(|row| row.engine.clone()));
        names.sort_by_cached_key(|name| (engine::index(name), name.clone()));
        names
    }

    /// Returns the suites in order, without duplicates; `None` stands for lists that belong to no
    /// suite.
    pub(crate) fn suites(&self) -> Vec<Option<String>> {
        distinct(self.tables.iter().map(|table| table.key.suite.clone()))
    }
}

/// Returns whether a table counts. If the suite trims its rounds, as the WiredTiger page did, only
/// the last instance of each workload in a section counts.
fn is_counted(source: &ReportInput, keys: &[Key], key: &Key) -> bool {
    let outline = source.outline(key.suite.as_deref());
    let later = |other: &Key| {
        let last = Key {
            instance: other.instance,
            ..key.clone()
        };
        *other == last && last.instance > key.instance
    };
    !outline.is_some_and(Outline::last_instance_counts) || !keys.iter().any(later)
}

/// Name of the section in this project's suites whose rows test what a killed process leaves. Files
/// older than the fingerprint use the same name.
const KILL: &str = "kill";

/// Returns the reason a table does not compare stores, if it does not.
fn apart(source: &ReportInput, table: &Table) -> Option<&'static str> {
    if table.workload().is_some_and(Workload::is_engineless) {
        Some("the store takes no part")
    } else if is_killed(source, &table.key) {
        Some("asks what a kill leaves")
    } else {
        None
    }
}

/// Returns whether the process killed itself after this row, so that another process checks what it
/// had written. Such a row is correct or wrong; its rate is that of one short round.
fn is_killed(source: &ReportInput, key: &Key) -> bool {
    let Some(section) = key.section.as_deref() else {
        return false;
    };
    let outline = source.outline(key.suite.as_deref());
    let fingerprint = outline.and_then(|outline| outline.fingerprint.as_ref());
    let Some(fingerprint) = fingerprint else {
        return section == KILL;
    };
    // A job is everything that continues from one database, so it also holds rows of other
    // sections.
    let row = format!("{section}: ");
    let ends = |part: &Settings| {
        let workloads = part.get("workloads").and_then(Value::as_array);
        let mut shown = workloads.into_iter().flatten().filter_map(Value::as_str);
        let kills = part.get(KILL).or_else(|| fingerprint.everywhere.get(KILL));
        kills == Some(&Value::Bool(true)) && shown.any(|entry| entry.starts_with(&row))
    };
    fingerprint.jobs.values().flatten().any(ends)
}

/// Returns the aggregation of rounds of a suite.
fn aggregate(source: &ReportInput, suite: Option<&str>) -> Aggregate {
    source
        .outline(suite)
        .map_or_else(Aggregate::default, |outline| outline.aggregate)
}
