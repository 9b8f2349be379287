//! The chapter written against ourselves: where CairnDB loses, which defaults favour which store,
//! and what the classic data flatters. Losses come from the records; the rest is prose about our
//! own choices.

mod filters;
mod own_choices;

use std::fmt::Write as _;

use bench_core::result::standing::Standing;

use crate::chapter::cost::{self, COMPARED, COSTS};
use crate::chapter::{latency, overview};
use crate::document::{Block, Cell, Grid, Line, PERCENTILES, Tone};
use crate::engine_style;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table, standing, verdict};

/// Costs within this ratio count as equal.
const LEVEL: f64 = 1.05;

/// Returns the chapter.
pub(crate) fn biases(run: &Run) -> Vec<Block> {
    if run.tables.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::PageBreak,
        Block::heading(2, "Biases"),
        Block::text("This chapter is written against ourselves."),
        Block::heading(3, "Where CairnDB Loses"),
    ];
    blocks.extend(losses(run));
    blocks.push(Block::heading(3, "Which Defaults Favour Which Store"));
    blocks.push(Block::List(own_choices::defaults(run)));
    blocks.push(Block::heading(3, "What the Classic Data Flatters"));
    blocks.push(Block::List(own_choices::data()));
    blocks.extend(data_sets(run));
    blocks
}

/// A row in which a peer is ahead, either in every round or in the middle one.
struct Loss<'r> {
    table: &'r Table,
    peer: &'r Row,
    times: f64,
    tie: bool,
}

fn losses(run: &Run) -> Vec<Block> {
    let measured = run
        .tables
        .iter()
        .any(|table| standing::ours(table).is_some());
    if !measured {
        return vec![Block::text("CairnDB has no figure in this run.")];
    }
    let compared = run.tables.iter().filter(|table| table.compares());
    let mut lost: Vec<Loss<'_>> = compared.filter_map(loss).collect();
    lost.sort_by(|a, b| b.times.total_cmp(&a.times));
    let (ties, losses): (Vec<_>, Vec<_>) = lost.into_iter().partition(|loss| loss.tie);
    let mut blocks = Vec::new();
    if losses.is_empty() {
        blocks.push(Block::text(
            "No peer, ranked or not, is ahead by more than the spread in any row of this run.",
        ));
    } else {
        blocks.push(Block::text(
            "Rows in which another store is ahead by more than the spread, worst first. Unranked stores count here. A row of one round has no spread and is compared by its figure alone.",
        ));
        let head = ["Row", "Ahead", "its figure", "CairnDB", "times as much"];
        let lines = losses.iter().map(|loss| loss_line(run, loss)).collect();
        blocks.push(Block::Grid(Grid {
            head: head.map(str::to_owned).to_vec(),
            lines,
        }));
    }
    if !ties.is_empty() {
        let names: Vec<String> = ties
            .iter()
            .map(|loss| format!("{} ({})", outline::label(loss.table), loss.peer.title()))
            .collect();
        blocks.push(Block::text(format!(
            "Ahead in its middle round, but within the spread: {}.",
            verdict::list(&names)
        )));
    }
    blocks.extend(dearer(run));
    blocks
}

/// Returns the fastest store that is ahead of us in every round, ranked or not; if there is none,
/// the one whose middle round is furthest ahead.
fn loss(table: &Table) -> Option<Loss<'_>> {
    let (row, ours) = standing::ours(table)?;
    let (peer, tie) = match standing::among_all(table, row)? {
        Standing::Ahead => return None,
        Standing::Tied(peer) => (peer, true),
        Standing::Behind(peer) => (peer, false),
    };
    let times = standing::over(peer.rate()?, ours).filter(|&times| times > 1.0)?;
    Some(Loss {
        table,
        peer,
        times,
        tie,
    })
}

fn loss_line(run: &Run, loss: &Loss<'_>) -> Line {
    let words = run.suite_words(loss.table.key.suite.as_deref());
    let amount = |row: Option<&Row>| {
        let rate = row.and_then(Row::rate)?;
        Some(overview::amount(loss.table, rate.middle))
    };
    let mut peer = Cell::name(loss.peer.name());
    if let Some(reason) = loss.peer.unranked() {
        // Writing to a String cannot fail, here and below.
        let _ = write!(peer.text, ", not ranked: {reason}");
    }
    Line::Cells(vec![
        Cell::plain(format!("{words}{}", outline::label(loss.table))),
        peer,
        Cell::number(amount(Some(loss.peer))),
        Cell::number(amount(loss.table.row(engine_style::OURS))),
        Cell::toned(format!("{}x", number::ratio(loss.times)), Tone::Bad),
    ])
}

