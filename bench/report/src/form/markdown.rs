//! `report.md`: the blocks as Markdown, bars as text.

use std::fmt::Write as _;

use crate::document::{
    Bar, Bars, Block, Cell, Grid, Latency, Line, PERCENTILES, Strip, Tone, Value,
};
use crate::number;

/// Length of the longest bar in characters.
const BAR: usize = 24;
const STEPS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];

/// Last character of a bar, by eighths.
const ENDS: [&str; 8] = [
    "", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}",
];

/// Returns the whole file.
pub(crate) fn page(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        let part = match block {
            Block::Heading(level, title) => {
                format!("{} {}", "#".repeat(usize::from(*level)), escaped(title))
            }
            Block::Text(words) | Block::Verdict(words) => escaped(words),
            Block::Note(words) => format!("> **Note.** {}", escaped(words)),
            Block::List(items) => {
                let item = |item: &crate::document::Item| {
                    let subject = escaped(&item.subject);
                    let strong = if subject.is_empty() {
                        subject
                    } else {
                        format!("**{subject}** ")
                    };
                    format!("- {strong}{}", escaped(&item.text))
                };
                items.iter().map(item).collect::<Vec<_>>().join("\n")
            }
            Block::Bars(bars) => table(&bars_grid(bars)),
            Block::Latency(latency) => table(&latency_grid(latency)),
            Block::Timeline(strips) => table(&strips_grid(strips)),
            Block::Grid(grid) => table(grid),
            Block::Legend(_) | Block::PageBreak => continue,
        };
        if !part.is_empty() {
            text.push_str(&part);
            text.push_str("\n\n");
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Returns a string without markup: no line ends, and no characters that Markdown or HTML
/// interprets.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                safe.push('\\');
                safe.push(letter);
            }
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

fn table(grid: &Grid) -> String {
    let cells = |line: &Line| match line {
        Line::Group(title) => vec![Cell::plain(title.clone())],
        Line::Cells(cells) => cells.clone(),
    };
    let widest = grid
        .lines
        .iter()
        .map(|line| cells(line).len())
        .max()
        .unwrap_or(0);
    let columns = widest.max(grid.head.len()).max(1);
    let mut head = grid.head.clone();
    head.resize(columns, String::new());
    let head: Vec<String> = head.iter().map(|title| escaped(title)).collect();
    let numbers: Vec<&str> = (0..columns)
        .map(|at| {
            let is_number = |line: &Line| {
                let cells = cells(line);
                cells.len() == columns && matches!(cells[at].tone, Tone::Number | Tone::Best)
            };
            if grid.lines.iter().any(is_number) {
                "---:"
            } else {
                "---"
            }
        })
        .collect();
    let mut text = format!("| {} |\n| {} |", head.join(" | "), numbers.join(" | "));
    for line in &grid.lines {
        let group = matches!(line, Line::Group(_));
        let mut words: Vec<String> = cells(line)
            .iter()
            .map(|cell| {
                let text = match escaped(&cell.text) {
                    text if group || cell.tone == Tone::Best => format!("**{text}**"),
                    text => text,
                };
                match &cell.spread {
                    Some(spread) => format!("{text} {}", escaped(spread)),
                    None => text,
                }
            })
            .collect();
        words.resize(columns, String::new());
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, "\n| {} |", words.join(" | "));
    }
    text
}

fn bars_grid(bars: &Bars) -> Grid {
    let writer =
        |bar: &Bar| matches!(&bar.value, Value::Measured(measured) if measured.writer.is_some());
    let writers = bars.rows.iter().any(writer);
    let lines = bars
        .rows
        .iter()
        .map(|bar| Line::Cells(bar_cells(bar, writers)));
    let mut head = vec!["", "", "", "spread", "to LevelDB", "to baseline"];
    if writers {
        head.push("writer");
    }
    Grid {
        head: head.into_iter().map(str::to_owned).collect(),
        lines: lines.collect(),
    }
}

