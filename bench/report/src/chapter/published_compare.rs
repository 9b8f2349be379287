//! Published figures next to today's, and figures that do not follow from their own document.

use crate::document::{Block, Cell, Grid, Item, Line, Name, Tone};
use crate::engine_style;
use crate::number;
use crate::outline;
use crate::published::{self, Check, Page2011, Row2011, WiredTigerRow};
use crate::run::Run;
use crate::table::{Row, StoreState, Table, standing, verdict};

/// The suite that runs the operations of the WiredTiger page.
const WIREDTIGER_SUITE: &str = "wiredtiger";

/// The variant of LevelDB with its default write buffer in addition to the cache, as on the
/// WiredTiger page.
const BESIDE: &str = "default-buffer";

/// Returns both chapters.
pub(crate) fn pages(run: &Run) -> Vec<Block> {
    if run.tables.is_empty() {
        return Vec::new();
    }
    let mut blocks = page_2011(run);
    blocks.extend(page_wiredtiger(run));
    blocks
}

fn page_2011(run: &Run) -> Vec<Block> {
    let page = published::page_2011();
    let mut blocks = vec![
        Block::PageBreak,
        Block::heading(2, "The Figures of 2011 and Today's"),
        Block::text(format!(
            "Every figure of LevelDB Benchmarks (July 2011: {}; six cores of a Xeon X5650, 7200 rpm disks, \
             ext3) beside today's figure of the same store and of CairnDB. Processors and disks have changed \
             for many years since then, so absolute rates mean little; only the ratios between stores can be \
             compared. Bars are scaled to the fastest of their own year. Today's reads run over the store as \
             the fills left it, because the page of 2011 compacted nothing.",
            verdict::list(&page.engines.values().cloned().collect::<Vec<_>>())
        )),
    ];
    let any = page.row.iter().any(|row| today(run, row).is_some());
    if !any {
        blocks.push(Block::text(
            "The sections of 2011 were not part of this run; today's columns are empty.",
        ));
    }
    let head = [
        "",
        "2011, ops/sec",
        "today, ops/sec",
        "today to 2011",
        "to LevelDB, 2011",
        "to LevelDB, today",
        "CairnDB to it, today",
    ];
    let lines = page.row.iter().flat_map(|row| beside(run, row)).collect();
    blocks.push(Block::Grid(Grid {
        head: head.map(str::to_owned).to_vec(),
        lines,
    }));
    blocks.extend(audit(&page));
    blocks
}

/// Returns today's table for a table of 2011.
fn today<'r>(run: &'r Run, row: &Row2011) -> Option<&'r Table> {
    let workload = row.workload.as_deref()?;
    run.tables.iter().find(|table| {
        outline::place(&table.key) == Some(row.place.as_str())
            && outline::same_workload(&table.key.workload, workload)
            && table.state != StoreState::Compacted
            && table
                .key
                .data
                .as_deref()
                .is_none_or(|data| data == "synthetic")
    })
}

fn beside(run: &Run, row: &Row2011) -> Vec<Line> {
    let table = today(run, row);
    let fastest_then = row.fastest();
    let rate_now = |engine: &str| table.and_then(|table| Some(table.row(engine)?.rate()?.middle));
    let mut engines: Vec<&str> = row.ops.keys().map(String::as_str).collect();
    engines.push(engine_style::OURS);
    engines.sort_by_key(|engine| engine_style::index(engine));
    let fastest_now = engines
        .iter()
        .filter_map(|engine| rate_now(engine))
        .fold(0.0, f64::max);
    let ours = rate_now(engine_style::OURS);
    let mut lines = vec![Line::Group(row.section.clone())];
    for engine in engines {
        let (then, now) = (row.ops.get(engine).copied(), rate_now(engine));
        let over = |rate: Option<f64>, base: Option<f64>| {
            let (rate, base) = (rate?, base.filter(|&base| base > 0.0)?);
            Some(format!("{}x", number::ratio(rate / base)))
        };
        let is_reference = engine == engine_style::REFERENCE;
        let to_reference = |rate, base| over(rate, base).filter(|_| !is_reference);
        lines.push(Line::Cells(vec![
            Cell::name(Name::plain(engine)),
            barred(engine, then, fastest_then),
            barred(engine, now, fastest_now),
            Cell::number(over(now, then)),
            Cell::number(to_reference(
                then,
                row.ops.get(engine_style::REFERENCE).copied(),
            )),
            Cell::number(to_reference(now, rate_now(engine_style::REFERENCE))),
            Cell::number(over(ours, now).filter(|_| engine != engine_style::OURS)),
        ]));
    }
    lines.extend(
        row.note
            .iter()
            .map(|note| Line::Cells(vec![Cell::toned(note.clone(), Tone::Faint)])),
    );
    lines
}

