//! The origin of the figures: sources, builds, machine, options, and what could not be measured.

use std::fmt::Write as _;

use bench_core::result::record::Record;

use crate::chapter::directories;
use crate::document::{Block, Cell, Grid, Item, Line, Tone};
use crate::engine_style;
use crate::input::words;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Outcome, Row, Table};

/// Facts of the machine's line with a readable name, in display order.
const FACTS: [(&str, &str); 28] = [
    ("db_bench", "db_bench"),
    ("commit", "Commit"),
    ("compiler", "Compiler"),
    ("target", "Target"),
    ("profile", "Cargo profile"),
    ("opt_level", "Optimisation level"),
    ("flags", "Compiler flags"),
    ("assertions", "Assertions"),
    ("allocator", "Allocator"),
    ("command", "Command line"),
    ("cpu", "CPU"),
    ("cpus", "Cores"),
    ("cpu_cache", "CPU cache"),
    ("governor", "Frequency governor"),
    ("turbo", "Turbo"),
    ("virtual_machine", "Virtual machine"),
    ("memory_bytes", "Memory"),
    ("memory_free_bytes", "Free at the start"),
    ("memory_available_bytes", "Available at the start"),
    ("huge_pages", "Transparent huge pages"),
    ("load_average", "Load before the start"),
    ("kernel", "Kernel"),
    ("kernel_build", "Kernel build"),
    ("file_system", "File system"),
    ("mount_options", "Mount options"),
    ("device", "Device"),
    ("write_cache", "Disk write cache"),
    ("free_bytes", "Free space"),
];

/// Returns the folder with the code of the benchmark.
pub(crate) fn source_code(run: &Run) -> Vec<Block> {
    let items: Vec<Item> = run
        .engines()
        .iter()
        .map(|engine| {
            let text = match engine_style::source(engine) {
                Some(folder) => format!("{folder}/"),
                None => "an adapter outside this tree".to_owned(),
            };
            Item::new(engine_style::title(engine), text)
        })
        .collect();
    if items.is_empty() {
        return Vec::new();
    }
    vec![
        Block::heading(2, "Benchmark Source Code"),
        Block::text(
            "One program runs every store: bench/core holds the workloads, the keys and values, the clocks and the \
             checks, and names no store; an adapter of a few hundred lines maps its calls to one store's \
             public interface.",
        ),
        Block::List(items),
    ]
}

pub(super) type Settings = Vec<(String, String)>;

/// Returns the distinct settings of an engine, each with the places where it ran with them.
pub(super) fn settings(run: &Run, engine: &str) -> Vec<(Vec<String>, Settings)> {
    let several = run.suites().len() > 1;
    let mut found: Vec<(Vec<String>, Settings)> = Vec::new();
    let of = |record: &&Record| record.engine == engine && !record.options.is_empty();
    for record in run.source.records.iter().filter(of) {
        let mut place = match (&record.suite, &record.section) {
            (Some(suite), Some(section)) if several => format!("{suite} {section}"),
            (_, Some(section)) => section.clone(),
            (Some(suite), None) => suite.clone(),
            (None, None) => "all rows".to_owned(),
        };
        if let Some(variant) = &record.variant {
            // Writing to a String cannot fail, here and below.
            let _ = write!(place, " ({variant})");
        }
        match found
            .iter_mut()
            .find(|(_, options)| *options == record.options)
        {
            Some((places, _)) if places.contains(&place) => {}
            Some((places, _)) => places.push(place),
            None => found.push((vec![place], record.options.clone())),
        }
    }
    found
}

/// Returns the machine, program, command line, and the options of every engine.
pub(crate) fn provenance(run: &Run) -> Vec<Block> {
    let mut blocks = vec![Block::PageBreak, Block::heading(2, "Provenance")];
    let several = run.source.machines.len() > 1;
    for (index, machine) in run.source.machines.iter().enumerate() {
        if several {
            blocks.push(Block::heading(3, format!("Start {}", index + 1)));
        }
        let mut lines = Vec::new();
        for (key, title) in FACTS {
            if let Some(text) = fact(key, machine.facts.get(key)) {
                lines.push(Line::Cells(vec![Cell::plain(title), Cell::plain(text)]));
            }
        }
        for (key, value) in &machine.facts {
            let known = matches!(key.as_str(), "started_at" | directories::FACT)
                || FACTS.iter().any(|(name, _)| name == key);
            if let (false, Some(text)) = (known, words(value)) {
                lines.push(Line::Cells(vec![
                    Cell::plain(key.replace('_', " ")),
                    Cell::plain(text),
                ]));
            }
        }
        if let Some(seconds) = machine.number("started_at") {
            let text = format!("{} ({seconds} seconds since 1970)", number::day(seconds));
            lines.push(Line::Cells(vec![Cell::plain("Started"), Cell::plain(text)]));
        }
        blocks.push(Block::Grid(Grid {
            head: Vec::new(),
            lines,
        }));
        blocks.extend(directories::grid(machine));
    }
    if run.source.machines.is_empty() {
        blocks.push(Block::text("The records have no line about the machine."));
    }
    blocks.extend(options(run));
    blocks
}

