//! Percentiles on a logarithmic axis.

use bench_core::record::Record;

use crate::document::{Block, Latency, Percentiles};
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table};

/// The chapter, where any row has percentiles.
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
        Block::text(
            "What single operations took, from a pass that times each of them; the rates above come from passes that do \
             not. The axis is logarithmic: each line is ten times the one before. The marks from left to right are the \
             50th, 90th, 99th, 99.9th and 99.99th percentile and the longest, the median of the rounds. Operations \
             follow one another without pause, so a stall delays one call here where it would delay many callers in a service.",
        ),
    ];
    all.extend(blocks);
    all
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

/// Percentiles of a row: each the median of the rounds.
pub(super) fn percentiles(row: &Row) -> Option<Percentiles> {
    let fields: [fn(&Record) -> Option<u64>; 6] = [
        |record| record.p50_ns,
        |record| record.p90_ns,
        |record| record.p99_ns,
        |record| record.p999_ns,
        |record| record.p9999_ns,
        |record| record.max_ns,
    ];
    let records = || row.timed.iter().chain(&row.records);
    let points = fields.map(|field| {
        let mut values: Vec<u64> = records().filter_map(field).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    });
    points[0].map(|_| Percentiles {
        name: row.name(),
        points,
    })
}