fn barred(engine: &str, rate: Option<f64>, fastest: f64) -> Cell {
    let mut cell = Cell::number(rate.map(number::rate));
    if let Some(rate) = rate.filter(|_| fastest > 0.0) {
        cell.style = Some(engine_style::index(engine));
        cell.bar = Some(rate / fastest);
    }
    cell
}

/// Compares every printed ratio and width with the printed rates.
fn audit(page: &Page2011) -> Vec<Block> {
    let contradictions = page.contradictions();
    let items = contradictions
        .iter()
        .map(|text| Item::new("", text.clone()))
        .collect();
    let mut lines = Vec::new();
    for row in page.row.iter().filter(|row| !row.bar_px.is_empty()) {
        lines.push(Line::Group(row.section.clone()));
        for engine in row.ops.keys() {
            let (bar, ratio) = (row.bar(engine), page.ratio(row, engine));
            let px = |value: f64| format!("{value:.0} px");
            let times = |value: f64| format!("{}x", number::ratio(value));
            let mut cells = vec![
                Cell::name(Name::plain(engine)),
                Cell::number(row.ops.get(engine).map(|&rate| number::rate(rate))),
            ];
            cells.extend(checked(bar, px));
            cells.extend(checked(ratio, times));
            lines.push(Line::Cells(cells));
        }
    }
    let head = [
        "",
        "ops/sec",
        "bar, printed",
        "bar, computed",
        "x baseline, printed",
        "x baseline, computed",
    ];
    vec![
        Block::heading(3, "Figures That Do Not Follow from Their Own Document"),
        Block::text(format!(
            "The ratios and bar widths of 2011, recomputed from its own rates. A printed rate is taken as \
             accurate to half a unit of its last nonzero digit, and to at least two digits; even so, {} \
             figures do not follow.",
            contradictions.len()
        )),
        Block::List(items),
        Block::Grid(Grid {
            head: head.map(str::to_owned).to_vec(),
            lines,
        }),
    ]
}

fn checked(check: Option<Check>, show: fn(f64) -> String) -> [Cell; 2] {
    let Some(check) = check else {
        return [Cell::number(None), Cell::number(None)];
    };
    let mut computed = Cell::number(Some(show(check.computed)));
    if !check.follows {
        computed.tone = Tone::Bad;
    }
    [Cell::number(Some(show(check.printed))), computed]
}

fn page_wiredtiger(run: &Run) -> Vec<Block> {
    let page = published::page_wiredtiger();
    let mut blocks = vec![
        Block::heading(2, "The WiredTiger Page and Today's Figures"),
        Block::text(
            "LevelDB VS WiredTiger Benchmark (WiredTiger 1.4.2, LevelDB 1.5, 128 MB of cache, an instance with two SSDs) \
             prints no rates, only WiredTiger's throughput as a multiple of LevelDB's. Today's columns are the \
             last instance of each operation in the suite of that name: first with equal memory and equal \
             durability; then against LevelDB as that page ran it, with its default write buffer in addition \
             to the cache; then also with WiredTiger as that page ran it, without log and checksums and with a \
             bulk cursor for the sequential fill. Rows run as on that page are not ranked.",
        ),
    ];
    if !run
        .tables
        .iter()
        .any(|table| table.key.suite.as_deref() == Some(WIREDTIGER_SUITE))
    {
        blocks.push(Block::text(
            "The suite wiredtiger was not part of this run; today's columns are empty.",
        ));
    }
    let head = [
        "",
        "published, to LevelDB",
        "today, to LevelDB",
        "to LevelDB as run there",
        "run as there, to LevelDB as run there",
    ];
    let lines = page
        .row
        .iter()
        .flat_map(|row| wiredtiger_lines(run, row))
        .collect();
    blocks.push(Block::Grid(Grid {
        head: head.map(str::to_owned).to_vec(),
        lines,
    }));
    blocks.push(Block::heading(3, "What to Know about That Page"));
    let items = [
        "It has no rates, so none of its ratios can be recomputed; it does not include the raw data it refers to.",
        "It gives no figure for random inserts into the B-tree.",
        "Its sequential insert into the B-tree used a bulk cursor, which works only on a new, empty table.",
        "It ran WiredTiger without a log and without checksums against LevelDB with its log: its writes did \
         not survive the death of the process.",
        "LevelDB had its default write buffer of 4 MB in addition to the cache of 128 MB, whereas the page of \
         2011 gave it 120 MB of write buffer. The suite shows both.",
        "It calls 128 MB not quite large enough for a million entries; their raw bytes are 116,000,000 of 134,217,728, \
         so that holds only with overheads above 15 %, and not for compressed blocks.",
    ];
    blocks.push(Block::List(
        items.iter().map(|text| Item::new("", *text)).collect(),
    ));
    blocks
}

