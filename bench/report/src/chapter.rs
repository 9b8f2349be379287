//! The chapters of the report, in order: those of the page of 2011, then those it lacked.

mod bias;
mod builds;
mod compare;
mod cost;
mod directories;
mod fairness;
mod harness;
mod latency;
mod overview;
mod provenance;
mod published_compare;
mod results;
mod tally;
mod timeline;
mod warnings;

use crate::document::{Bars, Block};
use crate::run::Run;
use crate::table::Table;

/// Returns the whole report.
pub(crate) fn all(run: &Run) -> Vec<Block> {
    let chapters: [fn(&Run) -> Vec<Block>; 15] = [
        overview::title,
        overview::glance,
        provenance::source_code,
        builds::builds,
        fairness::rules,
        results::results,
        latency::latency,
        timeline::timeline,
        cost::costs,
        compare::growth,
        harness::harness,
        published_compare::pages,
        bias::biases,
        provenance::provenance,
        provenance::missing,
    ];
    let mut blocks: Vec<Block> = chapters.iter().flat_map(|chapter| chapter(run)).collect();
    blocks.extend(provenance::acknowledgements());
    blocks
}

/// Returns the title and warnings, for the head of the bars.
pub(crate) fn bars_head(run: &Run) -> Vec<Block> {
    overview::title(run)
}

/// Returns the warnings, for the summary.
pub(crate) fn notes(run: &Run) -> Vec<String> {
    warnings::warnings(run)
}

/// Ending of the warning that counts failures.
pub(crate) const FAILURES_NOTE: &str = warnings::FAILURES_NOTE;

/// Returns the number of rows in which CairnDB is ahead, for the summary.
pub(crate) fn tally(run: &Run) -> Option<String> {
    tally::tally(run)
}

/// Returns CairnDB's rate over that of the best ranked peer, and the peer's title with a remark on
/// ties.
pub(crate) fn to_best_peer(table: &Table) -> Option<(f64, String)> {
    tally::to_best_peer(table)
}

/// Formats a rate, or the time of an event.
pub(crate) fn amount(table: &Table, rate: f64) -> String {
    overview::amount(table, rate)
}

/// Returns the number of rows in which CairnDB is ahead, for the end of the bars.
pub(crate) fn bars_end(run: &Run) -> Option<String> {
    tally::wins(run)
}

/// Returns the explanation of the mark of rows that merge by hand, if there are any.
pub(crate) fn by_hand(run: &Run) -> Option<String> {
    fairness::by_hand(run)
}

/// Returns the bars of one table.
pub(crate) fn bars(run: &Run, table: &Table) -> Bars {
    results::bars(run, table)
}
