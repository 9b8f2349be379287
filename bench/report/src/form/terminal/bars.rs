//! Every table of a run as bars, fitted to the width of a terminal.

use std::fmt::Write as _;

use bench_core::result::standing::Standing;

use super::text::{plain, wrapped};
use crate::chapter;
use crate::document::{Bar, Block, Name, Value};
use crate::engine_style;
use crate::form::markdown;
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table, standing, verdict};

const NAME: usize = 24;
const FIGURE: usize = 22;
/// Width of `writer 48.6k`.
const WRITER: usize = 12;
const BAR_MIN: usize = 8;
const BAR_MAX: usize = 40;
const WIDTH_MIN: usize = 40;
/// Maximum number of tables for which the bars of every store are shown. A suite has many more
/// tables: the terminal then shows the most relevant bars, and the report has all.
const TABLES_WHOLE: usize = 12;

/// Returns the whole text.
pub(crate) fn bars(run: &Run, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut text = String::new();
    for block in chapter::bars_head(run) {
        if let Block::Note(note) = block {
            text.push_str(&wrapped(&format!("note: {}", plain(&note)), width));
        }
    }
    let whole = run.tables.len() <= TABLES_WHOLE;
    if !whole {
        let reported = "Only CairnDB, the best other ranked store, a store ahead of CairnDB, LevelDB, and failures are shown; the report has all bars.";
        text.push_str(&wrapped(reported, width));
    }
    for table in &run.tables {
        let mut bars = chapter::bars(run, table);
        if !whole {
            let shown = principal(table);
            let failed = |bar: &Bar| matches!(bar.value, Value::Missing("failed", _));
            bars.rows
                .retain(|bar| failed(bar) || shown.contains(&bar.name));
            bars.rescale();
        }
        if bars.rows.is_empty() {
            continue;
        }
        let suite = table
            .key
            .suite
            .as_deref()
            .map(|suite| format!("{suite} "))
            .unwrap_or_default();
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            text,
            "\n{}\n",
            plain(&format!("{suite}{}", outline::label(table)))
        );
        for bar in &bars.rows {
            text.push_str(&row(bar, width));
        }
        if whole {
            text.push_str(&wrapped(&plain(&verdict::verdict(table)), width));
        }
    }
    let end = [chapter::by_hand(run), chapter::bars_end(run)];
    for sentence in end.into_iter().flatten() {
        text.push('\n');
        text.push_str(&wrapped(&plain(&sentence), width));
    }
    text
}

/// Returns whether a bar is ours, the best other ranked store, another store that ours is behind,
/// or the store that ratios refer to.
fn principal(table: &Table) -> Vec<Name> {
    let ours = table.row(engine_style::OURS);
    let standing = ours.and_then(|ours| standing::among_ranked(table, ours));
    let ahead = match standing {
        Some(Standing::Behind(row)) => Some(row),
        _ => None,
    };
    let rows = [
        ours,
        standing::best_peer(table).map(|(row, _)| row),
        ahead,
        table.row(engine_style::REFERENCE),
    ];
    rows.into_iter().flatten().map(Row::name).collect()
}

fn row(bar: &Bar, width: usize) -> String {
    let mut title = plain(&bar.name.full());
    if title.chars().count() > NAME {
        title = title.chars().take(NAME - 1).chain(['\u{2026}']).collect();
    }
    let text = match &bar.value {
        Value::Missing(word, reason) => {
            let word = if *word == "failed" { "FAILED" } else { word };
            format!("  {title:<NAME$} {word:>FIGURE$}  {}", plain(reason))
        }
        Value::Measured(measured) => {
            let mut after = String::new();
            let mut rest = width.saturating_sub(2 + NAME + 1 + FIGURE + 2 + 40);
            if let Some(writer) = &measured.writer {
                // Writing to a String cannot fail, here and below.
                let _ = write!(after, "  {writer:<WRITER$}");
                rest = rest.saturating_sub(2 + WRITER);
            }
            for part in [&measured.range, &measured.times_baseline]
                .into_iter()
                .flatten()
            {
                after.push_str("  ");
                after.push_str(part);
            }
            if let Some(reason) = &bar.unranked {
                let _ = write!(after, "  not ranked: {reason}");
            }
            let room = rest.clamp(BAR_MIN, BAR_MAX);
            let line = markdown::line(measured.share, room);
            format!(
                "  {title:<NAME$} {:>FIGURE$}  {line:<room$}{after}",
                measured.text
            )
        }
    };
    format!(
        "{}\n",
        text.chars().take(width).collect::<String>().trim_end()
    )
}
