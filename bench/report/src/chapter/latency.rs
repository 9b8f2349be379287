//! Percentiles on a logarithmic axis.

use bench_core::result::record::Record;

use crate::document::{Block, Latency, Percentiles};
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table};

/// Returns the chapter, if any row has percentiles.
pub(crate) fn latency(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    for table in &run.tables {
        let Some(chart) = chart(table) else { continue };
        let words = run.suite_words(table.key.suite.as_deref());
        blocks.push(Block::heading(
            4,
            format!("{words}{}", outline::label(table)),
        ));
        blocks.push(Block::Latency(chart));
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    let mut all = vec![
        Block::PageBreak,
        Block::heading(2, "Latency"),
        Block::text(format!(
            "The times of single operations, from a pass that times each of them; the rates above come from passes that do \
             not. The axis is logarithmic: each line is ten times the previous one. From left to right, the marks are the \
             50th, 90th, 99th, 99.9th and 99.99th percentile and the longest{}. Operations \
             follow one another without pause, so a stall delays one call here, while it would delay many callers in a service.",
            passes(run)
        )),
    ];
    all.extend(blocks);
    all
}

/// Returns the number of measurements that the marks summarise: a suite times its rows once,
/// regardless of its rounds.
fn passes(run: &Run) -> &'static str {
    let rows = || run.tables.iter().flat_map(Table::engines);
    let several = |row: &Row| timed(row).filter(|record| record.p50_ns.is_some()).count() > 1;
    let once = |row: &Row| timed(row).filter(|record| record.p50_ns.is_some()).count() == 1;
    match (rows().any(several), rows().any(once)) {
        (false, _) => ", of one pass: the variation between passes is unknown",
        (true, true) => ", the median if a row was timed several times, and of one pass otherwise",
        (true, false) => ", the median of the passes",
    }
}

/// Returns the records of a row that may have percentiles.
fn timed(row: &Row) -> impl Iterator<Item = &Record> {
    row.timed.iter().chain(&row.records)
}

fn chart(table: &Table) -> Option<Latency> {
    let rows: Vec<Percentiles> = table.engines().filter_map(percentiles).collect();
    let times = || {
        rows.iter()
            .flat_map(|row| row.points)
            .flatten()
            .filter(|&time| time > 0)
    };
    let (low, high) = (times().min()?, times().max()?);
    let first = low.ilog10();
    let last = high.ilog10() + 1;
    Some(Latency {
        first: i32::try_from(first).unwrap_or(0),
        last: i32::try_from(last).unwrap_or(20),
        rows,
    })
}

/// Returns the percentiles of a row: the median of each if the row was timed several times.
pub(super) fn percentiles(row: &Row) -> Option<Percentiles> {
    let fields: [fn(&Record) -> Option<u64>; 6] = [
        |record| record.p50_ns,
        |record| record.p90_ns,
        |record| record.p99_ns,
        |record| record.p999_ns,
        |record| record.p9999_ns,
        |record| record.max_ns,
    ];
    let points = fields.map(|field| {
        let mut values: Vec<u64> = timed(row).filter_map(field).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    });
    points[0].map(|_| Percentiles {
        name: row.name(),
        points,
    })
}
