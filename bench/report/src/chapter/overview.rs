//! Title, stores and machine, warnings, and all figures at a glance.

use std::fmt::Write as _;

use bench_core::result::outline::Aggregate;

use crate::chapter::{fairness, tally, warnings};
use crate::document::{Block, Cell, Grid, Line, Name, Tone};
use crate::engine_style;
use crate::number;
use crate::outline;
use crate::outline::sections::arrange;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing, verdict};

/// Returns the head of the page.
pub(crate) fn title(run: &Run) -> Vec<Block> {
    let mut blocks = vec![
        Block::heading(1, "CairnDB Benchmarks"),
        Block::text(subtitle(run)),
    ];
    blocks.extend(warnings::warnings(run).into_iter().map(Block::Note));
    if run.tables.is_empty() {
        blocks.push(Block::text("There are no results in this report."));
        return blocks;
    }
    blocks.push(Block::text(compared(run)));
    blocks.push(Block::text(machine(run)));
    blocks
}

fn subtitle(run: &Run) -> String {
    let suites: Vec<String> = run.suites().into_iter().flatten().collect();
    let mut parts = Vec::new();
    if !suites.is_empty() {
        let plural = if suites.len() == 1 { "Suite" } else { "Suites" };
        parts.push(format!("{plural} {}", verdict::list(&suites)));
    }
    let mut machines = run.source.machines.iter();
    if let Some(seconds) = machines.find_map(|machine| machine.number("started_at")) {
        parts.push(number::day(seconds));
    }
    if let Some(version) = run
        .source
        .machines
        .first()
        .and_then(|machine| machine.text("db_bench"))
    {
        parts.push(format!("db_bench {version}"));
    }
    parts.join(", ")
}

fn compared(run: &Run) -> String {
    let engines = run.engines();
    let named: Vec<String> = engines
        .iter()
        .map(|engine| match version(run, engine) {
            Some(version) => format!("{} (version {version})", engine_style::title(engine)),
            None => engine_style::title(engine).to_owned(),
        })
        .collect();
    let verb = if engines.len() == 1 {
        "One store was measured"
    } else {
        "These stores were measured side by side"
    };
    format!(
        "{verb}: {}. Each ran in its own process over a fresh directory, and the order of the stores changes \
         with each section and round; every byte read was folded and compared with what had been written.",
        verdict::list(&named)
    )
}

/// Returns the version that an engine's library reports.
pub(super) fn version(run: &Run, engine: &str) -> Option<String> {
    let mut records = run
        .source
        .records
        .iter()
        .filter(|record| record.engine == engine);
    records.find_map(|record| record.engine_version.clone())
}

fn machine(run: &Run) -> String {
    let mut text = String::new();
    if let Some(machine) = run.source.machines.first() {
        let cpus = machine.number("cpus");
        let cpu = machine
            .text("cpu")
            .unwrap_or_else(|| "an unknown processor".into());
        let cores = match cpus {
            Some(1) => "one core of ".to_owned(),
            Some(cpus) => format!("{cpus} cores of "),
            None => String::new(),
        };
        let _ = write!(text, "The machine has {cores}{cpu}");
        if let Some(bytes) = machine.number("memory_bytes") {
            // Writing to a String cannot fail, here and below.
            let _ = write!(
                text,
                " and {} MB of memory",
                number::megabytes(number::float(bytes))
            );
        }
        if let Some(kernel) = machine.text("kernel") {
            let _ = write!(text, ", under {kernel}");
        }
        if let Some(kind) = machine.text("file_system") {
            let _ = write!(text, ", with the databases on {kind}");
        }
        text.push_str(". ");
    }
    let aggregates: Vec<Aggregate> = run
        .tables
        .iter()
        .map(|table| run.aggregate(table))
        .collect();
    let rounds = run
        .tables
        .iter()
        .flat_map(Table::engines)
        .map(Row::rounds)
        .max();
    let aggregate = aggregates.first().copied().unwrap_or_default();
    let how = if aggregates.iter().all(|&other| other == aggregate) {
        aggregate.words().to_owned()
    } else {
        "median (or, if the suite specifies it, the mean without lowest and highest)".to_owned()
    };
    let rounds = rounds.unwrap_or(0);
    let plural = if rounds == 1 { "round" } else { "rounds" };
    let _ = write!(text, "Figures are the {how} of {rounds} {plural}.");
    text.push_str(&earlier(run));
    text
}

