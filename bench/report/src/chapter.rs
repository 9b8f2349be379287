//! The chapters of the run, in order: those of the page of 2011, then what it lacked.

mod beside;
mod bias;
mod builds;
mod cost;
mod facts;
mod fair;
mod harness;
mod latency;
mod overview;
mod places;
mod results;
mod then;
mod timeline;
mod warnings;
mod wins;

use crate::document::{Bars, Block};
use crate::run::Run;
use crate::table::Table;

/// The whole report.
pub(crate) fn all(run: &Run) -> Vec<Block> {
    let chapters: [fn(&Run) -> Vec<Block>; 15] = [
        overview::title,
        overview::glance,
        facts::source_code,
        builds::builds,
        fair::rules,
        results::results,
        latency::latency,
        timeline::timeline,
        cost::costs,
        beside::growth,
        harness::harness,
        then::pages,
        bias::biases,
        facts::provenance,
        facts::missing,
    ];
    let mut blocks: Vec<Block> = chapters.iter().flat_map(|chapter| chapter(run)).collect();
    blocks.extend(facts::acknowledgements());
    blocks
}

/// Title and warnings, for the head of the bars.
pub(crate) fn bars_head(run: &Run) -> Vec<Block> {
    overview::title(run)
}

/// Warnings, for the summary.
pub(crate) fn notes(run: &Run) -> Vec<String> {
    warnings::warnings(run)
}

/// How the warning ends that counts failures.
pub(crate) const FAILURES_NOTE: &str = warnings::FAILURES_NOTE;

/// In how many rows CairnDB is ahead, for the summary.
pub(crate) fn tally(run: &Run) -> Option<String> {
    wins::tally(run)
}

/// CairnDB's rate over that of the best ranked peer, and the peer's title with a word about ties.
pub(crate) fn to_best_peer(table: &Table) -> Option<(f64, String)> {
    wins::to_best_peer(table)
}

/// A rate, or the time of an event.
pub(crate) fn amount(table: &Table, rate: f64) -> String {
    overview::amount(table, rate)
}

/// How many rows CairnDB is ahead in, for the end of the bars.
pub(crate) fn bars_end(run: &Run) -> Option<String> {
    wins::wins(run)
}

/// What the mark of rows that merge by hand stands for, where there are any.
pub(crate) fn by_hand(run: &Run) -> Option<String> {
    fair::by_hand(run)
}

/// The bars of one table.
pub(crate) fn bars(run: &Run, table: &Table) -> Bars {
    results::bars(run, table)
}
