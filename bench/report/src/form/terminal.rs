//! The summary at the end of a run, which fits a screen of 120 columns and 60 lines.

use crate::model::{Model, TableModel};
use crate::verdict::{geometric_mean, times_text};

const WIDTH_MIN: usize = 60;
const WIDTH_MAX: usize = 120;
/// Maximum number of lines of the summary. The caller adds a few: the path of the report and the
/// duration of the run.
const LINES_MAX: usize = 56;
/// Maximum number of rows with their own figures; the other sections share the remaining lines.
const ROWS_MAX: usize = 36;
/// Lines of notes, of failures and of the verdict.
const NOTES_MAX: usize = 8;
const FAILED_MAX: usize = 6;
const VERDICT_MAX: usize = 8;
/// Lines of one note or failure.
const TEXT_LINES_MAX: usize = 2;
/// Width of a figure.
const FIGURE: usize = 10;

/// Consecutive tables under one heading.
type Section<'m> = &'m [&'m TableModel];

/// Returns the summary, at most 120 columns wide.
pub(crate) fn summary(model: &Model, width: usize) -> String {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let tables: Vec<&TableModel> = model.tables.iter().filter(|table| table.compares).collect();
    let sections = tables.chunk_by(|a, b| a.suite == b.suite && a.heading == b.heading);
    let (detailed, others) = divide(sections.collect());
    let end = end(model, width);
    let room = LINES_MAX.saturating_sub(end.len());
    let mut lines = Vec::new();
    for line in &model.suite_lines {
        lines.extend([String::new(), line.clone()]);
    }
    rows(&mut lines, &detailed, width);
    others_by_mean(&mut lines, &others, width, room);
    lines.truncate(room);
    lines.extend(end);
    let lines = lines.iter().map(|line| {
        let line = cut(&plain(line), width);
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}

/// Returns the sections whose rows are shown, and those of which only means are shown. Without a
/// section 1 of the page of 2011, the first sections are shown in full while they fit.
fn divide(sections: Vec<Section<'_>>) -> (Vec<Section<'_>>, Vec<Section<'_>>) {
    let is_detailed = |section: &Section<'_>| {
        let place = section.first().and_then(|table| table.place);
        place.is_some_and(|place| place.starts_with('1'))
    };
    let (mut detailed, mut others): (Vec<_>, Vec<_>) = sections.into_iter().partition(is_detailed);
    if detailed.is_empty() {
        let mut lines = others.len();
        let fitting = others.iter().take_while(|section| {
            lines += section.len();
            lines <= ROWS_MAX
        });
        let fitting = fitting.count();
        detailed = others.drain(..fitting).collect();
    }
    (detailed, others)
}

fn label_width(width: usize) -> usize {
    (width - WIDTH_MIN + 22).min(42)
}

/// Returns a ratio, or a dash.
fn ratio(times: Option<f64>) -> String {
    times.map_or_else(|| "-".into(), times_text)
}

/// Adds a line for each row: CairnDB, LevelDB, the best other store and the ratio to it.
fn rows(lines: &mut Vec<String>, sections: &[Section<'_>], width: usize) {
    if sections.is_empty() {
        return;
    }
    let label = label_width(width);
    let line = |name: &str, [ours, leveldb, best, ratio]: [&str; 4], peer: &str| {
        let name: String = name.chars().take(label).collect();
        format!(
            "{name:<label$} {ours:>FIGURE$} {leveldb:>FIGURE$} {best:>FIGURE$} {ratio:>8}  {peer}"
        )
    };
    lines.push(String::new());
    lines.push(line(
        "",
        ["CairnDB", "LevelDB", "best peer", "ratio"],
        "peer",
    ));
    for table in sections.iter().copied().flatten() {
        let figures = [&table.ours, &table.leveldb, &table.best, &table.ratio];
        lines.push(line(&table.label, figures.map(String::as_str), &table.peer));
    }
}

/// Adds a line for each section: geometric means of CairnDB's ratios.
fn others_by_mean(lines: &mut Vec<String>, sections: &[Section<'_>], width: usize, room: usize) {
    let label = label_width(width) + 8;
    let line = |title: &str, [rows, leveldb, best, ahead, tie, behind]: [&str; 6]| {
        let title: String = title.chars().take(label).collect();
        format!(
            "{title:<label$} {rows:>5} {leveldb:>11} {best:>12} {ahead:>6} {tie:>4} {behind:>6}"
        )
    };
    let measured = |tables: &Section<'_>| {
        let ratios = |of: fn(&TableModel) -> Option<f64>| -> Vec<f64> {
            tables.iter().filter_map(|table| of(table)).collect()
        };
        let best = ratios(|table| table.times_best_peer);
        let leveldb = ratios(|table| table.times_leveldb);
        let rows = best.len().max(leveldb.len());
        let count = |word| {
            let own = tables.iter().filter(|table| table.standing == Some(word));
            own.count().to_string()
        };
        let cells = [
            rows.to_string(),
            ratio(geometric_mean(&leveldb)),
            ratio(geometric_mean(&best)),
            count("ahead"),
            count("tie"),
            count("behind"),
        ];
        (rows > 0).then(|| line(&tables[0].heading, cells.each_ref().map(String::as_str)))
    };
    let measured: Vec<String> = sections.iter().filter_map(measured).collect();
    if measured.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(line(
        "Other sections, geometric means of the ratios",
        [
            "rows",
            "to LevelDB",
            "to best peer",
            "ahead",
            "tie",
            "behind",
        ],
    ));
    // The last line is reserved for a count of the sections that do not fit.
    let fitting = room.saturating_sub(lines.len() + 1).min(measured.len());
    let more = measured.len() - fitting;
    lines.extend(measured.into_iter().take(fitting));
    if more > 0 {
        lines.push(format!("and {more} more sections, in the report"));
    }
}

/// Returns failures, notes and the verdict.
fn end(model: &Model, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if !model.failures.is_empty() || !model.warnings.is_empty() {
        lines.push(String::new());
    }
    limited(&mut lines, &model.failures, FAILED_MAX, "failed", width);
    limited(&mut lines, &model.warnings, NOTES_MAX, "note", width);
    if !model.verdict.is_empty() {
        lines.push(String::new());
        let text = wrapped(&format!("{} {}", model.verdict, model.remarks), width);
        lines.extend(
            text.lines()
                .take(VERDICT_MAX)
                .map(|line| line.trim_start().to_owned()),
        );
    }
    lines
}

/// Appends as many texts as fit into `most` lines, and the number of the others.
fn limited(lines: &mut Vec<String>, texts: &[String], most: usize, word: &str, width: usize) {
    let (begin, mut shown) = (lines.len(), 0);
    for text in texts {
        let text = wrapped(&format!("{word}: {text}"), width);
        // The first line has no indent, so that each text begins visibly.
        let mut own: Vec<String> = text.trim_start().lines().map(str::to_owned).collect();
        if own.len() > TEXT_LINES_MAX {
            own.truncate(TEXT_LINES_MAX);
            if let Some(last) = own.last_mut() {
                last.push('\u{2026}');
            }
        }
        if lines.len() - begin + own.len() > most {
            break;
        }
        lines.append(&mut own);
        shown += 1;
    }
    if texts.len() > shown {
        lines.push(format!(
            "{word}: {} more, in the report",
            texts.len() - shown
        ));
    }
}

/// Returns a string without characters that a terminal interprets.
fn plain(text: &str) -> String {
    let safe = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().map(safe).collect()
}

/// Returns a line cut to a width.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width - 1).chain(['\u{2026}']).collect()
}

/// Wraps words, without control characters, into lines of at most this many columns.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::from("  ");
    let mut column = 2;
    for word in plain(text).split_whitespace() {
        let length = word.chars().count();
        if column > 2 && column + 1 + length > width {
            lines.push_str("\n  ");
            column = 2;
        }
        if column > 2 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_and_too_many_counted() {
        let mut lines = Vec::new();
        let texts = ["one two three", "four", "five"].map(str::to_owned);
        limited(&mut lines, &texts, 3, "note", 12);
        let expected = [
            "note: one",
            "  two three",
            "note: four",
            "note: 1 more, in the report",
        ];
        assert_eq!(lines, expected);
        assert_eq!(wrapped("", 8), "  \n");
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb"), "a [2Jb");
    }
}
