//! The answer: in how many rows CairnDB is ahead, how far, of which peers, and at what cost.

use std::fmt::Write as _;

use bench_core::result::spread::Spread;
use bench_core::result::standing::Standing;
use bench_core::workload::definition::Workload;
use serde::Serialize;

use crate::cost;
use crate::engine;
use crate::number;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing};

/// Number of peers in the chart.
const PEERS_MAX: usize = 5;
/// Share of the rows of the peer with the most rows below which a mean says too little.
const ROWS_SHARE: usize = 4;

/// The geometric mean of CairnDB's ratios to one peer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Peer {
    /// Title.
    pub(crate) title: String,
    /// Geometric mean of the ratios.
    pub(crate) times: f64,
    /// The same as text.
    pub(crate) text: String,
    /// Number of rows in which both are ranked.
    pub(crate) rows: usize,
}

/// Returns the geometric mean of ratios; `None` if no ratio is above zero.
pub(crate) fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let usable = |ratio: &f64| *ratio > 0.0 && ratio.is_finite();
    let logs: Vec<f64> = ratios
        .iter()
        .filter(|ratio| usable(ratio))
        .map(|ratio| ratio.ln())
        .collect();
    let count = number::float(logs.len() as u64);
    (count > 0.0).then(|| (logs.iter().sum::<f64>() / count).exp())
}

/// Returns our row if it is ranked.
fn ours(table: &Table) -> Option<standing::Ranked<'_>> {
    standing::ours(table).filter(|(row, _)| row.is_ranked())
}

/// Returns the peers with the best rates, the best first: those that CairnDB is least ahead of.
pub(crate) fn peers(run: &Run) -> Vec<Peer> {
    let engines = run.engines().into_iter();
    let peers = engines
        .filter(|name| !engine::is_ours(name))
        .filter_map(|name| {
            let ratio = |table: &Table| {
                let peer = table.row(&name).filter(|row| row.is_ranked())?;
                standing::over(ours(table)?.1, peer.rate()?)
            };
            let ratios: Vec<f64> = run.tables.iter().filter_map(ratio).collect();
            let times = geometric_mean(&ratios)?;
            Some(Peer {
                title: engine::title(&name).to_owned(),
                times,
                text: times_text(times),
                rows: ratios.len(),
            })
        });
    let mut peers: Vec<Peer> = peers.collect();
    let most = peers.iter().map(|peer| peer.rows).max().unwrap_or(0);
    peers.retain(|peer| peer.rows * ROWS_SHARE >= most);
    peers.sort_by(|a, b| a.times.total_cmp(&b.times));
    peers.truncate(PEERS_MAX);
    peers
}

/// Formats a ratio: `1.98x`.
pub(crate) fn times_text(times: f64) -> String {
    format!("{}x", number::ratio(times))
}

/// Returns the ratio of our rate to the best ranked peer's, and the peer's title, with a remark on
/// a tie, or on another peer that it ties with or is behind.
pub(crate) fn to_best_peer(table: &Table) -> Option<(f64, String)> {
    let ((row, ours), (peer, theirs)) = (standing::ours(table)?, standing::best_peer(table)?);
    let same = |other: &Row| std::ptr::eq(other, peer);
    let word = match standing::among_ranked(table, row)? {
        Standing::Tied(other) if same(other) => ", tie".to_owned(),
        Standing::Tied(other) => format!(", tie with {}", other.title()),
        Standing::Behind(other) if !same(other) => format!(", behind {}", other.title()),
        Standing::Ahead | Standing::Behind(_) => String::new(),
    };
    let times = standing::over(ours, theirs)?;
    Some((times, format!("{}{word}", peer.title())))
}

/// Returns the standing of CairnDB among the ranked stores, if it is ranked itself.
pub(crate) fn standing(table: &Table) -> Option<&'static str> {
    let standing = standing::among_ranked(table, ours(table)?.0)?;
    Some(standing.word())
}

