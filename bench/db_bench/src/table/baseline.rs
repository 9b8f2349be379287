//! Figures over those of the section they are compared with, engine by engine.

use bench_core::outline::{Outline, Section};

use super::row::{Row, Rows};

/// What stands in front of the line.
pub(super) const NAME: &str = "x baseline";

/// Each engine's rate over its own rate in the baseline's section, which is named; `None` where the
/// section has no baseline, or nothing there was run with the same data, settings and sizes.
pub(super) fn line(
    rows: &Rows,
    outline: &Outline,
    section: &Section,
    row: &Row,
) -> Option<(String, Vec<String>)> {
    let name = section.baseline.as_deref()?;
    let shown = rows.shown(name, outline.aggregate);
    let base = shown.into_iter().find(|base| base.is_like(row))?;
    let cell = |engine: &String| {
        let rate = |row: &Row| Some(row.rates(engine, outline.aggregate)?.middle);
        let (own, other) = (rate(row)?, rate(base)?);
        (other > 0.0).then(|| format!("{:.2}x", own / other))
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