/// Returns a sentence about the instances that do not count, if there are any.
fn earlier(run: &Run) -> String {
    let (tables, are) = match run.earlier.len() {
        0 => return String::new(),
        1 => ("table", "is"),
        _ => ("tables", "are"),
    };
    format!(
        " If a suite counts the last instance of a workload in a section, only that one is shown and counted; {} \
         {tables} of earlier instances {are} in report.csv and report.json.",
        run.earlier.len()
    )
}

/// Returns every figure in one table.
pub(crate) fn glance(run: &Run) -> Vec<Block> {
    let engines = run.engines();
    if engines.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::heading(2, "At a Glance")];
    if let Some(text) = tally::wins(run) {
        blocks.push(Block::text(text));
    }
    let ours = engines.iter().any(|engine| engine == engine_style::OURS);
    let compare = ours && engines.len() > 1;
    let mut head = vec![String::new()];
    head.extend(
        engines
            .iter()
            .map(|engine| engine_style::title(engine).to_owned()),
    );
    if compare {
        head.push("CairnDB to best".into());
        head.push("Best peer".into());
    }
    let several = run.suites().len() > 1;
    let mut lines = Vec::new();
    for suite in run.suites() {
        let tables: Vec<&Table> = run
            .tables
            .iter()
            .filter(|table| table.key.suite == suite && table.engines().next().is_some())
            .collect();
        for chapter in arrange(run, suite.as_deref(), &tables) {
            let words = suite.as_deref().filter(|_| several);
            let words = words.map(|suite| format!("{suite}: ")).unwrap_or_default();
            lines.push(Line::Group(format!("{words}{}", chapter.title)));
            let tables = chapter.groups.iter().flat_map(|group| &group.tables);
            lines.extend(tables.map(|(_, table)| Line::Cells(line(table, &engines, compare))));
        }
    }
    blocks.push(Block::Grid(Grid { head, lines }));
    blocks.push(Block::text(format!(
        "Operations per second, times for events, \u{b1} the distance of the farthest round from the middle. The \
         first and those that tie with it are in bold; figures in brackets are not ranked.{}",
        fairness::by_hand(run).map_or_else(String::new, |text| format!(" {text}"))
    )));
    blocks
}

fn line(table: &Table, engines: &[String], compare: bool) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(outline::label(table))];
    let leaders = standing::leaders(table);
    for engine in engines {
        let Some(row) = table.row(engine) else {
            cells.push(Cell::toned("-", Tone::Faint));
            continue;
        };
        let Some(rate) = row.rate() else {
            let failed = matches!(row.outcome, Outcome::Failed(_));
            let (word, tone) = if failed {
                ("failed", Tone::Bad)
            } else {
                ("-", Tone::Faint)
            };
            cells.push(Cell::toned(word, tone));
            continue;
        };
        let mark = if row.by_hand() {
            engine_style::BY_HAND
        } else {
            ""
        };
        let text = format!("{}{mark}", amount(table, rate.middle));
        let leads = leaders.iter().any(|(leader, _)| std::ptr::eq(*leader, row));
        let cell = match (row.is_ranked(), leads) {
            (false, _) => Cell::toned(format!("({text})"), Tone::Number),
            (true, true) => Cell::toned(text, Tone::Best),
            (true, false) => Cell::toned(text, Tone::Number),
        };
        let shown = if table.is_event() {
            rate.times()
        } else {
            *rate
        };
        let spread = shown.width_text();
        cells.push(Cell { spread, ..cell });
    }
    if compare {
        cells.extend(to_best_peer(table));
    }
    cells
}

/// Returns the cells `2.1x` and `LevelDB`, with a remark on a tie, or on another peer that it ties
/// with or is behind.
pub(super) fn to_best_peer(table: &Table) -> [Cell; 2] {
    let Some((times, peer)) = tally::to_best_peer(table) else {
        return [Cell::number(None), Cell::plain("")];
    };
    [
        Cell::number(Some(format!("{}x", number::ratio(times)))),
        Cell::plain(peer),
    ]
}

/// Formats a rate, or the time of an event.
pub(super) fn amount(table: &Table, rate: f64) -> String {
    if table.is_event() && rate > 0.0 {
        number::time(1e9 / rate)
    } else {
        number::short(rate)
    }
}

/// Returns the engines' colours.
pub(super) fn legend(run: &Run) -> Block {
    let names = run
        .engines()
        .iter()
        .map(|engine| Name::plain(engine))
        .collect();
    Block::Legend(names)
}
