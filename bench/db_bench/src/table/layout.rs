//! The layout of a line.

use std::fmt::Write as _;
use std::ops::Range;

const CELL: usize = 13;
/// Minimum width of the names of rows.
const LABEL: usize = 26;

/// Returns the ranges of engines that fit next to each other: a table wider than the terminal is
/// split. The first range reserves `extra` columns after its cells.
pub(super) fn sheets(
    engines: usize,
    width: usize,
    extra: usize,
    columns: Option<usize>,
) -> Vec<Range<usize>> {
    let Some(columns) = columns else {
        return std::iter::once(0..engines).collect();
    };
    let mut sheets = Vec::new();
    let mut from = 0;
    while from < engines {
        let taken = width + if from == 0 { extra } else { 0 };
        let fits = (columns.saturating_sub(taken) / (CELL + 1)).max(1);
        let to = engines.min(from + fits);
        sheets.push(from..to);
        from = to;
    }
    sheets
}

/// Appends a name and a cell for each engine, without a line end.
pub(super) fn line(
    text: &mut String,
    width: usize,
    name: &str,
    cells: impl Iterator<Item = String>,
) {
    let _ = write!(text, "{name:<width$}");
    for cell in cells {
        let _ = write!(text, " {cell:>CELL$}");
    }
}

/// Returns the width of the row names: that of the longest.
pub(super) fn width(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.max().unwrap_or(0).max(LABEL)
}

/// Appends the names of the engines, in two lines if they are long.
pub(super) fn head(text: &mut String, width: usize, engines: &[String], last: &str) {
    let halves: Vec<(&str, &str)> = engines
        .iter()
        .map(|name| match name.split_once('_') {
            Some((first, second)) if name.len() > CELL => (first, second),
            _ => ("", name.as_str()),
        })
        .collect();
    if halves.iter().any(|(first, _)| !first.is_empty()) {
        let _ = write!(text, "{:<width$}", "");
        for (first, _) in &halves {
            let _ = write!(text, " {first:>CELL$}");
        }
        text.push('\n');
    }
    let _ = write!(text, "{:<width$}", "");
    for (_, second) in &halves {
        let _ = write!(text, " {second:>CELL$}");
    }
    let _ = writeln!(text, "{}{last}", if last.is_empty() { "" } else { "  " });
}
