//! The summary at the end of a run, which fits a screen of 120 columns and 60 lines.

use bench_core::result::standing::Standing;

use super::text::{plain, wrapped};
use crate::chapter;
use crate::engine_style;
use crate::number;
use crate::outline;
use crate::outline::sections::{Group, arrange};
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing};

const WIDTH_MIN: usize = 60;
const WIDTH_MAX: usize = 120;
/// Maximum number of lines of the summary. The caller adds a few: the path of the report and the
/// duration of the run.
const LINES_MAX: usize = 56;
/// Maximum number of rows with their own figures; the other sections share the remaining lines.
const ROWS_MAX: usize = 36;
/// Lines of notes, of failures and of the tally.
const NOTES_MAX: usize = 8;
const FAILED_MAX: usize = 6;
const TALLY_MAX: usize = 6;
/// Lines of one note or failure.
const TEXT_LINES_MAX: usize = 2;
/// Sections whose rows have a line each.
const DETAILED: [&str; 4] = ["1A", "1B", "1C", "1D"];
/// Width of a figure.
const FIGURE: usize = 10;

/// Tables under one heading.
struct Section<'r> {
    /// Chapter and heading.
    title: String,
    tables: Vec<&'r Table>,
}

/// Returns the whole text, at most 120 columns wide.
pub(crate) fn summary(run: &Run, width: usize) -> String {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let sections = sections(run);
    let (detailed, others) = divide(&sections);
    let end = end(run, width);
    let room = LINES_MAX.saturating_sub(end.len());
    let mut lines = head(run);
    rows(&mut lines, &detailed, width);
    others_by_mean(&mut lines, &others, width, room);
    lines.truncate(room);
    lines.extend(end);
    let mut text = String::new();
    for line in &lines {
        text.push_str(cut(&plain(line), width).trim_end());
        text.push('\n');
    }
    text
}

/// Returns a line cut to fit the terminal.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width - 1).chain(['\u{2026}']).collect()
}

/// Suites, entries and rounds.
fn head(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for outline in &run.source.suites {
        let tables = run.tables.iter();
        let own = tables.filter(|table| table.key.suite.as_ref() == Some(&outline.name));
        let rounds = own.flat_map(Table::engines).map(Row::rounds).max();
        let rounds = rounds.unwrap_or(0);
        let plural = if rounds == 1 { "" } else { "s" };
        let how = outline.aggregate.words();
        let entries = number::thousands(outline.num);
        lines.push(String::new());
        lines.push(format!(
            "{}: {entries} entries, {how} of {rounds} round{plural}; operations per second",
            outline.name
        ));
    }
    lines
}

/// Returns the tables with at least one store, by the headings of their suites.
fn sections(run: &Run) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    for suite in run.suites() {
        let of_suite = |table: &&Table| table.key.suite == suite && has_store(table);
        let tables: Vec<&Table> = run.tables.iter().filter(of_suite).collect();
        for chapter in arrange(run, suite.as_deref(), &tables) {
            for group in chapter.groups {
                sections.push(Section {
                    title: title(&group, &chapter.title),
                    tables: group.tables.into_iter().map(|(_, table)| table).collect(),
                });
            }
        }
    }
    sections
}

/// Returns a title such as `2C Synchronous Writes`.
fn title(group: &Group<'_>, chapter: &str) -> String {
    let place = group
        .tables
        .first()
        .and_then(|(_, table)| outline::place(&table.key));
    let heading = if group.heading.is_empty() {
        chapter
    } else {
        &group.heading
    };
    let Some(place) = place else {
        return heading.to_owned();
    };
    // The page's heading starts with the letter that the place ends with.
    let words = heading.split_once(". ").map_or(heading, |(_, words)| words);
    format!("{place} {words}")
}

fn has_store(table: &Table) -> bool {
    table.engines().next().is_some() && table.compares()
}

