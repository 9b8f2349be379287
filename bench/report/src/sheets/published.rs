//! Published figures next to today's, and figures that do not follow from their own document.

use crate::engine;
use crate::number;
use crate::outline;
use crate::published::{self, Check, Page2011, Row2011, WiredTigerRow};
use crate::run::Run;
use crate::sheets::sheet::Sheet;
use crate::table::{COMPACTED, Row, Table, standing};
use crate::verdict::times_text;

/// The suite that runs the operations of the WiredTiger page.
const WIREDTIGER_SUITE: &str = "wiredtiger";
/// The variant of LevelDB with its default write buffer in addition to the cache, as on the
/// WiredTiger page.
const DEFAULT_BUFFER: &str = "default-buffer";

/// Returns both pages.
pub(super) fn sheets(run: &Run) -> [Sheet; 2] {
    let page = published::page_2011();
    let versions: Vec<&str> = page.engines.values().map(String::as_str).collect();
    let mut lines = vec![vec![versions.join("; ")]];
    lines.extend(page.row.iter().flat_map(|row| compared(run, &page, row)));
    let head = [
        "Store",
        "2011, ops/sec",
        "today, ops/sec",
        "today to 2011",
        "to LevelDB, 2011",
        "to LevelDB, today",
        "CairnDB to it, today",
        "bar, printed",
        "bar, computed",
        "x baseline, printed",
        "x baseline, computed",
        "does not follow",
    ];
    let prose = prose!("leveldb-2011");
    let today = Sheet::new("The figures of 2011 and today's", prose, &head, lines);
    [today, page_wiredtiger(run)]
}

fn is_classic(table: &Table) -> bool {
    let data = table.key.data.as_deref();
    data.is_none_or(|data| data == "synthetic")
}

/// Returns today's table for a table of 2011.
fn today<'r>(run: &'r Run, row: &Row2011) -> Option<&'r Table> {
    let workload = row.workload.as_deref()?;
    run.tables.iter().find(|table| {
        outline::place(&table.key) == Some(row.place.as_str())
            && outline::same_workload(&table.key.workload, workload)
            && table.state != COMPACTED
            && is_classic(table)
    })
}

/// Returns the ratio of two rates as text, if both are known.
fn over(rate: Option<f64>, base: Option<f64>) -> String {
    let base = base.filter(|&base| base > 0.0);
    let times = rate.zip(base).map(|(rate, base)| times_text(rate / base));
    times.unwrap_or_default()
}

/// Returns a table of 2011 next to today's, and its printed ratios and widths next to those that
/// its printed rates give.
fn compared(run: &Run, page: &Page2011, row: &Row2011) -> Vec<Vec<String>> {
    let table = today(run, row);
    let now = |engine: &str| table.and_then(|table| Some(table.row(engine)?.rate()?.middle));
    let then = |engine: &str| row.ops.get(engine).copied();
    let mut engines: Vec<&str> = row.ops.keys().map(String::as_str).collect();
    engines.push(engine::OURS);
    engines.sort_by_key(|engine| engine::index(engine));
    let figure = |rate: Option<f64>| rate.map(number::rate).unwrap_or_default();
    let px = |value: f64| format!("{value:.0} px");
    let mut lines = vec![vec![row.section.clone()]];
    for engine in engines {
        let base = |rate: Option<f64>| rate.filter(|_| engine != engine::REFERENCE);
        let ours = now(engine::OURS).filter(|_| engine != engine::OURS);
        let (bar, ratio) = (row.bar(engine), page.ratio(row, engine));
        let wrong = [(bar, "bar"), (ratio, "baseline")].into_iter();
        let wrong = wrong.filter(|(check, _)| check.is_some_and(|check| !check.follows));
        let wrong: Vec<&str> = wrong.map(|(_, what)| what).collect();
        let shown = |check: Option<Check>, show: fn(f64) -> String| {
            check.map_or_else(Default::default, |it| [show(it.printed), show(it.computed)])
        };
        let [bar_then, bar_now] = shown(bar, px);
        let [ratio_then, ratio_now] = shown(ratio, times_text);
        lines.push(vec![
            engine::title(engine).to_owned(),
            figure(then(engine)),
            figure(now(engine)),
            over(now(engine), then(engine)),
            over(then(engine), base(then(engine::REFERENCE))),
            over(now(engine), base(now(engine::REFERENCE))),
            over(ours, now(engine)),
            bar_then,
            bar_now,
            ratio_then,
            ratio_now,
            wrong.join(", "),
        ]);
    }
    lines.extend(row.note.iter().map(|note| vec![note.clone()]));
    lines
}

fn page_wiredtiger(run: &Run) -> Sheet {
    let head = [
        "Store",
        "published, to LevelDB",
        "today, to LevelDB",
        "to LevelDB as run there",
        "run as there, to LevelDB as run there",
    ];
    let page = published::page_wiredtiger();
    let lines = page.row.iter().flat_map(|row| wiredtiger_lines(run, row));
    Sheet::new(
        "The WiredTiger page and today's figures",
        prose!("wiredtiger"),
        &head,
        lines.collect(),
    )
}

/// Returns the last instance of an operation in the suite, with classic data.
fn last_instance<'r>(run: &'r Run, workload: &str) -> Option<&'r Table> {
    let of = |table: &&Table| {
        let suite = table.key.suite.as_deref() == Some(WIREDTIGER_SUITE);
        suite && table.key.workload == workload && is_classic(table)
    };
    let tables = run.tables.iter().filter(of);
    tables.max_by_key(|table| table.key.instance)
}

fn wiredtiger_lines(run: &Run, row: &WiredTigerRow) -> Vec<Vec<String>> {
    let table = last_instance(run, &row.workload);
    let mut lines = vec![vec![match &row.note {
        Some(note) => format!("{} ({note})", row.section),
        None => row.section.clone(),
    }]];
    for engine in ["wiredtiger_btree", "wiredtiger_lsm", engine::OURS] {
        let published = row.times_leveldb.get(engine).map(|&times| {
            let qualifier = row.qualifier.get(engine).map_or("", String::as_str);
            format!("{qualifier} {}", times_text(times))
                .trim_start()
                .to_owned()
        });
        let rate =
            |engine: &str, variant| Some(variant_of(table?, engine, variant)?.rate()?.middle);
        lines.push(vec![
            engine::title(engine).to_owned(),
            published.unwrap_or_default(),
            over(rate(engine, None), rate(engine::REFERENCE, None)),
            over(
                rate(engine, None),
                rate(engine::REFERENCE, Some(DEFAULT_BUFFER)),
            ),
            over(
                rate(engine, Some("seed")),
                rate(engine::REFERENCE, Some(DEFAULT_BUFFER)),
            ),
        ]);
    }
    if let Some(published) = row.leveldb_reverse_over_forward {
        let rate = |workload| {
            let table = last_instance(run, workload)?;
            standing::reference(table).map(|(_, rate)| rate.middle)
        };
        lines.push(vec![
            "LevelDB, reverse to forward".to_owned(),
            times_text(published),
            over(rate("readreverse"), rate("readseq")),
        ]);
    }
    lines
}

/// Returns the row of an engine with its plain settings, or with those of a named variant.
fn variant_of<'t>(table: &'t Table, engine: &str, variant: Option<&str>) -> Option<&'t Row> {
    let mut rows = table.rows.iter().filter(|row| row.engine == engine);
    rows.find(|row| match variant {
        Some(_) => row.variant.as_deref() == variant,
        None => row.is_plain(),
    })
}
