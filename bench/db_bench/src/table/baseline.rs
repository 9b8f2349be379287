//! Figures of each engine divided by its figures in the baseline section.

use bench_core::result::outline::{Outline, Section};

use super::row::{Row, Rows};

/// Label of the line.
pub(super) const NAME: &str = "x baseline";

/// Formats a ratio with two significant digits: a synced row has a thousandth of the rate of an
/// unsynced one.
fn times(ratio: f64) -> String {
    match ratio {
        0.1.. => format!("{ratio:.2}x"),
        0.01..0.1 => format!("{ratio:.3}x"),
        0.001..0.01 => format!("{ratio:.4}x"),
        _ => format!("{ratio:.6}x"),
    }
}

/// Returns each engine's rate divided by its own rate in the baseline section, with the name of
/// that section; `None` if the section has no baseline, or nothing there was run with the same
/// data, settings and sizes.
pub(super) fn line(
    rows: &Rows,
    outline: &Outline,
    section: &Section,
    row: &Row,
) -> Option<(String, Vec<String>)> {
    let name = section.baseline.as_deref()?;
    let shown = rows.shown(name, outline);
    let base = shown.into_iter().find(|base| base.is_like(row))?;
    let cell = |engine: &String| {
        let rate = |row: &Row| Some(row.rates(engine, outline.aggregate)?.middle);
        let (own, other) = (rate(row)?, rate(base)?);
        (other > 0.0).then(|| times(own / other))
    };
    let cells: Vec<Option<String>> = outline.engines.iter().map(cell).collect();
    if cells.iter().all(Option::is_none) {
        return None;
    }
    let cells = cells
        .into_iter()
        .map(|cell| cell.unwrap_or_else(|| "-".into()));
    Some((format!("{NAME} {name}"), cells.collect()))
}
