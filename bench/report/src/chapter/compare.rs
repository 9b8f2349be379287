//! Comparisons of the same rows: in several directories, and over growing numbers of entries.

use bench_core::result::outline::Aggregate;

use crate::chapter::cost::{COSTS, Cost};
use crate::chapter::overview;
use crate::document::{Block, Cell, Grid, Line};
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table};

/// Costs shown over growing numbers of entries.
const GROWING: [&str; 4] = [
    "anonymous MB, peak",
    "MB on disk",
    "space amplification",
    "write amplification (kernel)",
];

/// A figure of a row: its value for comparison, and its text.
type Figure = (f64, String);

/// Returns the lines of one kind of figure: a heading, and for each store its figure in every
/// table.
fn lines(
    title: &str,
    tables: &[Option<&Table>],
    figure: impl Fn(&Table, &Row) -> Option<Figure>,
) -> Vec<Line> {
    let Some(first) = tables.iter().flatten().next() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for row in first.engines() {
        let same = |other: &&Row| other.engine == row.engine && other.variant == row.variant;
        let figures: Vec<Option<Figure>> = tables
            .iter()
            .map(|table| {
                let table = (*table)?;
                let row = table.engines().find(same)?;
                figure(table, row)
            })
            .collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let ratio = match (figures.first(), figures.last()) {
            (Some(Some((first, _))), Some(Some((last, _)))) if *first > 0.0 => {
                Some(format!("{}x", number::ratio(last / first)))
            }
            _ => None,
        };
        let mut cells = vec![Cell::name(row.name())];
        cells.extend(
            figures
                .into_iter()
                .map(|figure| Cell::number(figure.map(|(_, text)| text))),
        );
        cells.push(Cell::number(ratio));
        lines.push(Line::Cells(cells));
    }
    if !lines.is_empty() {
        lines.insert(0, Line::Group(title.to_owned()));
    }
    lines
}

/// Formats a rate, or the time of an event.
fn rate(table: &Table, row: &Row) -> Option<Figure> {
    let rate = row.rate()?.middle;
    let compared = if table.is_event() { 1e9 / rate } else { rate };
    Some((compared, overview::amount(table, rate)))
}

fn head(columns: &[String]) -> Vec<String> {
    let mut head = vec![String::new()];
    head.extend_from_slice(columns);
    head.push("last to first".into());
    head
}

/// Returns the rows that ran in several directories.
pub(super) fn directories(tables: &[&Table]) -> Option<Block> {
    let mut places: Vec<String> = Vec::new();
    for place in tables
        .iter()
        .filter_map(|table| table.key.file_system.clone())
    {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.len() < 2 {
        return None;
    }
    let mut all = Vec::new();
    for table in tables {
        if table.key.file_system.as_ref() != places.first() {
            continue;
        }
        let same = |place: &String| {
            tables.iter().copied().find(|other| {
                other.key.workload == table.key.workload
                    && other.key.instance == table.key.instance
                    && other.state == table.state
                    && other.key.data == table.key.data
                    && other.key.file_system.as_ref() == Some(place)
            })
        };
        let beside: Vec<Option<&Table>> = places.iter().map(same).collect();
        all.extend(lines(&table.key.workload, &beside, rate));
    }
    (!all.is_empty()).then(|| {
        Block::Grid(Grid {
            head: head(&places),
            lines: all,
        })
    })
}

/// A section with the number of entries its database is filled with.
struct Size<'r> {
    entries: u64,
    tables: Vec<&'r Table>,
}

/// Returns the growth of figures with the number of entries, for suites whose sections differ in
/// nothing else.
pub(crate) fn growth(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    for suite in run.suites() {
        let sizes = sizes(run, suite.as_deref());
        let Some(first) = sizes.first().filter(|_| sizes.len() > 1) else {
            continue;
        };
        let columns: Vec<String> = sizes
            .iter()
            .map(|size| format!("{} entries", number::thousands(size.entries)))
            .collect();
        let mut all = Vec::new();
        for table in &first.tables {
            let beside: Vec<Option<&Table>> = sizes.iter().map(|size| twin(size, table)).collect();
            let state = outline::state_text(table.state).map(|state| format!(", {state}"));
            let title = format!("{}{}", table.key.workload, state.unwrap_or_default());
            all.extend(lines(&title, &beside, rate));
            if table.workload().is_some_and(|workload| workload.fresh) {
                for cost in COSTS.iter().filter(|cost| GROWING.contains(&cost.title)) {
                    let title = format!("{title}: {}", cost.title);
                    all.extend(lines(&title, &beside, |_, row| reported(row, cost)));
                }
            }
        }
        if blocks.is_empty() {
            blocks.push(Block::PageBreak);
            blocks.push(Block::heading(2, "Growth"));
            blocks.push(Block::text(
                "The same rows over databases of different sizes, under the same memory. The last column divides the largest by the \
                 smallest: a falling rate, or a rising time or cost, is the price of size.",
            ));
        }
        blocks.push(Block::Grid(Grid {
            head: head(&columns),
            lines: all,
        }));
    }
    blocks
}

fn reported(row: &Row, cost: &Cost) -> Option<Figure> {
    let value = row.figure(Aggregate::Median, cost.of)?.middle;
    Some((value, (cost.show)(value)))
}

/// Returns the table of another size for the same row.
fn twin<'r>(size: &Size<'r>, table: &Table) -> Option<&'r Table> {
    size.tables.iter().copied().find(|other| {
        other.key.workload == table.key.workload
            && other.key.data == table.key.data
            && other.key.instance == table.key.instance
            && other.state == table.state
    })
}

/// Returns the sections of a suite that start with the same fill under the same memory, by number
/// of entries; fewer than two if the suite does not grow.
fn sizes<'r>(run: &'r Run, suite: Option<&str>) -> Vec<Size<'r>> {
    let mut sections: Vec<(Option<&str>, Vec<&Table>)> = Vec::new();
    for table in run
        .tables
        .iter()
        .filter(|table| table.key.suite.as_deref() == suite)
    {
        let name = table.key.section.as_deref();
        match sections.iter_mut().find(|(known, _)| *known == name) {
            Some((_, tables)) => tables.push(table),
            None => sections.push((name, vec![table])),
        }
    }
    let first_fill = |tables: &[&Table]| {
        let table = tables.first()?;
        table.workload().filter(|workload| workload.fresh)?;
        let records = || table.engines().flat_map(|row| &row.records);
        let entries = records().find_map(|record| record.ops)?;
        let memory = records().find_map(|record| record.memory_bytes)?;
        Some((table.key.workload.clone(), memory, entries))
    };
    let mut kind = None;
    let mut sizes: Vec<Size<'_>> = Vec::new();
    for (_, tables) in sections {
        let Some((workload, memory, entries)) = first_fill(&tables) else {
            continue;
        };
        let same = *kind.get_or_insert((workload.clone(), memory)) == (workload, memory);
        if same && !sizes.iter().any(|size| size.entries == entries) {
            sizes.push(Size { entries, tables });
        }
    }
    sizes.sort_by_key(|size| size.entries);
    sizes
}
