//! Throughput second by second, where stalls show.

use crate::document::{Block, Strip};
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table};

/// Shorter rows say nothing second by second.
const SECONDS_MIN: usize = 4;

/// The chapter.
pub(crate) fn timeline(run: &Run) -> Vec<Block> {
    let any = run
        .source
        .records
        .iter()
        .any(|record| !record.intervals.is_empty());
    if run.tables.is_empty() || !any {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::PageBreak,
        Block::heading(2, "Throughput over Time"),
        Block::text(format!(
            "Operations in each second, of the round nearest to the figure. Each strip has its own scale, from zero to \
             its own highest second, and its own length: what shows is how even a store works. Rows of fewer than \
             {SECONDS_MIN} seconds have no strip."
        )),
    ];
    let mut shown = false;
    for table in &run.tables {
        let strips: Vec<Strip> = table
            .engines()
            .filter_map(|row| strip(table, row))
            .collect();
        if strips.is_empty() {
            continue;
        }
        shown = true;
        let words = run.suite_words(table.key.suite.as_deref());
        blocks.push(Block::heading(
            4,
            format!("{words}{}", outline::label(table)),
        ));
        blocks.push(Block::Timeline(strips));
    }
    if !shown {
        blocks.push(Block::text("No row of this run took that long."));
    }
    blocks
}

fn strip(table: &Table, row: &Row) -> Option<Strip> {
    let record = row.typical()?;
    let values = &record.intervals;
    if values.len() < SECONDS_MIN {
        return None;
    }
    // The last second is not whole.
    let whole = &values[..values.len() - 1];
    let (low, high) = (*whole.iter().min()?, *whole.iter().max()?);
    let seconds = record.wall_ns.map_or_else(
        || format!("{} s", values.len()),
        |wall| number::time(number::float(wall)),
    );
    Some(Strip {
        name: row.name(),
        values: values.clone(),
        text: format!(
            "{seconds}; lowest second {}, highest {} {}",
            number::short(number::float(low)),
            number::short(number::float(high)),
            table.unit()
        ),
    })
}