/// Returns the last instance of an operation in the suite, with classic data.
fn last_instance<'r>(run: &'r Run, workload: &str) -> Option<&'r Table> {
    let of = |table: &&Table| {
        table.key.suite.as_deref() == Some(WIREDTIGER_SUITE)
            && table.key.workload == workload
            && table
                .key
                .data
                .as_deref()
                .is_none_or(|data| data == "synthetic")
    };
    run.tables
        .iter()
        .filter(of)
        .max_by_key(|table| table.key.instance)
}

fn wiredtiger_lines(run: &Run, row: &WiredTigerRow) -> Vec<Line> {
    let table = last_instance(run, &row.workload);
    let mut lines = vec![Line::Group(match &row.note {
        Some(note) => format!("{} ({note})", row.section),
        None => row.section.clone(),
    })];
    for engine in ["wiredtiger_btree", "wiredtiger_lsm", engine_style::OURS] {
        let published = row.times_leveldb.get(engine).map(|&times| {
            let qualifier = row.qualifier.get(engine);
            let qualifier = qualifier.map(|word| format!("{word} ")).unwrap_or_default();
            format!("{qualifier}{}", times_text(times))
        });
        let of = |variant| table.and_then(|table| variant_of(table, engine, variant));
        let to = |row: Option<&Row>, variant| {
            let base = variant_of(table?, engine_style::REFERENCE, variant)?;
            Some(times_text(standing::over(row?.rate()?, base.rate()?)?))
        };
        lines.push(Line::Cells(vec![
            Cell::name(Name::plain(engine)),
            Cell::number(published),
            Cell::number(to(of(None), None)),
            Cell::number(to(of(None), Some(BESIDE))),
            Cell::number(to(of(Some("seed")), Some(BESIDE))),
        ]));
    }
    lines.extend(reverse_to_forward(run, row));
    lines
}

/// Returns the row of an engine with its plain settings, or with those of a named variant.
fn variant_of<'t>(table: &'t Table, engine: &str, variant: Option<&str>) -> Option<&'t Row> {
    table.rows.iter().find(|row| {
        row.engine == engine
            && match variant {
                Some(_) => row.variant.as_deref() == variant,
                None => row.is_plain(),
            }
    })
}

fn times_text(times: f64) -> String {
    format!("{}x", number::ratio(times))
}

/// Returns the ratio of LevelDB's reverse to its forward scan rate.
fn reverse_to_forward(run: &Run, row: &WiredTigerRow) -> Option<Line> {
    let published = row.leveldb_reverse_over_forward?;
    let middle = |workload| {
        let row = last_instance(run, workload)?.row(engine_style::REFERENCE)?;
        Some(row.rate()?.middle)
    };
    let forward = middle("readseq").filter(|&rate| rate > 0.0);
    let today = middle("readreverse").zip(forward);
    let title = Name {
        title: "LevelDB, reverse to forward".into(),
        ..Name::plain(engine_style::REFERENCE)
    };
    Some(Line::Cells(vec![
        Cell::name(title),
        Cell::number(Some(times_text(published))),
        Cell::number(today.map(|(reverse, forward)| times_text(reverse / forward))),
        Cell::number(None),
        Cell::number(None),
    ]))
}