/// Returns the verdict in one sentence: how fast, in what, at what cost; `None` if CairnDB and a
/// peer share no ranked row.
pub(crate) fn sentence(run: &Run) -> Option<String> {
    let words: Vec<&str> = run.tables.iter().filter_map(standing).collect();
    let count = |word| words.iter().filter(|other| **other == word).count();
    let times = mean(run, |table, ours, peer| {
        rates(ours, peer).filter(|_| standing(table).is_some())
    })?;
    let mut text = format!(
        "CairnDB is {} times as fast as the best peer of each row",
        number::ratio(times)
    );
    let of = |fits: fn(&Workload) -> bool| {
        mean(run, |table, ours, peer| {
            rates(ours, peer).filter(|_| table.workload().is_some_and(fits))
        })
    };
    let kinds = [
        (of(|it| it.changes() && !it.is_event()), "writes"),
        (of(Workload::only_reads), "reads"),
        (of(Workload::is_event), "events"),
    ];
    let kinds = kinds.into_iter();
    let kinds = kinds.filter_map(|(mean, name)| Some(format!("{} in {name}", times_text(mean?))));
    let kinds: Vec<String> = kinds.collect();
    if kinds.len() > 1 {
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, " ({})", kinds.join(", "));
    }
    let cost = |value: fn(&Row) -> Option<f64>| {
        mean(run, |_, ours, peer| Some(value(ours)? / value(peer)?))
    };
    let costs = [
        (cost(|row| cost::value(row, cost::CPU)), "CPU time"),
        (cost(cost::memory), "peak memory"),
        (cost(|row| cost::value(row, cost::DISK)), "disk space"),
    ];
    let costs = costs.into_iter();
    let costs = costs.filter_map(|(mean, name)| Some(format!("{} its {name}", times_text(mean?))));
    let costs: Vec<String> = costs.collect();
    if !costs.is_empty() {
        let _ = write!(text, " for {}", crate::list::list(&costs));
    }
    let _ = write!(
        text,
        ", as geometric means; it is ahead in {} of {} rows, ties in {} and is behind in {}.",
        count("ahead"),
        words.len(),
        count("tie"),
        count("behind")
    );
    Some(text)
}

fn rates(ours: &Row, peer: &Row) -> Option<f64> {
    standing::over(ours.rate()?, peer.rate()?)
}

/// Returns the geometric mean of a ratio between our row and that of the best peer of each table.
fn mean(run: &Run, ratio: impl Fn(&Table, &Row, &Row) -> Option<f64>) -> Option<f64> {
    let of = |table: &Table| ratio(table, ours(table)?.0, standing::best_peer(table)?.0);
    let ratios: Vec<f64> = run.tables.iter().filter_map(of).collect();
    geometric_mean(&ratios)
}

/// Returns what the verdict leaves out.
pub(crate) fn remarks(run: &Run) -> String {
    let has_none_of_ours = |table: &&Table| {
        let without = |row: &Row| row.engine == engine::OURS && row.rate().is_none();
        table.engines().any(without) && standing::best_peer(table).is_some()
    };
    let ranked = || run.tables.iter().filter(|table| standing(table).is_some());
    let has_failed_peer = |table: &&Table| {
        table.engines().any(|row| {
            let failed = matches!(row.outcome, Outcome::Failed(_));
            failed && !engine::is_ours(&row.engine) && row.unranked().is_none()
        })
    };
    let is_wide = |table: &&Table| {
        let best = standing::best_peer(table).map(|(_, rate)| rate);
        let ours = ours(table).map(|(_, rate)| rate);
        ours.is_some_and(Spread::is_wide) || best.is_some_and(Spread::is_wide)
    };
    let plural = |rows: usize| if rows == 1 { "" } else { "s" };
    let mut sentences = Vec::new();
    let without = run.tables.iter().filter(has_none_of_ours).count();
    if without > 0 {
        sentences.push(format!(
            "In {without} more row{} CairnDB failed or was skipped and a peer was not.",
            plural(without)
        ));
    }
    let failed: Vec<&Table> = ranked().filter(has_failed_peer).collect();
    if !failed.is_empty() {
        let ahead = failed
            .iter()
            .filter(|table| standing(table) == Some("ahead"));
        sentences.push(format!(
            "In {} row{} of these a peer failed in at least one round and has no rank; CairnDB is \
             ahead in {} of them.",
            failed.len(),
            plural(failed.len()),
            ahead.count()
        ));
    }
    let wide = ranked().filter(is_wide).count();
    if wide > 0 {
        sentences.push(format!(
            "In {wide} row{} a round of CairnDB or of the best peer is more than a tenth away \
             from the middle: the row is \
             short, or the machine was busy, and another run may order them otherwise.",
            plural(wide)
        ));
    }
    let earlier = run.earlier.len();
    if earlier > 0 {
        sentences.push(format!(
            "If a suite counts the last instance of a workload in a section, only that one is \
             shown and counted; {earlier} \
             table{} of earlier instances are in report.csv and report.json.",
            plural(earlier)
        ));
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_mean_of_opposite_ratios_is_one() {
        let mean = geometric_mean(&[4.0, 0.25]).expect("two ratios");
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[0.0]), None);
    }
}
