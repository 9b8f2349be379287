//! Throughput second by second, where stalls show.

use crate::document::{Block, Strip};
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table, standing};

/// Minimum length of a row in seconds; shorter rows show nothing second by second.
const SECONDS_MIN: usize = 4;

/// Returns the chapter.
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
             its own highest second, and its own length: it shows how evenly a store works. Rows of fewer than \
             {SECONDS_MIN} seconds have no strip."
        )),
    ];
    blocks.extend(too_quick(run).map(Block::text));
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

/// Returns a sentence about the tables below in which our row was too short to show anything, which
/// does not prove evenness.
fn too_quick(run: &Run) -> Option<String> {
    let has_strip = |table: &Table, row: &Row| strip(table, row).is_some();
    let tables = run.tables.iter();
    let shown = tables.filter(|table| table.engines().any(|row| has_strip(table, row)));
    let ours = shown.filter_map(|table| Some((table, standing::ours(table)?.0)));
    let (all, without) = ours.fold((0, 0), |(all, without), (table, row)| {
        (all + 1, without + u32::from(!has_strip(table, row)))
    });
    (without > 0).then(|| {
        let plural = if all == 1 { "" } else { "s" };
        format!(
            "In {without} of the {all} row{plural} below with a figure of CairnDB it was over too soon for a \
             strip, so nothing here shows whether it worked evenly. Its maximum times under Latency show that \
             if that pass was run, and longer rows would."
        )
    })
}

fn strip(table: &Table, row: &Row) -> Option<Strip> {
    let record = row.typical()?;
    let values = &record.intervals;
    if values.len() < SECONDS_MIN {
        return None;
    }
    // The last second is incomplete.
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
