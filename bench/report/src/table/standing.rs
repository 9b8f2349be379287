//! Rankings of a table's rows, and ratios to the baseline of the same engine.

use bench_core::result::spread::Spread;
use bench_core::result::standing::{self, Standing};

use crate::engine;
use crate::run::Run;
use crate::table::{Row, Table};

/// A ranked row with its rate.
pub(crate) type Ranked<'t> = (&'t Row, &'t Spread);

/// Returns the ranked rows, fastest first.
pub(crate) fn ranking(table: &Table) -> Vec<Ranked<'_>> {
    let ranked = table.rows.iter().filter(|row| row.is_ranked());
    let mut rows: Vec<Ranked<'_>> = ranked.filter_map(|row| Some((row, row.rate()?))).collect();
    rows.sort_by(|a, b| b.1.middle.total_cmp(&a.1.middle));
    rows
}

/// Returns the rows that no ranked row is ahead of, fastest first: the first, and those that tie
/// with it.
pub(crate) fn leaders(table: &Table) -> Vec<Ranked<'_>> {
    let ranking = ranking(table);
    let beaten = |rate: &Spread| ranking.iter().any(|(_, other)| other.beats(rate));
    let unbeaten = ranking.iter().filter(|(_, rate)| !beaten(rate));
    unbeaten.copied().collect()
}

/// Returns the standing of a row among the ranked rows of other stores, our own interfaces
/// excluded; `None` if it has no rate or there are no others.
pub(crate) fn among_ranked<'t>(table: &'t Table, row: &Row) -> Option<Standing<&'t Row>> {
    let others = ranking(table)
        .into_iter()
        .filter(|(other, _)| !engine::is_ours(&other.engine) && !std::ptr::eq(*other, row));
    standing::standing(row.rate()?, others.map(|(other, rate)| (other, *rate)))
}

/// Like [`among_ranked`], but among all other rows, ranked or not.
pub(crate) fn among_all<'t>(table: &'t Table, row: &Row) -> Option<Standing<&'t Row>> {
    let others = table
        .engines()
        .filter(|other| !engine::is_ours(&other.engine));
    let others = others.filter_map(|other| Some((other, *other.rate()?)));
    standing::standing(row.rate()?, others)
}

/// Returns the fastest ranked row of another store.
pub(crate) fn best_peer(table: &Table) -> Option<Ranked<'_>> {
    ranking(table)
        .into_iter()
        .find(|(row, _)| !engine::is_ours(&row.engine))
}

/// Returns our row with its ordinary settings, ranked or not.
pub(crate) fn ours(table: &Table) -> Option<Ranked<'_>> {
    let row = table.row(engine::OURS)?;
    Some((row, row.rate()?))
}

/// Returns the row that ratios refer to.
pub(crate) fn reference(table: &Table) -> Option<Ranked<'_>> {
    let row = table.row(engine::REFERENCE)?;
    Some((row, row.rate()?))
}

/// Returns the ratio of two rates.
pub(crate) fn over(rate: &Spread, other: &Spread) -> Option<f64> {
    (other.middle > 0.0).then(|| rate.middle / other.middle)
}

/// Returns whether `base` is the table that `table` is divided by.
fn is_base(run: &Run, table: &Table, base: &Table) -> bool {
    let alike = base.key.suite == table.key.suite
        && base.key.data == table.key.data
        && base.state == table.state;
    let named = || {
        let sections = &run.outline(table.key.suite.as_deref())?.sections;
        let name = table.key.section.as_deref()?;
        let section = sections.iter().find(|section| section.name == name)?;
        section.baseline.as_ref()
    };
    alike && named().is_some_and(|named| base.key.section.as_ref() == Some(named))
}

/// Returns the ratio of the row's rate to its own engine's figure in its baseline section, if there
/// is one: in the first table there with the same data, key and value sizes and state of the store.
pub(crate) fn times_baseline(run: &Run, table: &Table, row: &Row) -> Option<f64> {
    let mut tables = run.tables.iter();
    let base = tables.find(|base| is_base(run, table, base))?;
    let same = |other: &&Row| other.engine == row.engine && other.variant == row.variant;
    let base = base.rows.iter().find(same)?;
    let sizes = |row: &Row| row.first(|record| Some((record.key_bytes?, record.value_bytes?)));
    if sizes(base) != sizes(row) {
        return None;
    }
    over(row.rate()?, base.rate()?)
}
