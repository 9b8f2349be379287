//! The report as data: everything that a form shows, made from the records in one pass.

use bench_core::result::outline::{Aggregate, Outline};
use bench_core::result::spread::Spread;
use serde::Serialize;

use crate::cost::{self, COSTS, Percentiles};
use crate::engine;
use crate::notes;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::sheets::{self, Sheet};
use crate::table::{Key, Outcome, Row, Table, standing};
use crate::verdict::{self, Peer};
use crate::warnings;

/// The report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Model {
    /// Day, program and machine.
    pub(crate) origin: String,
    /// The answer in one sentence; empty if nothing can be compared.
    pub(crate) verdict: String,
    /// What the verdict leaves out.
    pub(crate) remarks: String,
    /// The best peers, the best first.
    pub(crate) peers: Vec<Peer>,
    /// What the reader must know before trusting a figure.
    pub(crate) warnings: Vec<String>,
    /// Failed rows with their reasons.
    pub(crate) failures: Vec<String>,
    /// Name, entries and rounds of each suite.
    pub(crate) suite_lines: Vec<String>,
    /// The tables that count, in the order of their suites.
    pub(crate) tables: Vec<TableModel>,
    /// Every row: of tables that count, then of earlier instances.
    pub(crate) results: Vec<RowModel>,
    /// Titles of the costs in each row.
    pub(crate) cost_titles: Vec<&'static str>,
    /// Everything else.
    pub(crate) sheets: Vec<Sheet>,
}

/// One workload in one section.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TableModel {
    pub(crate) suite: Option<String>,
    pub(crate) chapter: String,
    /// Heading of its section.
    pub(crate) heading: String,
    /// Section, workload, state and data.
    pub(crate) label: String,
    /// What the workload does, and what its suite says about the section.
    pub(crate) about: String,
    /// `ops/sec`, `entries/sec` or `time`.
    pub(crate) unit: &'static str,
    /// Section of the page of 2011.
    pub(crate) place: Option<&'static str>,
    /// Whether a store took part and the rows compare stores.
    pub(crate) compares: bool,
    /// CairnDB's figure, `FAILED`, or a dash.
    pub(crate) ours: String,
    /// LevelDB's, likewise.
    pub(crate) leveldb: String,
    /// That of the best ranked peer.
    pub(crate) best: String,
    /// Title of that peer, with a remark on ties.
    pub(crate) peer: String,
    pub(crate) times_best_peer: Option<f64>,
    /// The same as text, or a dash.
    pub(crate) ratio: String,
    pub(crate) times_leveldb: Option<f64>,
    /// CairnDB among the ranked stores: `ahead`, `tie` or `behind`.
    pub(crate) standing: Option<&'static str>,
    pub(crate) notes: Vec<String>,
}

/// Statistics of one engine and variant in one table.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent columns of a table"
)]
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RowModel {
    /// Position of its table; absent for instances that do not count.
    pub(crate) table: Option<usize>,
    #[serde(flatten)]
    pub(crate) key: Key,
    pub(crate) state: Option<&'static str>,
    pub(crate) engine: String,
    pub(crate) engine_version: Option<String>,
    pub(crate) variant: Option<String>,
    /// Title with variant and mark.
    pub(crate) title: String,
    pub(crate) durability: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<String>,
    pub(crate) ranked: bool,
    /// Why a measured row is not ranked.
    pub(crate) unranked: Option<&'static str>,
    /// Whether no ranked row is ahead.
    pub(crate) leads: bool,
    /// Whether the row merged with a read and a put.
    pub(crate) by_hand: bool,
    pub(crate) aggregate: Aggregate,
    pub(crate) ops_per_sec: Option<Spread>,
    /// The rate, or the time of an event, as text.
    pub(crate) figure: String,
    /// Lowest and highest round as text.
    pub(crate) range: Option<String>,
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
    /// Costs in the order of the titles: nanoseconds, bytes or ratios.
    pub(crate) costs: Vec<Option<f64>>,
    pub(crate) percentiles_ns: Option<Percentiles>,
    /// Operations in each second, if the row was long enough.
    pub(crate) seconds: Vec<u64>,
}

/// Returns the report of a run.
pub(crate) fn of(run: &Run) -> Model {
    let counted = run.tables.iter().enumerate();
    let counted = counted.flat_map(|(at, table)| rows(run, table, Some(at)));
    let earlier = run.earlier.iter().flat_map(|table| rows(run, table, None));
    Model {
        origin: origin(run),
        verdict: verdict::sentence(run).unwrap_or_default(),
        remarks: verdict::remarks(run),
        peers: verdict::peers(run),
        warnings: warnings::warnings(run),
        failures: sheets::failures(run),
        suite_lines: suite_lines(run),
        tables: run
            .tables
            .iter()
            .map(|table| table_model(run, table))
            .collect(),
        results: counted.chain(earlier).collect(),
        cost_titles: COSTS.iter().map(|cost| cost.title).collect(),
        sheets: if run.tables.is_empty() {
            Vec::new()
        } else {
            sheets::sheets(run)
        },
    }
}

