//! Sizes as bars, and the figures of a CairnDB database as such.
//!
//! A bar is as long as its bytes are in proportion to the longest one. On a terminal it fits into
//! the line, and what may be dead in it is drawn with another character, in another colour.

use serde_json::Value;

use super::figures::{Figures, Files};
use crate::commands::keyspaces;
use crate::failure::{ORIGINAL, Result};
use crate::output::{Output, counted, size};
use crate::terminal;

/// Columns before a bar: the label, and a size.
const LABEL_COLUMNS: usize = 18;
const SIZE_COLUMNS: usize = 10;
const GAP: usize = 2;
/// Columns of the longest bar, in a pipe and on a wide terminal.
const BAR_COLUMNS_MAX: usize = 40;
const WIDE_BAR_COLUMNS_MAX: usize = 60;

/// A bar that is not zero, but shorter than half a column.
const SLIVER: &str = "▏";

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// One bar.
pub(crate) struct Bar {
    label: String,
    bytes: u64,
    /// Bytes of it that may be dead.
    dead: u64,
}

impl Bar {
    pub(crate) fn new(label: impl Into<String>, bytes: u64) -> Bar {
        Bar {
            label: label.into(),
            bytes,
            dead: 0,
        }
    }

    /// Returns a bar for all files, and one for each kind.
    pub(in crate::commands) fn of(files: &Files) -> Vec<Bar> {
        let bars = files.all().map(|(kind, bytes)| match kind {
            "others" => Bar::new("other files", bytes),
            kind => Bar::new(kind.replace('_', " "), bytes),
        });
        bars.collect()
    }

    fn with_dead(self, dead: u64) -> Bar {
        let dead = dead.min(self.bytes);
        Bar { dead, ..self }
    }
}

/// How bars are drawn.
#[derive(Clone, Copy, Debug)]
struct Canvas {
    columns: usize,
    colours: bool,
    /// Bytes of the longest bar.
    longest: u64,
}

impl Canvas {
    fn line(self, bar: &Bar) -> String {
        let label = terminal::shortened(&bar.label, LABEL_COLUMNS - 1);
        let padding = " ".repeat(LABEL_COLUMNS - terminal::width(&label));
        let (dead, all) = (self.length(bar.dead), self.length(bar.bytes));
        let solid = match all.saturating_sub(dead) {
            0 if all == 0 && bar.bytes > 0 => SLIVER.to_owned(),
            columns => "█".repeat(columns),
        };
        let dead = "░".repeat(dead.min(all));
        let drawn = if self.colours && bar.bytes > 0 {
            format!("{GREEN}{solid}{RED}{dead}{RESET}")
        } else {
            format!("{solid}{dead}")
        };
        let line = format!(
            "{label}{padding}{:>SIZE_COLUMNS$}  {drawn}",
            size(bar.bytes)
        );
        line.trim_end().to_owned()
    }

    /// Returns the length of a bar, rounded to columns.
    fn length(self, bytes: u64) -> usize {
        let longest = u128::from(self.longest.max(1));
        let scaled = (u128::from(bytes) * self.columns as u128 + longest / 2) / longest;
        usize::try_from(scaled).unwrap_or(0)
    }
}

/// Prints bars in proportion to the longest one.
pub(crate) fn print_bars(bars: &[Bar], output: &mut Output) -> Result<()> {
    let room = terminal::columns().map(|columns| {
        let left = columns.saturating_sub(LABEL_COLUMNS + SIZE_COLUMNS + GAP);
        left.clamp(1, WIDE_BAR_COLUMNS_MAX)
    });
    let canvas = Canvas {
        columns: room.unwrap_or(BAR_COLUMNS_MAX),
        colours: terminal::has_colours(),
        longest: bars.iter().map(|bar| bar.bytes).max().unwrap_or(0),
    };
    bars.iter().try_for_each(|bar| {
        // Not as a line of text, because of the colours.
        output
            .buffer()
            .extend_from_slice(canvas.line(bar).as_bytes());
        output.end_line()
    })
}

