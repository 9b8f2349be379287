//! The cases, one file for each part of the contract.

mod batches;
mod compares;
mod ends;
mod points;
mod scans;
mod snapshots;
mod transactions;

use crate::testing::case::Case;

pub(super) fn all() -> Vec<Case> {
    let parts = [
        points::list(),
        batches::list(),
        scans::list(),
        snapshots::list(),
        compares::list(),
        transactions::list(),
        ends::list(),
    ];
    parts.into_iter().flatten().collect()
}