fn fact(key: &str, value: Option<&serde_json::Value>) -> Option<String> {
    let value = value?;
    match (key, value.as_u64(), value.as_bool()) {
        (key, Some(bytes), _) if key.ends_with("_bytes") => Some(number::memory(bytes)),
        (_, _, Some(true)) => Some("yes".into()),
        (_, _, Some(false)) => Some("no".into()),
        _ => words(value),
    }
}

fn options(run: &Run) -> Vec<Block> {
    let mut lines = Vec::new();
    for engine in run.engines() {
        for (places, options) in settings(run, &engine) {
            let text: Vec<String> = options
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            lines.push(Line::Cells(vec![
                Cell::plain(engine_style::title(&engine)),
                Cell::plain(places.join(", ")),
                Cell::plain(text.join(" ")),
            ]));
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let head = ["Store", "Where", "Options in effect"]
        .map(str::to_owned)
        .to_vec();
    vec![
        Block::heading(3, "Options"),
        Block::text(
            "Options are read back from the store if it reports them, and are otherwise those passed to it. Rows with the \
             same options are listed once.",
        ),
        Block::Grid(Grid { head, lines }),
    ]
}

/// Returns the status of a row without a figure, and the reason.
fn reason(row: &Row) -> Option<(&'static str, &str)> {
    match &row.outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped(reason) => Some(("skipped", reason)),
        Outcome::Failed(reason) => Some(("failed", reason)),
    }
}

/// Returns the number of rows of a store that have no figure for this reason.
pub(super) fn rows_without(run: &Run, title: &str, why: &str) -> usize {
    let rows = run.all_tables().flat_map(Table::engines);
    let named = rows.filter(|row| row.name().title == title);
    named
        .filter(|row| reason(row).is_some_and(|(_, text)| text == why))
        .count()
}

/// Returns the labels of rows, or their count if the store has no other rows.
fn places(run: &Run, title: &str, labels: &[String]) -> String {
    let rows = run.all_tables().flat_map(Table::engines);
    let all = rows.filter(|row| row.name().title == title).count();
    match labels.len() {
        count if count > 1 && count == all => format!("all its {count} rows"),
        _ => labels.join("; "),
    }
}

/// Returns the rows that were skipped or failed, each reason once.
pub(crate) fn missing(run: &Run) -> Vec<Block> {
    let mut groups: Vec<(String, String, Vec<String>, usize)> = Vec::new();
    for table in run.all_tables() {
        for row in table.engines() {
            let Some((word, reason)) = reason(row) else {
                continue;
            };
            let title = row.name().title;
            let label = outline::label(table);
            let same = groups.iter_mut().find(|(engine, text, _, _)| {
                *engine == title
                    && text
                        .strip_prefix(word)
                        .is_some_and(|rest| rest[2..] == *reason)
            });
            match same {
                Some((_, _, labels, _)) => labels.push(label),
                None => groups.push((
                    title,
                    format!("{word}: {reason}"),
                    vec![label],
                    engine_style::index(&row.engine),
                )),
            }
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    groups.sort_by_key(|group| group.3);
    let lines = groups.into_iter().map(|(title, text, labels, _)| {
        let tone = if text.starts_with("failed") {
            Tone::Bad
        } else {
            Tone::Plain
        };
        Line::Cells(vec![
            Cell::plain(title.clone()),
            Cell::toned(text, tone),
            Cell::plain(places(run, &title, &labels)),
        ])
    });
    let head = ["Store", "Why", "Rows"].map(str::to_owned).to_vec();
    let grid = Grid {
        head,
        lines: lines.collect(),
    };
    vec![
        Block::heading(2, "Rows without a Figure"),
        Block::Grid(grid),
    ]
}

/// Acknowledgements.
pub(crate) fn acknowledgements() -> Vec<Block> {
    vec![
        Block::heading(2, "Acknowledgements"),
        Block::text(
            "The workloads and the shape of this page are those of LevelDB Benchmarks (Google, July 2011) and of the \
             LevelDB against WiredTiger comparison that followed it. Jeff Dean and Sanjay Ghemawat wrote LevelDB; Kevin \
             Tseng wrote the benchmarks of 2011, with help and advice from Mikio Hirabayashi, Scott Hess and Gabor \
             Cselle. The other stores are other people's work; if you know a fairer setting for one of them, \
             please report it.",
        ),
    ]
}