/// Prints the figures.
pub(super) fn print(figures: &Figures, output: &mut Output) -> Result<()> {
    let count = |name: &str| number(&figures.stats, name);
    output.text(&format!(
        "{} in {}, {} among them; {}",
        counted(count("versions"), "stored version", "stored versions"),
        counted(count("tables"), "table", "tables"),
        counted(count("deletes"), "tombstone", "tombstones"),
        counted(count("value_files"), "value file", "value files"),
    ))?;
    let bars = bars(figures);
    print_bars(&bars, output)?;
    if bars.iter().any(|bar| bar.dead > 0) {
        output.text("░ may be dead: deleted, overwritten, or not removed yet")?;
    }
    if figures.original.is_some() {
        let advice = "`cairn upgrade --drop-original` removes them";
        output.text(&format!("CairnDB does not use LevelDB's files; {advice}"))?;
    }
    if let Some(text) = keyspaces::besides(&figures.keyspaces).strip_prefix("; ") {
        output.text(text)?;
    }
    let stalls = stalls(&figures.stalls);
    stalls.iter().try_for_each(|line| output.text(line))
}

fn number(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or(0)
}

fn bars(figures: &Figures) -> Vec<Bar> {
    let dead_values = number(&figures.space, "dead_value_bytes");
    let dead = number(&figures.space, "dead_bytes_max");
    let mut bars = Bar::of(&figures.files);
    let dead_parts = [dead, dead.saturating_sub(dead_values), dead_values];
    for (bar, dead) in bars.iter_mut().zip(dead_parts) {
        bar.dead = dead.min(bar.bytes);
    }
    bars.push(Bar::new("dead, at most", dead).with_dead(dead));
    let runs = figures.runs.as_array();
    for run in runs.into_iter().flatten() {
        let bar = Bar::new(format!("run {}", number(run, "run")), number(run, "bytes"));
        bars.push(bar.with_dead(number(run, "hidden_bytes")));
    }
    let original = figures.original;
    bars.extend(original.map(|bytes| Bar::new(format!("{ORIGINAL}/"), bytes)));
    bars
}

/// Returns a line for each reason for which writers have waited, or one that says that none has.
fn stalls(stalls: &Value) -> Vec<String> {
    let reasons = stalls.as_object().into_iter().flatten();
    let lines = reasons.filter_map(|(reason, stall)| {
        let count = number(stall, "count");
        let milliseconds = |name| number(stall, name) / 1_000_000;
        (count > 0).then(|| {
            let (total, longest) = (milliseconds("total_ns"), milliseconds("longest_ns"));
            let times = counted(count, "stall", "stalls");
            format!(
                "write stalls: {times} for {reason}, {total} ms in all, {longest} ms the longest"
            )
        })
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        lines.push(
            "write stalls: none recorded; only the process that writes counts them".to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_empty() {
        let canvas = Canvas {
            columns: 40,
            colours: false,
            longest: 1_000_000,
        };
        let lengths = [0, 1, 25_000, 1_000_000].map(|bytes| canvas.length(bytes));
        assert_eq!(lengths, [0, 0, 1, 40]);
        let sliver = canvas.line(&Bar::new("other files", 16).with_dead(16));
        assert_eq!(sliver, "other files             16 B  ▏");
        let line = canvas.line(&Bar::new("tables", 1_000_000).with_dead(500_000));
        assert_eq!(
            line,
            format!(
                "tables                1.0 MB  {}{}",
                "█".repeat(20),
                "░".repeat(20)
            )
        );
        let line = canvas.line(&Bar::new("value files", 0));
        assert_eq!(line, "value files              0 B");
        let coloured = Canvas {
            colours: true,
            ..canvas
        };
        let line = coloured.line(&Bar::new("run 1", 1_000_000));
        assert!(line.ends_with(RESET) && line.contains(GREEN), "{line:?}");
    }

    #[test]
    fn stalls_are_told_apart() {
        let stall = json!({"count": 2, "total_ns": 3_500_000, "longest_ns": 2_000_000});
        let none = json!({"count": 0, "total_ns": 0, "longest_ns": 0});
        let lines = stalls(&json!({"log": stall, "runs": none}));
        assert_eq!(
            lines,
            ["write stalls: 2 stalls for log, 3 ms in all, 2 ms the longest"]
        );
        assert!(stalls(&json!({"runs": none}))[0].contains("none"));
    }
}
