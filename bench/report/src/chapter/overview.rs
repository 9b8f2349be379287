//! Title, what was compared on what, warnings, and all figures at one glance.

use std::fmt::Write as _;

use bench_core::outline::Aggregate;
use bench_core::record::{Record, Status};

use crate::arrangement::arrange;
use crate::document::{Block, Cell, Grid, Line, Name, Tone};
use crate::face;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::sentence;
use crate::source::Machine;
use crate::standing;
use crate::table::{Outcome, Row, Table};

/// Fewer rounds than this do not show how far rounds lie apart.
const ROUNDS_FEW: usize = 3;

/// The head of the page.
pub(crate) fn title(run: &Run) -> Vec<Block> {
    let mut blocks = vec![
        Block::heading(1, "CairnDB Benchmarks"),
        Block::text(subtitle(run)),
    ];
    blocks.extend(warnings(run).into_iter().map(Block::Note));
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
        parts.push(format!("{plural} {}", sentence::list(&suites)));
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

/// What must be known before a figure is believed.
fn warnings(run: &Run) -> Vec<String> {
    let source = &run.source;
    let mut notes = source.notes.clone();
    let told = notes.iter().any(|note| note.contains("resumed"));
    if source.machines.len() > 1 && !told {
        notes.push(format!(
            "This run was stopped and resumed: it was started {} times. Rows that had ended were kept.",
            source.machines.len()
        ));
    }
    notes.extend(mixed(&source.machines));
    let asserting = |machine: &Machine| machine.flag("assertions") == Some(true);
    if source.machines.iter().any(asserting) {
        notes.push(
            "db_bench was built with assertions; CairnDB's figures are slower than they need be."
                .into(),
        );
    }
    notes.extend(rounds(run));
    let failed = source
        .records
        .iter()
        .filter(|record| record.status == Status::Failed)
        .count();
    if failed > 0 {
        let plural = if failed == 1 { "" } else { "s" };
        notes.push(format!(
            "{failed} measurement{plural} failed; the reasons stand in the rows and under Rows without a Figure."
        ));
    }
    let unverified = rows_where(run, |row| {
        let all = row.records.iter().chain(&row.timed);
        let unseen = |record: &Record| record.verified == Some(false) && record.reason.is_none();
        row.engine != face::HARNESS && all.into_iter().any(unseen)
    });
    if !unverified.is_empty() {
        notes.push(format!(
            "Answers could not be compared with what was written (unverified) in {}.",
            some(&unverified)
        ));
    }
    notes.extend(losses(run));
    notes
}

/// What a stopped run went on with that it had not begun with: rows of two programs or two machines
/// stand in one table then.
fn mixed(machines: &[Machine]) -> Vec<String> {
    const FACTS: [(&str, &str); 4] = [
        ("commit", "db_bench"),
        ("compiler", "compiler"),
        ("cpu", "processor"),
        ("kernel", "kernel"),
    ];
    let differing = FACTS.into_iter().filter_map(|(fact, what)| {
        let mut values: Vec<String> = Vec::new();
        for value in machines.iter().filter_map(|machine| machine.text(fact)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        (values.len() > 1).then(|| {
            format!(
                "Rows before and after the stop are not of the same {what}: {}.",
                values.join(", then ")
            )
        })
    });
    differing.collect()
}

/// Acknowledged writes that were gone after SIGKILL, where no more had been promised: such rows end
/// well, with a reason.
fn losses(run: &Run) -> Option<String> {
    let lost = |row: &Row| {
        let mut records = row.records.iter();
        records.any(|record| record.status == Status::Ok && record.reason.is_some())
    };
    let rows = run.tables.iter().flat_map(Table::engines);
    let mut names: Vec<String> = rows.filter(|row| lost(row)).map(Row::title).collect();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!(
            "{} lost acknowledged writes when the process was killed, as a store below Os may; nobody else did.",
            sentence::list(&names)
        )
    })
}

/// The tables with a row like this, by label.
fn rows_where(run: &Run, holds: impl Fn(&Row) -> bool) -> Vec<String> {
    let tables = run
        .tables
        .iter()
        .filter(|table| table.rows.iter().any(&holds));
    let mut labels: Vec<String> = tables.map(outline::label).collect();
    labels.dedup();
    labels
}

/// The first few of a list.
fn some(labels: &[String]) -> String {
    const SHOWN: usize = 4;
    if labels.len() <= SHOWN + 1 {
        return sentence::list(labels);
    }
    format!(
        "{} and {} more",
        labels[..SHOWN].join(", "),
        labels.len() - SHOWN
    )
}

/// Rounds: too few to show a spread, or fewer in some rows than in others of the same suite.
fn rounds(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    let (mut short, mut labels) = (0, Vec::new());
    let mut most_of_all = 0;
    for suite in run.suites() {
        let tables = || run.tables.iter().filter(|table| table.key.suite == suite);
        let measured = |table: &'_ Table| -> Vec<usize> {
            let rows = table.engines().filter(|row| row.rate().is_some());
            rows.map(Row::rounds).collect()
        };
        let most = tables().flat_map(measured).max().unwrap_or(0);
        for table in tables() {
            let fewer = measured(table)
                .iter()
                .filter(|&&count| count < most)
                .count();
            short += fewer;
            if fewer > 0 {
                labels.push(outline::label(table));
            }
        }
        most_of_all = most_of_all.max(most);
    }
    if most_of_all == 1 {
        notes.push(
            "One round only: there is no spread, and no difference can be called a tie.".into(),
        );
    } else if most_of_all > 0 && most_of_all < ROUNDS_FEW {
        notes.push(format!(
            "{most_of_all} rounds only: the spread shown is narrower than the real one."
        ));
    }
    if short > 0 {
        let (rows, verb) = if short == 1 {
            ("row", "has")
        } else {
            ("rows", "have")
        };
        notes.push(format!(
            "{short} {rows} {verb} fewer rounds than the others of the suite: {}.",
            some(&labels)
        ));
    }
    notes
}

