//! Who is ahead: of a table's ranked rows, and against the baseline of the same engine.

use bench_core::definition::{Action, Order, Target};

use crate::face;
use crate::outline;
use crate::spread::Spread;
use crate::table::{Row, Table};

/// A ranked row with its rate.
pub(crate) type Ranked<'t> = (&'t Row, &'t Spread);

/// Ranked rows, fastest first.
pub(crate) fn ranking(table: &Table) -> Vec<Ranked<'_>> {
    let ranked = table.rows.iter().filter(|row| row.is_ranked());
    let mut rows: Vec<Ranked<'_>> = ranked.filter_map(|row| Some((row, row.rate()?))).collect();
    rows.sort_by(|a, b| b.1.middle.total_cmp(&a.1.middle));
    rows
}

/// Whether the row is this project's store, through whichever interface.
pub(crate) fn is_ours(row: &Row) -> bool {
    row.engine == face::OURS || row.engine == face::OURS_IN_C
}

/// The fastest ranked row of another store.
pub(crate) fn best_peer(table: &Table) -> Option<Ranked<'_>> {
    ranking(table).into_iter().find(|(row, _)| !is_ours(row))
}

/// Our row with its ordinary settings, ranked or not.
pub(crate) fn ours(table: &Table) -> Option<Ranked<'_>> {
    let row = table.row(face::OURS)?;
    Some((row, row.rate()?))
}

/// The row ratios refer to.
pub(crate) fn reference(table: &Table) -> Option<Ranked<'_>> {
    let row = table.row(face::REFERENCE)?;
    Some((row, row.rate()?))
}

/// A rate over another.
pub(crate) fn over(rate: &Spread, other: &Spread) -> Option<f64> {
    (other.middle > 0.0).then(|| rate.middle / other.middle)
}

/// The section-1 workload that a row of the other sections is divided by.
fn base_of(table: &Table) -> Option<(&'static str, &'static str)> {
    let workload = table.workload()?;
    match workload.action {
        Action::Fill(Order::Sequential) => Some(("1C", "fillseq")),
        Action::Fill(Order::Random) => Some(("1D", "fillrandom")),
        Action::Scan { backward: false } => Some(("1A", "readseq")),
        Action::Get(Target::All) => Some(("1B", "readrandom")),
        _ => None,
    }
}

/// The row's rate over its own engine's figure of section 1, where there is one that compares: the
/// same data, key and value sizes, and for reads the same state of the store.
pub(crate) fn times_baseline(tables: &[Table], table: &Table, row: &Row) -> Option<f64> {
    let place = outline::place(&table.key)?;
    if place.starts_with('1') {
        return None;
    }
    let (base_place, base_workload) = base_of(table)?;
    let base = tables.iter().find(|other| {
        outline::place(&other.key) == Some(base_place)
            && other.key.workload == base_workload
            && other.key.suite == table.key.suite
            && other.key.data == table.key.data
            && other.state == table.state
    })?;
    let same = |other: &&Row| other.engine == row.engine && other.variant == row.variant;
    let base = base.rows.iter().find(same)?;
    let sizes = |row: &Row| row.first(|record| Some((record.key_bytes?, record.value_bytes?)));
    if sizes(base) != sizes(row) {
        return None;
    }
    over(row.rate()?, base.rate()?)
}
