//! `report.json`: the records as they came, and the statistics made from them.
//!
//! `results` is for people and scripts; when the file is read back, everything is recomputed from
//! `records`.

use std::fmt::Write as _;

use bench_core::result::outline::{Aggregate, Outline};
use bench_core::result::record::Record;
use bench_core::result::spread::Spread;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::input::{Build, Machine, ReportInput};
use crate::outline;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing};

/// The version of this file's layout.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Read {
    report: u32,
    #[serde(default)]
    aggregate: Option<Aggregate>,
    #[serde(default)]
    machines: Vec<Machine>,
    #[serde(default)]
    suites: Vec<Outline>,
    #[serde(default)]
    builds: Vec<Build>,
    #[serde(default)]
    ended: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    records: Vec<Record>,
}

/// Statistics of one row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Statistics {
    pub(crate) suite: Option<String>,
    pub(crate) section: Option<String>,
    pub(crate) workload: String,
    pub(crate) instance: u32,
    pub(crate) state: Option<&'static str>,
    pub(crate) data: Option<String>,
    pub(crate) threads: Option<u32>,
    pub(crate) file_system: Option<String>,
    pub(crate) engine: String,
    pub(crate) engine_version: Option<String>,
    pub(crate) variant: Option<String>,
    pub(crate) durability: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<String>,
    pub(crate) ranked: bool,
    /// Whether the row merged with a read and a put.
    pub(crate) by_hand: bool,
    pub(crate) aggregate: Aggregate,
    pub(crate) ops_per_sec: Option<Spread>,
    /// Rate of the concurrent writer; the middle is the median.
    pub(crate) writer_ops_per_sec: Option<Spread>,
    pub(crate) times_baseline: Option<f64>,
    pub(crate) times_leveldb: Option<f64>,
    pub(crate) best_peer: Option<String>,
    pub(crate) times_best_peer: Option<f64>,
    pub(crate) ties_best_peer: Option<bool>,
    /// Standing among the ranked rows of all other stores: `ahead`, `tie` or `behind`.
    pub(crate) standing: Option<&'static str>,
    /// Whether the row is shown and tallied; earlier instances than the one that counts are not.
    pub(crate) counted: bool,
}

/// Returns the statistics of every row.
pub(crate) fn statistics(run: &Run) -> Vec<Statistics> {
    let of_table = |table| rows(run, table, true);
    let of_earlier = |table| rows(run, table, false);
    let all = run.tables.iter().flat_map(of_table);
    all.chain(run.earlier.iter().flat_map(of_earlier)).collect()
}

fn rows(run: &Run, table: &Table, counted: bool) -> Vec<Statistics> {
    let with = |row| Statistics {
        counted,
        ..of(run, table, row)
    };
    table.rows.iter().map(with).collect()
}

fn of(run: &Run, table: &Table, row: &Row) -> Statistics {
    let key = &table.key;
    let rate = row.rate();
    let against = |other: Option<standing::Ranked<'_>>| standing::over(rate?, other?.1);
    let peer = standing::best_peer(table).filter(|(peer, _)| !std::ptr::eq(*peer, row));
    let (status, reason) = match &row.outcome {
        Outcome::Measured(_) => ("ok", None),
        Outcome::Skipped(reason) => ("skipped", Some(reason.clone())),
        Outcome::Failed(reason) => ("failed", Some(reason.clone())),
    };
    Statistics {
        suite: key.suite.clone(),
        section: key.section.clone(),
        workload: key.workload.clone(),
        instance: key.instance,
        state: outline::state(table.state),
        data: key.data.clone(),
        threads: key.threads,
        file_system: key.file_system.clone(),
        engine: row.engine.clone(),
        engine_version: row.first(|record| record.engine_version.clone()),
        variant: row.variant.clone(),
        durability: row.first(|record| record.durability.clone()),
        status,
        reason,
        ranked: row.is_ranked(),
        by_hand: row.by_hand(),
        aggregate: run.aggregate(table),
        ops_per_sec: rate.copied(),
        writer_ops_per_sec: row.writer(),
        times_baseline: standing::times_baseline(run, table, row),
        times_leveldb: against(standing::reference(table)),
        best_peer: peer.map(|(peer, _)| peer.bare_title()),
        times_best_peer: against(peer),
        ties_best_peer: rate.zip(peer).map(|(rate, (_, best))| rate.ties(best)),
        standing: standing::among_ranked(table, row).map(|standing| standing.word()),
        counted: true,
    }
}

/// Returns the whole file: an object of lists, each element on a line of its own.
pub(crate) fn write(run: &Run) -> Result<String, Error> {
    let source = &run.source;
    let mut text = format!("{{\n\"report\": {VERSION},\n");
    if let Some(aggregate) = source.aggregate {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "\"aggregate\": {},", one(&aggregate)?);
    }
    let lists = [
        ("machines", lines(&source.machines)?),
        ("suites", lines(&source.suites)?),
        ("builds", lines(&source.builds)?),
        ("ended", lines(&source.ended)?),
        ("notes", lines(&source.notes)?),
        ("results", lines(&statistics(run))?),
        ("records", lines(&source.records)?),
    ];
    let lists = lists.map(|(name, lines)| format!("\"{name}\": [{lines}]"));
    text.push_str(&lists.join(",\n"));
    text.push_str("\n}\n");
    Ok(text)
}

fn lines(elements: &[impl Serialize]) -> Result<String, Error> {
    let lines: Result<Vec<String>, Error> = elements.iter().map(one).collect();
    Ok(lines?
        .iter()
        .map(|line| format!("\n{line}"))
        .collect::<Vec<_>>()
        .join(","))
}

fn one(element: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(element)
        .map_err(|error| Error::new(format!("the report as JSON: {error}")))
}

/// Returns whether a text is a `report.json` and not lines of records, based on its first member.
pub(crate) fn is_report(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('{').unwrap_or_default();
    inner.trim_start().starts_with("\"report\"")
}

/// Reads the file back.
pub(crate) fn read(text: &str) -> Result<ReportInput, Error> {
    let read: Read =
        serde_json::from_str(text).map_err(|error| Error::new(format!("not a report: {error}")))?;
    if read.report != VERSION {
        return Err(Error::new(format!(
            "a report of version {}; this program reads version {VERSION}",
            read.report
        )));
    }
    Ok(ReportInput {
        machines: read.machines,
        suites: read.suites,
        builds: read.builds,
        ended: read.ended,
        notes: read.notes,
        records: read.records,
        aggregate: read.aggregate,
    })
}
