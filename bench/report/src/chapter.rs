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

/// Title and warnings, for the summary.
pub(crate) fn summary_head(run: &Run) -> Vec<Block> {
    overview::title(run)
}

/// How many rows CairnDB is ahead in, for the end of the summary.
pub(crate) fn summary_end(run: &Run) -> Option<String> {
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
