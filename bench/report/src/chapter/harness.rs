//! The cost of the harness itself: the rows of the engine that stores nothing.

use bench_core::workload::definition::Action;

use crate::document::{Block, Cell, Grid, Line, Tone};
use crate::engine_style;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Table, standing};

/// Maximum cost of a fill or point read in the null engine, in nanoseconds.
const POINT_NS: f64 = 25.0;
/// Maximum cost of a scan step in the null engine, in nanoseconds.
const SCAN_NS: f64 = 5.0;

/// Returns the chapter.
pub(crate) fn harness(run: &Run) -> Vec<Block> {
    if run.tables.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::heading(2, "Harness Cost")];
    let lines: Vec<Line> = run
        .tables
        .iter()
        .filter_map(|table| line(run, table))
        .collect();
    if lines.is_empty() {
        blocks.push(Block::text(
            "The store that stores nothing (null) was not part of this run, so the cost of the harness is unknown.",
        ));
        return blocks;
    }
    blocks.push(Block::text(format!(
        "The same loops over a store that stores nothing and answers reads with a value held in memory. The \
         harness may cost {} per fill or point read of small values, and {} per step of a scan. The last two \
         columns are the fastest ranked store and the harness's share of its time; nothing is subtracted from \
         any figure.",
        number::round_time(POINT_NS),
        number::round_time(SCAN_NS)
    )));
    let head = [
        "",
        "null, per operation",
        "allowed",
        "fastest ranked, per operation",
        "harness's part",
    ];
    blocks.push(Block::Grid(Grid {
        head: head.map(str::to_owned).to_vec(),
        lines,
    }));
    blocks
}

/// Returns the maximum cost of the row, if limited.
fn allowed(table: &Table) -> Option<f64> {
    let workload = table.workload()?;
    if workload.sync
        || matches!(
            workload.values,
            bench_core::workload::definition::Values::Large
        )
    {
        return None;
    }
    match workload.action {
        Action::Scan { .. } => Some(SCAN_NS),
        Action::Fill(_) | Action::Get(_) => Some(POINT_NS),
        _ => None,
    }
}

fn line(run: &Run, table: &Table) -> Option<Line> {
    let own = table.nanoseconds(table.row(engine_style::HARNESS)?)?;
    let allowed = allowed(table);
    let ranking = standing::ranking(table);
    let fastest = ranking.first().and_then(|(row, _)| table.nanoseconds(row));
    let over = allowed.is_some_and(|allowed| own > allowed);
    let words = run.suite_words(table.key.suite.as_deref());
    let tone = if over { Tone::Bad } else { Tone::Number };
    let own_cell = Cell {
        tag: over.then(|| "over".to_owned()),
        ..Cell::toned(number::time(own), tone)
    };
    Some(Line::Cells(vec![
        Cell::plain(format!("{words}{}", outline::label(table))),
        own_cell,
        Cell::number(allowed.map(number::round_time)),
        Cell::number(fastest.map(number::time)),
        Cell::number(fastest.map(|fastest| format!("{:.0} %", 100.0 * own / fastest))),
    ]))
}