/// A cost compared over all tables.
struct Compared<'r> {
    title: String,
    rows: usize,
    lost: usize,
    worst: Option<(&'r Table, &'r Row, f64)>,
}

/// Returns the costs in which CairnDB exceeds a peer: CPU, memory, disk, writes, latency.
fn dearer(run: &Run) -> Vec<Block> {
    let mut all: Vec<Compared<'_>> = Vec::new();
    for cost in COMPARED.map(|index| &COSTS[index]) {
        all.push(compared(run, cost.title.to_owned(), |row| {
            cost::compared(row, cost)
        }));
    }
    for (index, percentile) in PERCENTILES.iter().enumerate() {
        let value = |row: &Row| latency::percentiles(row)?.points[index].map(number::float);
        all.push(compared(run, format!("latency, {percentile}"), value));
    }
    all.retain(|compared| compared.rows > 0);
    if all.is_empty() {
        return Vec::new();
    }
    let lines = all.into_iter().map(|compared| {
        let (row, peer, times) = match compared.worst {
            Some((table, peer, times)) => (
                Cell::plain(outline::label(table)),
                Cell::name(peer.name()),
                Cell::toned(format!("{}x", number::ratio(times)), Tone::Bad),
            ),
            None => (Cell::number(None), Cell::number(None), Cell::number(None)),
        };
        let count = format!("{} of {}", compared.lost, compared.rows);
        Line::Cells(vec![
            Cell::plain(compared.title),
            Cell::number(Some(count)),
            row,
            peer,
            times,
        ])
    });
    let head = [
        "Cost",
        "rows in which a peer is cheaper",
        "worst row",
        "against",
        "times as much",
    ];
    vec![
        Block::text("Rows in which another store needs less (by more than 5 %):"),
        Block::Grid(Grid {
            head: head.map(str::to_owned).to_vec(),
            lines: lines.collect(),
        }),
    ]
}

fn compared(run: &Run, title: String, value: impl Fn(&Row) -> Option<f64>) -> Compared<'_> {
    let mut result = Compared {
        title,
        rows: 0,
        lost: 0,
        worst: None,
    };
    for table in run.tables.iter().filter(|table| table.compares()) {
        let Some(ours) = table
            .row(engine_style::OURS)
            .filter(|row| row.rate().is_some())
            .and_then(&value)
        else {
            continue;
        };
        let peers = table
            .engines()
            .filter(|row| !standing::is_ours(row) && row.rate().is_some());
        let least = peers
            .filter_map(|row| Some((row, value(row)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((peer, theirs)) = least else {
            continue;
        };
        result.rows += 1;
        if ours > theirs * LEVEL {
            result.lost += 1;
            let times = ours / theirs;
            // There is no ratio to zero.
            let worse = result.worst.is_none_or(|(_, _, worst)| times > worst);
            if times.is_finite() && worse {
                result.worst = Some((table, peer, times));
            }
        }
    }
    result
}

/// Returns the rows that ran with both data sets, and the differences between them.
fn data_sets(run: &Run) -> Vec<Block> {
    let mut lines = Vec::new();
    for table in &run.tables {
        if table.key.data.as_deref() != Some("synthetic") {
            continue;
        }
        let twin = run.tables.iter().find(|other| {
            other.key.data.as_deref() == Some("json")
                && other.key.suite == table.key.suite
                && other.key.section == table.key.section
                && other.key.workload == table.key.workload
                && other.state == table.state
                && other.key.threads == table.key.threads
        });
        if let Some(twin) = twin {
            let mut cells = vec![Cell::plain(outline::label(table))];
            cells.extend(overview::to_best_peer(table));
            cells.extend(overview::to_best_peer(twin));
            lines.push(Line::Cells(cells));
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let head = [
        "CairnDB to the best peer",
        "classic data",
        "best peer",
        "JSON records",
        "best peer",
    ]
    .map(str::to_owned)
    .to_vec();
    vec![
        Block::text("The same rows with both data sets:"),
        Block::Grid(Grid { head, lines }),
    ]
}
