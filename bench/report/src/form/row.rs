//! A row as cells of text, for the page and for Markdown.

use serde_json::{Value, json};

use crate::cost::{COSTS, PERCENTILES};
use crate::model::RowModel;
use crate::number;
use crate::verdict::times_text;

/// Number of columns before the costs.
pub(super) const RATES: usize = 6;

/// Returns the headings of all columns: rates, costs, percentiles, seconds.
pub(super) fn head() -> Vec<&'static str> {
    let rates = [
        "store",
        "rate",
        "rounds",
        "to LevelDB",
        "to baseline",
        "writer",
    ];
    let costs = COSTS.iter().map(|cost| cost.title);
    let rest = PERCENTILES.into_iter().chain(["over time"]);
    rates.into_iter().chain(costs).chain(rest).collect()
}

/// Returns the cells of a row under [`head`]; what was not measured is empty.
pub(super) fn cells(row: &RowModel) -> Vec<String> {
    let title = match row.unranked.filter(|_| row.ops_per_sec.is_some()) {
        Some(reason) => format!("{}, not ranked: {reason}", row.title),
        None => row.title.clone(),
    };
    if row.ops_per_sec.is_none() {
        return vec![
            title,
            row.status.to_owned(),
            row.reason.clone().unwrap_or_default(),
        ];
    }
    let times = |value: Option<f64>| value.map(times_text).unwrap_or_default();
    let writer = row
        .writer_ops_per_sec
        .map(|rate| number::short(rate.middle));
    let mut cells = vec![
        title,
        row.figure.clone(),
        row.range.clone().unwrap_or_default(),
        times(
            row.times_leveldb
                .filter(|_| row.engine != crate::engine::REFERENCE),
        ),
        times(row.times_baseline),
        writer.unwrap_or_default(),
    ];
    let costs = COSTS.iter().zip(&row.costs);
    cells.extend(costs.map(|(cost, value)| value.map(cost.show).unwrap_or_default()));
    let points = row.percentiles_ns.unwrap_or_default();
    let time = |point: Option<u64>| point.map(|it| number::time(number::float(it)));
    cells.extend(points.map(|point| time(point).unwrap_or_default()));
    cells.push(seconds(row).unwrap_or_default());
    while cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

/// Returns the lowest and the highest second.
fn seconds(row: &RowModel) -> Option<String> {
    let (low, high) = (row.seconds.iter().min()?, row.seconds.iter().max()?);
    let show = |count: &u64| number::short(number::float(*count));
    Some(format!(
        "lowest second {}, highest {}",
        show(low),
        show(high)
    ))
}

/// Returns a row for the page: its table, its cells, whether it leads, its spread with four digits,
/// and its seconds.
pub(super) fn compact(row: &RowModel) -> Value {
    let short = |value: f64| format!("{value:.3e}").parse::<f64>().unwrap_or(0.0);
    let spread = row.ops_per_sec;
    let spread = spread.map(|rate| [rate.low, rate.middle, rate.high].map(short));
    json!([
        row.table,
        cells(row),
        u8::from(row.leads),
        spread,
        row.seconds
    ])
}