/// Returns the cells of a row, with one more if any row has a concurrent writer.
fn bar_cells(bar: &Bar, writers: bool) -> Vec<Cell> {
    let title = match &bar.unranked {
        Some(reason) => format!("{}, not ranked: {reason}", bar.name.full()),
        None => bar.name.full(),
    };
    let words = |text: &Option<String>| Cell::plain(text.clone().unwrap_or_default());
    let mut cells = match &bar.value {
        Value::Measured(measured) => vec![
            Cell::plain(title),
            Cell::toned(
                measured.text.clone(),
                if measured.leads {
                    Tone::Best
                } else {
                    Tone::Number
                },
            ),
            Cell::plain(line(measured.share, BAR)),
            words(&measured.range),
            words(&measured.times_reference),
            words(&measured.times_baseline),
        ],
        Value::Missing(word, reason) => {
            let empty = || Cell::plain("");
            vec![
                Cell::plain(title),
                Cell::plain(*word),
                Cell::plain(reason.clone()),
                empty(),
                empty(),
                empty(),
            ]
        }
    };
    if writers {
        cells.push(match &bar.value {
            Value::Measured(measured) => words(&measured.writer),
            Value::Missing(..) => Cell::plain(""),
        });
    }
    cells
}

/// Returns a bar of block characters, with an eighth block at its end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and eight times a small width"
)]
pub(crate) fn line(share: f64, width: usize) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let eighths = (share * number::float(width as u64) * 8.0).round().max(1.0) as usize;
    let mut text = "\u{2588}".repeat(eighths / 8);
    text.push_str(ENDS[eighths % 8]);
    text
}

fn latency_grid(latency: &Latency) -> Grid {
    let mut head = vec![String::new()];
    head.extend(PERCENTILES.map(str::to_owned));
    let lines = latency.rows.iter().map(|row| {
        let mut cells = vec![Cell::plain(row.name.full())];
        cells.extend(
            row.points
                .map(|point| Cell::number(point.map(|time| number::time(number::float(time))))),
        );
        Line::Cells(cells)
    });
    Grid {
        head,
        lines: lines.collect(),
    }
}

fn strips_grid(strips: &[Strip]) -> Grid {
    let lines = strips.iter().map(|strip| {
        Line::Cells(vec![
            Cell::plain(strip.name.full()),
            Cell::plain(sparks(&strip.values)),
            Cell::plain(strip.text.clone()),
        ])
    });
    let head = ["", "each second", ""].map(str::to_owned).to_vec();
    Grid {
        head,
        lines: lines.collect(),
    }
}

/// Returns seconds as steps of eight heights, at most sixty steps.
fn sparks(values: &[u64]) -> String {
    let whole = &values[..values.len().saturating_sub(1)];
    let most = whole.iter().copied().max().unwrap_or(0).max(1);
    let chunks = whole.chunks(whole.len().div_ceil(60).max(1));
    let step = |chunk: &[u64]| {
        let least = chunk.iter().copied().min().unwrap_or(0);
        let height = u128::from(least) * 7 / u128::from(most);
        STEPS[usize::try_from(height).unwrap_or(0).min(7)]
    };
    chunks.map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_value_is_markup() {
        assert_eq!(escaped("a|b*c\nd<e>&"), "a\\|b\\*c d&lt;e&gt;&amp;");
        assert_eq!(escaped("[x](y)"), "\\[x\\](y)");
    }

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(line(1.0, 2), "\u{2588}\u{2588}");
        assert_eq!(line(0.5, 1), "\u{258c}");
        assert_eq!(line(0.0, 4), "\u{258f}");
        assert_eq!(line(f64::NAN, 4), "\u{258f}");
        assert_eq!(line(9.0, 1), "\u{2588}");
    }

    #[test]
    fn sparks_show_the_lowest_second() {
        assert_eq!(sparks(&[100, 0, 100, 5]), "\u{2588}\u{2581}\u{2588}");
        assert_eq!(sparks(&[]), "");
    }
}
