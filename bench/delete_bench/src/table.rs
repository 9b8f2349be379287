//! The results, as a table and as JSON lines.

use std::fmt::Write as _;

use bench_core::result::outline::Aggregate;
use bench_core::result::spread::Spread;
use serde::Serialize;

use crate::cell::{Cell, Outcome};

/// The results of one engine in one cell.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    pub(crate) engine: &'static str,
    /// One for each round.
    pub(crate) timed: Vec<Outcome>,
    /// The run in which dead entries were counted, if the engine counts them.
    pub(crate) counted: Option<Outcome>,
}

/// A row as a JSON object.
#[derive(Debug, Serialize)]
struct Line {
    workload: &'static str,
    threads: u32,
    held_cursor: bool,
    engine: &'static str,
    turns: Vec<u64>,
    turn_ns: Vec<f64>,
    late_ns: Vec<f64>,
    passed_a_turn: Option<f64>,
    space_bytes: Vec<u64>,
}

impl Row {
    /// Returns the time of a turn in nanoseconds over all rounds.
    fn turn(&self) -> Option<Spread> {
        Spread::of(self.timed.iter().map(|it| it.turn_ns), Aggregate::Median)
    }

    fn late(&self) -> Option<Spread> {
        Spread::of(self.timed.iter().map(|it| it.late_ns), Aggregate::Median)
    }

    fn space(&self) -> Option<Spread> {
        let bytes = self.timed.iter().map(|it| it.space_bytes as f64);
        Spread::of(bytes, Aggregate::Median)
    }

    /// Returns the number of dead entries passed in a turn.
    fn passed(&self) -> Option<f64> {
        let counted = self.counted.as_ref()?;
        Some(counted.passed? as f64 / counted.turns.max(1) as f64)
    }

    /// Returns the row as a JSON object.
    pub(crate) fn line(&self) -> impl Serialize {
        Line {
            workload: self.cell.workload.name(),
            threads: self.cell.threads,
            held_cursor: self.cell.held,
            engine: self.engine,
            turns: self.timed.iter().map(|it| it.turns).collect(),
            turn_ns: self.timed.iter().map(|it| it.turn_ns).collect(),
            late_ns: self.timed.iter().map(|it| it.late_ns).collect(),
            passed_a_turn: self.passed(),
            space_bytes: self.timed.iter().map(|it| it.space_bytes).collect(),
        }
    }
}

/// Returns the head of the table.
pub(crate) fn head() -> String {
    format!(
        "{:<12} {:>7} {:>6}  {:<8} {:>8} {:>12} {:>6} {:>12} {:>12} {:>8}\n",
        "workload",
        "threads",
        "cursor",
        "engine",
        "turns",
        "ns/turn",
        "",
        "last tenth",
        "passed/turn",
        "MB"
    )
}

/// Returns a row as a line of the table.
pub(crate) fn line(row: &Row) -> String {
    let mut text = String::new();
    let cursor = if row.cell.held { "held" } else { "-" };
    let turn = row.turn();
    let passed = row
        .passed()
        .map_or_else(|| "-".to_owned(), |passed| format!("{passed:.1}"));
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{:<12} {:>7} {:>6}  {:<8} {:>8} {:>12.0} {:>6} {:>12.0} {:>12} {:>8.1}",
        row.cell.workload.name(),
        row.cell.threads,
        cursor,
        row.engine,
        row.timed.first().map_or(0, |it| it.turns),
        turn.map_or(f64::NAN, |turn| turn.middle),
        turn.and_then(|turn| turn.width_text()).unwrap_or_default(),
        row.late().map_or(f64::NAN, |late| late.middle),
        passed,
        row.space().map_or(f64::NAN, |space| space.middle) / 1e6,
    );
    text
}