fn compared(run: &Run) -> String {
    let engines = run.engines();
    let named: Vec<String> = engines
        .iter()
        .map(|engine| match version(run, engine) {
            Some(version) => format!("{} (version {version})", face::title(engine)),
            None => face::title(engine).to_owned(),
        })
        .collect();
    let verb = if engines.len() == 1 {
        "One store was measured"
    } else {
        "These stores were measured side by side"
    };
    format!(
        "{verb}: {}. Each ran in a process of its own over a fresh directory, in an order that rotates from round \
         to round; every byte read was folded and compared with what had been written.",
        sentence::list(&named)
    )
}

/// What the library of an engine reports.
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
        "median, or where the suite says so the mean without lowest and highest,".to_owned()
    };
    let rounds = rounds.unwrap_or(0);
    let plural = if rounds == 1 { "round" } else { "rounds" };
    let _ = write!(text, "Figures are the {how} of {rounds} {plural}.");
    text
}

/// Every figure in one table.
pub(crate) fn glance(run: &Run) -> Vec<Block> {
    let engines = run.engines();
    if engines.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::heading(2, "At a Glance")];
    if let Some(text) = wins(run) {
        blocks.push(Block::text(text));
    }
    let ours = engines.iter().any(|engine| engine == face::OURS);
    let compare = ours && engines.len() > 1;
    let mut head = vec![String::new()];
    head.extend(engines.iter().map(|engine| face::title(engine).to_owned()));
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
    blocks.push(Block::text(
        "Operations a second, times for events, \u{b1} how far the farthest round lies from the middle; the first and whoever \
         ties with it in bold. Figures in brackets are not ranked.",
    ));
    blocks
}

fn line(table: &Table, engines: &[String], compare: bool) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(outline::label(table))];
    let best = standing::ranking(table).first().map(|(_, rate)| **rate);
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
        let text = amount(table, rate.middle);
        let leads = best.is_some_and(|best| best.ties(rate) || best.middle <= rate.middle);
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
        let spread = shown
            .width()
            .map(|width| format!("\u{b1}{:.0}%", 100.0 * width));
        cells.push(Cell { spread, ..cell });
    }
    if compare {
        cells.extend(to_best_peer(table));
    }
    cells
}

/// `2.1x` and `LevelDB`, with a word where it is a tie.
pub(super) fn to_best_peer(table: &Table) -> [Cell; 2] {
    let compared = || {
        let ((_, ours), (peer, theirs)) = (standing::ours(table)?, standing::best_peer(table)?);
        Some((standing::over(ours, theirs)?, peer, ours.ties(theirs)))
    };
    let Some((times, peer, tie)) = compared() else {
        return [Cell::number(None), Cell::plain("")];
    };
    let tie = if tie { ", tie" } else { "" };
    [
        Cell::number(Some(format!("{}x", number::ratio(times)))),
        Cell::plain(format!("{}{tie}", peer.title())),
    ]
}

/// A rate, or the time of an event.
pub(super) fn amount(table: &Table, rate: f64) -> String {
    if table.is_event() && rate > 0.0 {
        number::time(1e9 / rate)
    } else {
        number::short(rate)
    }
}

/// Rows named in the last sentence; more are behind only where little is ahead.
const BEHIND_NAMED: usize = 8;

/// In how many rows CairnDB is ahead, level and behind, and in which it is behind.
pub(crate) fn wins(run: &Run) -> Option<String> {
    let (mut ahead, mut level, mut wide, mut behind) = (0, 0, 0, Vec::new());
    for table in &run.tables {
        if let (Some((row, ours)), Some((peer, theirs))) =
            (standing::ours(table), standing::best_peer(table))
            && row.is_ranked()
        {
            wide += u32::from(ours.is_wide() || theirs.is_wide());
            match () {
                () if ours.ties(theirs) => level += 1,
                () if ours.middle > theirs.middle => ahead += 1,
                () => {
                    let times =
                        standing::over(ours, theirs).map_or_else(String::new, number::ratio);
                    behind.push(format!(
                        "{} ({times}x {})",
                        outline::label(table),
                        peer.title()
                    ));
                }
            }
        }
    }
    let all = ahead + level + behind.len();
    (all > 0).then(|| {
        let mut text = format!(
            "Against the best ranked peer of each row, CairnDB is ahead in {ahead} of {all}, ties in {level} \
             and is behind in {}",
            behind.len()
        );
        let more = behind.len().saturating_sub(BEHIND_NAMED);
        behind.truncate(BEHIND_NAMED);
        if !behind.is_empty() {
            let _ = write!(text, ": {}", behind.join("; "));
        }
        if more > 0 {
            let _ = write!(text, "; and {more} more, named under Biases");
        }
        text.push('.');
        if wide > 0 {
            let _ = write!(
                text,
                " In {wide} rows a round of one of the two lies more than a tenth from the middle: the row is \
                 short, or the machine was not quiet; another run may order them otherwise."
            );
        }
        text
    })
}

/// The engines' colours.
pub(super) fn legend(run: &Run) -> Block {
    let names = run
        .engines()
        .iter()
        .map(|engine| Name::plain(engine))
        .collect();
    Block::Legend(names)
}
