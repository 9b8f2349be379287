//! What the figures say against CairnDB: rows it loses, and costs in which a peer is cheaper.

use bench_core::result::standing::Standing;

use crate::cost::{self, COMPARED, COSTS, PERCENTILES};
use crate::engine;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::sheets::sheet::Sheet;
use crate::table::{Row, Table, standing};
use crate::verdict::times_text;

/// Costs within this ratio count as equal.
const LEVEL: f64 = 1.05;

/// Returns the rows in which a peer is ahead, either in every round or in the middle one.
pub(super) fn losses(run: &Run, prose: &'static str) -> Sheet {
    let compared = run.tables.iter().filter(|table| table.compares());
    let mut lost: Vec<(bool, f64, Vec<String>)> = compared.filter_map(|it| loss(run, it)).collect();
    lost.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut lines: Vec<Vec<String>> = lost.into_iter().map(|(.., line)| line).collect();
    if lines.is_empty() && run.tables.iter().any(|it| standing::ours(it).is_some()) {
        lines.push(vec![
            "No peer, ranked or not, is ahead in any row of this run.".to_owned(),
        ]);
    }
    let head = ["Row", "Ahead", "its figure", "CairnDB", "times as much", ""];
    Sheet::new("Where CairnDB loses", prose, &head, lines)
}

/// Returns the fastest store that is ahead of us in every round, ranked or not; if there is none,
/// the one whose middle round is furthest ahead.
fn loss(run: &Run, table: &Table) -> Option<(bool, f64, Vec<String>)> {
    let (row, ours) = standing::ours(table)?;
    let (peer, tie) = match standing::among_all(table, row)? {
        Standing::Ahead => return None,
        Standing::Tied(peer) => (peer, true),
        Standing::Behind(peer) => (peer, false),
    };
    let theirs = peer.rate()?;
    let times = standing::over(theirs, ours).filter(|&times| times > 1.0)?;
    let mut title = peer.title();
    if let Some(reason) = peer.unranked() {
        title = format!("{title}, not ranked: {reason}");
    }
    let line = vec![
        outline::full_label(run, table),
        title,
        table.amount(theirs.middle),
        table.amount(ours.middle),
        times_text(times),
        if tie { "within the spread" } else { "" }.to_owned(),
    ];
    Some((tie, times, line))
}

/// Returns the costs in which CairnDB exceeds a peer: CPU, memory, disk, writes, latency.
pub(super) fn dearer(run: &Run) -> Sheet {
    let costs = COMPARED.map(|at| {
        let title = COSTS[at].title.to_owned();
        compared(run, title, |row| cost::compared(row, at))
    });
    let percentiles = (0..PERCENTILES.len()).map(|at| {
        let value = |row: &Row| cost::percentiles(row)?[at].map(number::float);
        compared(run, format!("latency, {}", PERCENTILES[at]), value)
    });
    let head = [
        "Cost",
        "rows in which a peer is cheaper",
        "worst row",
        "against",
        "times as much",
    ];
    let lines = costs.into_iter().chain(percentiles).flatten().collect();
    Sheet::new(
        "Where a peer needs less (by more than 5 %)",
        "",
        &head,
        lines,
    )
}

/// Compares a cost over all tables.
fn compared(run: &Run, title: String, value: impl Fn(&Row) -> Option<f64>) -> Option<Vec<String>> {
    let (mut rows, mut lost) = (0, 0);
    let mut worst: Option<(f64, String, String)> = None;
    for table in run.tables.iter().filter(|table| table.compares()) {
        let row = standing::ours(table).map(|(row, _)| row);
        let Some(ours) = row.and_then(&value) else {
            continue;
        };
        let peers = table.engines().filter(|row| !engine::is_ours(&row.engine));
        let measured = peers.filter(|row| row.rate().is_some());
        let costs = measured.filter_map(|row| Some((row, value(row)?)));
        let Some((peer, theirs)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            continue;
        };
        rows += 1;
        lost += u32::from(ours > theirs * LEVEL);
        let times = ours / theirs;
        // There is no ratio to zero.
        let more = worst.as_ref().is_none_or(|(most, ..)| times > *most);
        if ours > theirs * LEVEL && times.is_finite() && more {
            worst = Some((times, outline::full_label(run, table), peer.title()));
        }
    }
    let (times, row, peer) = worst.unwrap_or_default();
    let times = if times > 0.0 {
        times_text(times)
    } else {
        String::new()
    };
    (rows > 0).then(|| vec![title, format!("{lost} of {rows}"), row, peer, times])
}