fn table_model(run: &Run, table: &Table) -> TableModel {
    let figure = |engine: &str| match table.row(engine).map(|row| &row.outcome) {
        Some(Outcome::Measured(rate)) => table.amount(rate.middle),
        Some(Outcome::Failed(_)) => "FAILED".into(),
        Some(Outcome::Skipped(_)) | None => "-".into(),
    };
    let heading = outline::heading(run, table);
    let best = standing::best_peer(table);
    let (ratio, peer) = verdict::to_best_peer(table).unzip();
    let over = |(_, other): standing::Ranked<'_>| standing::over(standing::ours(table)?.1, other);
    let help = table.workload().map_or("", |workload| workload.help);
    let separator = if help.is_empty() || heading.about.is_empty() {
        ""
    } else {
        ". "
    };
    TableModel {
        suite: table.key.suite.clone(),
        chapter: heading.chapter,
        heading: heading.section,
        label: outline::label(table),
        about: format!("{help}{separator}{}", heading.about),
        unit: table.unit(),
        place: outline::place(&table.key),
        compares: table.engines().next().is_some() && table.compares(),
        ours: figure(engine::OURS),
        leveldb: figure(engine::REFERENCE),
        best: best.map_or("-".into(), |(_, rate)| table.amount(rate.middle)),
        peer: peer
            .or(best.map(|(row, _)| row.title()))
            .unwrap_or_default(),
        times_best_peer: ratio,
        ratio: ratio.map_or_else(|| "-".into(), verdict::times_text),
        times_leveldb: standing::reference(table).and_then(over),
        standing: verdict::standing(table),
        notes: notes::notes(run, table),
    }
}

fn rows<'r>(
    run: &'r Run,
    table: &'r Table,
    at: Option<usize>,
) -> impl Iterator<Item = RowModel> + 'r {
    table
        .rows
        .iter()
        .map(move |row| row_model(run, table, row, at))
}

fn row_model(run: &Run, table: &Table, row: &Row, at: Option<usize>) -> RowModel {
    let rate = row.rate();
    let against = |other: Option<standing::Ranked<'_>>| standing::over(rate?, other?.1);
    let peer = standing::best_peer(table).filter(|(peer, _)| !std::ptr::eq(*peer, row));
    let leaders = standing::leaders(table);
    let (status, reason) = match &row.outcome {
        Outcome::Measured(_) => ("ok", None),
        Outcome::Skipped(reason) => ("skipped", Some(reason.clone())),
        Outcome::Failed(reason) => ("failed", Some(reason.clone())),
    };
    RowModel {
        table: at,
        key: table.key.clone(),
        state: table.state,
        engine: row.engine.clone(),
        engine_version: row.first(|record| record.engine_version.clone()),
        variant: row.variant.clone(),
        title: row.title(),
        durability: row.first(|record| record.durability.clone()),
        status,
        reason,
        ranked: row.is_ranked(),
        unranked: row.unranked(),
        leads: leaders.iter().any(|(leader, _)| std::ptr::eq(*leader, row)),
        by_hand: row.by_hand(),
        aggregate: run.aggregate(table),
        ops_per_sec: rate.copied(),
        figure: rate.map_or_else(String::new, |rate| table.amount(rate.middle)),
        range: rate
            .filter(|rate| rate.rounds > 1)
            .map(|rate| range(table, rate)),
        writer_ops_per_sec: row.writer(),
        times_baseline: standing::times_baseline(run, table, row),
        times_leveldb: against(standing::reference(table)),
        best_peer: peer.map(|(peer, _)| peer.title().replace(engine::BY_HAND, "")),
        times_best_peer: against(peer),
        ties_best_peer: rate.zip(peer).map(|(rate, (_, best))| rate.ties(best)),
        standing: standing::among_ranked(table, row).map(|standing| standing.word()),
        counted: at.is_some(),
        costs: (0..COSTS.len()).map(|at| cost::value(row, at)).collect(),
        percentiles_ns: cost::percentiles(row),
        seconds: cost::seconds(row),
    }
}

/// Returns the ends of a spread as text: an event's lowest time is its highest rate.
fn range(table: &Table, rate: &Spread) -> String {
    let (mut first, mut last) = (rate.low, rate.high);
    if table.is_event() {
        std::mem::swap(&mut first, &mut last);
    }
    format!("{} to {}", table.amount(first), table.amount(last))
}

/// Returns day, program and machine.
fn origin(run: &Run) -> String {
    let machine = run.source.machines.first();
    let text = |name| machine.and_then(|machine| machine.text(name));
    let number = |name| machine.and_then(|machine| machine.number(name));
    let parts = [
        number("started_at").map(number::day),
        text("db_bench").map(|version| format!("db_bench {version}")),
        text("cpu"),
        number("cpus").map(|cpus| format!("{cpus} cores")),
        number("memory_bytes").map(|bytes| format!("{} of memory", number::memory(bytes))),
        text("kernel"),
        text("file_system"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns suites, entries and rounds.
fn suite_lines(run: &Run) -> Vec<String> {
    let line = |outline: &Outline| {
        let tables = run.tables.iter();
        let own = tables.filter(|table| table.key.suite.as_ref() == Some(&outline.name));
        let rounds = own
            .flat_map(Table::engines)
            .map(Row::rounds)
            .max()
            .unwrap_or(0);
        let plural = if rounds == 1 { "" } else { "s" };
        let how = outline.aggregate.words();
        let entries = number::thousands(outline.num);
        format!(
            "{}: {entries} entries, {how} of {rounds} round{plural}; operations per second",
            outline.name
        )
    };
    run.source.suites.iter().map(line).collect()
}