/// Returns the sections whose rows are shown, and those of which only means are shown. Without a
/// section 1 of the page of 2011, the first sections are shown in full while they fit.
fn divide<'s, 'r>(sections: &'s [Section<'r>]) -> (Vec<&'s Section<'r>>, Vec<&'s Section<'r>>) {
    let is_detailed = |section: &&Section<'_>| {
        let place = section
            .tables
            .first()
            .and_then(|table| outline::place(&table.key));
        place.is_some_and(|place| DETAILED.contains(&place))
    };
    let (mut detailed, mut others): (Vec<_>, Vec<_>) = sections.iter().partition(is_detailed);
    if detailed.is_empty() {
        let mut lines = others.len();
        let fitting = others.iter().take_while(|section| {
            lines += section.tables.len();
            lines <= ROWS_MAX
        });
        let fitting = fitting.count();
        detailed = others.drain(..fitting).collect();
    }
    (detailed, others)
}

/// Returns a line for each row: CairnDB, LevelDB, the best other store and the ratio to it.
fn rows(lines: &mut Vec<String>, sections: &[&Section<'_>], width: usize) {
    if sections.is_empty() {
        return;
    }
    let label = label_width(width);
    lines.push(String::new());
    lines.push(format!(
        "{:<label$} {:>FIGURE$} {:>FIGURE$} {:>FIGURE$} {:>8}  peer",
        "",
        engine_style::title(engine_style::OURS),
        engine_style::title(engine_style::REFERENCE),
        "best peer",
        "ratio"
    ));
    let tables = sections.iter().flat_map(|section| &section.tables);
    lines.extend(tables.map(|table| row(table, label)));
}

fn label_width(width: usize) -> usize {
    (width - WIDTH_MIN + 22).min(42)
}

fn row(table: &Table, label: usize) -> String {
    let name: String = outline::label(table).chars().take(label).collect();
    let figure = |engine: &str| match table.row(engine) {
        Some(row) => match &row.outcome {
            Outcome::Measured(rate) => chapter::amount(table, rate.middle),
            Outcome::Failed(_) => "FAILED".into(),
            Outcome::Skipped(_) => "-".into(),
        },
        None => "-".into(),
    };
    let best = standing::best_peer(table);
    let peer = best.map_or("-".into(), |(_, rate)| chapter::amount(table, rate.middle));
    let (ratio, who) = match chapter::to_best_peer(table) {
        Some((ratio, who)) => (format!("{}x", number::ratio(ratio)), who),
        None => (
            "-".into(),
            best.map_or_else(String::new, |(row, _)| row.title()),
        ),
    };
    format!(
        "{name:<label$} {:>FIGURE$} {:>FIGURE$} {peer:>FIGURE$} {ratio:>8}  {who}",
        figure(engine_style::OURS),
        figure(engine_style::REFERENCE)
    )
}

/// Returns a line for each section: geometric means of CairnDB's ratios.
fn others_by_mean(lines: &mut Vec<String>, sections: &[&Section<'_>], width: usize, room: usize) {
    let label = label_width(width) + 8;
    let measured = sections
        .iter()
        .map(|section| (section, means(&section.tables)));
    let measured: Vec<_> = measured.filter(|(_, means)| means.rows > 0).collect();
    if measured.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(format!(
        "{:<label$} {:>5} {:>11} {:>12} {:>6} {:>4} {:>6}",
        "Other sections, geometric means of the ratios",
        "rows",
        "to LevelDB",
        "to best peer",
        "ahead",
        "tie",
        "behind"
    ));
    // The last line is reserved for a count of the sections that do not fit.
    let fitting = room.saturating_sub(lines.len() + 1);
    for (section, means) in measured.iter().take(fitting) {
        let title: String = section.title.chars().take(label).collect();
        let ratio =
            |mean: Option<f64>| mean.map_or("-".into(), |mean| format!("{}x", number::ratio(mean)));
        lines.push(format!(
            "{title:<label$} {:>5} {:>11} {:>12} {:>6} {:>4} {:>6}",
            means.rows,
            ratio(means.to_reference),
            ratio(means.to_best),
            means.ahead,
            means.tied,
            means.behind
        ));
    }
    if measured.len() > fitting {
        lines.push(format!(
            "and {} more sections, in the report",
            measured.len() - fitting
        ));
    }
}

/// Standing of CairnDB in several tables.
#[derive(Debug, Default, PartialEq)]
struct Means {
    /// Number of tables with a figure of CairnDB and of another store.
    rows: usize,
    to_reference: Option<f64>,
    to_best: Option<f64>,
    ahead: usize,
    tied: usize,
    behind: usize,
}

fn means(tables: &[&Table]) -> Means {
    let mut means = Means::default();
    let (mut to_reference, mut to_best) = (Vec::new(), Vec::new());
    for table in tables {
        let Some((row, ours)) = standing::ours(table) else {
            continue;
        };
        let over = |other: Option<standing::Ranked<'_>>| {
            other.and_then(|(_, rate)| standing::over(ours, rate))
        };
        let (reference, best) = (
            over(standing::reference(table)),
            over(standing::best_peer(table)),
        );
        means.rows += usize::from(reference.is_some() || best.is_some());
        to_reference.extend(reference);
        to_best.extend(best);
        match standing::among_ranked(table, row).filter(|_| row.is_ranked()) {
            Some(Standing::Ahead) => means.ahead += 1,
            Some(Standing::Tied(_)) => means.tied += 1,
            Some(Standing::Behind(_)) => means.behind += 1,
            None => {}
        }
    }
    means.to_reference = geometric_mean(&to_reference);
    means.to_best = geometric_mean(&to_best);
    means
}

/// Returns the geometric mean of ratios; `None` if no ratio is above zero.
fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let positive: Vec<f64> = ratios
        .iter()
        .copied()
        .filter(|ratio| *ratio > 0.0)
        .collect();
    let sum: f64 = positive.iter().map(|ratio| ratio.ln()).sum();
    let count = number::float(positive.len() as u64);
    (count > 0.0).then(|| (sum / count).exp())
}

/// Failures, notes and the tally.
fn end(run: &Run, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let failed = failed(run);
    let notes = notes(run);
    if !failed.is_empty() || !notes.is_empty() {
        lines.push(String::new());
    }
    limited(&mut lines, &failed, FAILED_MAX, "failed", width);
    limited(&mut lines, &notes, NOTES_MAX, "note", width);
    if let Some(tally) = chapter::tally(run) {
        lines.push(String::new());
        let tally = wrapped(&plain(&tally), width);
        lines.extend(
            tally
                .lines()
                .take(TALLY_MAX)
                .map(|line| line.trim_start().to_owned()),
        );
    }
    lines
}

/// Appends as many texts as fit into `most` lines, and the number of the others.
fn limited(lines: &mut Vec<String>, texts: &[String], most: usize, word: &str, width: usize) {
    let (begin, mut shown) = (lines.len(), 0);
    for text in texts {
        let text = wrapped(&plain(&format!("{word}: {text}")), width);
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
        let more = texts.len() - shown;
        lines.push(format!("{word}: {more} more, in the report"));
    }
}

/// Returns the failed rows with the reason. Rows of one engine with one reason are reported
/// together.
fn failed(run: &Run) -> Vec<String> {
    let mut kinds: Vec<(&str, &str, String, usize)> = Vec::new();
    for table in &run.tables {
        for row in &table.rows {
            let Outcome::Failed(reason) = &row.outcome else {
                continue;
            };
            let same = kinds
                .iter_mut()
                .find(|(engine, known, ..)| *engine == row.engine && known == reason);
            match same {
                Some((.., count)) => *count += 1,
                None => kinds.push((&row.engine, reason, outline::label(table), 0)),
            }
        }
    }
    let text = |(engine, reason, label, more): &(&str, &str, String, usize)| {
        let more = if *more > 0 {
            format!(" and {more} more rows")
        } else {
            String::new()
        };
        format!("{}, {label}{more}: {reason}", engine_style::title(engine))
    };
    kinds.iter().map(text).collect()
}

/// Returns the warnings that the reader needs before trusting a figure.
fn notes(run: &Run) -> Vec<String> {
    let counts_failures = |note: &String| note.ends_with(chapter::FAILURES_NOTE);
    chapter::notes(run)
        .into_iter()
        .filter(|note| !counts_failures(note))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_and_too_many_counted() {
        let mut lines = Vec::new();
        let texts = [
            "one two three".to_owned(),
            "four".to_owned(),
            "five".to_owned(),
        ];
        limited(&mut lines, &texts, 3, "note", 12);
        assert_eq!(
            lines,
            [
                "note: one",
                "  two three",
                "note: four",
                "note: 1 more, in the report"
            ]
        );
    }

    #[test]
    fn a_geometric_mean_of_opposite_ratios_is_one() {
        let mean = geometric_mean(&[4.0, 0.25]).expect("two ratios");
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[0.0]), None);
    }
}
