//! The chapter written against ourselves: where CairnDB loses, which defaults favour whom, what the
//! classic data flatters. Losses come from the records; the rest is what we know of our own choices.

use std::fmt::Write as _;

use crate::chapter::cost::{self, COMPARED, COSTS};
use crate::chapter::{builds, latency, overview};
use crate::document::{Block, Cell, Grid, Item, Line, PERCENTILES, Tone};
use crate::face;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::sentence;
use crate::standing;
use crate::table::{Row, Table};

/// Costs this close are called level.
const LEVEL: f64 = 1.05;

const DEFAULTS: [(&str, &str); 14] = [
    (
        "Filters favour CairnDB.",
        "CairnDB builds filters of 10 bits a key unless told otherwise; LevelDB and RocksDB have none unless told to, and \
         the suites, like the pages they come from, tell them nothing. In the random rows more than a third of the keys asked for \
         do not exist, so filters help there too, not only in readmissing. The rows with 10-bit filters for everybody \
         are the fairer comparison.",
    ),
    (
        "Mapped tables favour CairnDB and LMDB.",
        "CairnDB maps its tables while they are small against the machine's memory, and LMDB maps everything. What \
         they read is in the page cache and outside the memory they are told to use. Stores with a cache of their own pay for \
         each miss with a copy or a decompression. Read the 4 MB rows with the page cache column in view.",
    ),
    (
        "Being called as Rust favours CairnDB.",
        "Its calls are compiled into the loops. The peers are called through C: a function pointer for each step, an \
         allocation for each value LevelDB and RocksDB return. That is what users of the C interfaces pay, but it is not the \
         doing of the stores behind them.",
    ),
    (
        "A second core favours CairnDB, LevelDB, RocksDB and WiredTiger's LSM.",
        "They move work to background threads; SQLite, TreeDB and LMDB do everything inside the call. Rates do not show \
         that work, CPU an operation does.",
    ),
    (
        "Rates end with the last call.",
        "Whoever defers most looks best. Read fill rates together with the time until quiet.",
    ),
    (
        "A log that is written without system calls favours CairnDB.",
        "A mapped log is with the operating system once the bytes are copied; the others call write for each \
         operation. The promise is the same, the price is not.",
    ),
    (
        "4 MB of memory hurts RocksDB most.",
        "Its defaults are made for write buffers of 64 MB and large caches. Nobody would run it as the small sections do.",
    ),
    (
        "Page sizes of 2011 hurt SQLite and TreeDB.",
        "Pages of 1024 bytes are those of the page of 2011; SQLite's own default is 4096. Its rows also pay for SQL, \
         prepared as it may be.",
    ),
    (
        "TreeDB is given work that its own users do not give it.",
        "Its library puts pages out of its cache only in calls that split none, and a value larger than a page splits one \
         with every put: left alone, its cache grows by everything written. The adapter therefore asks for the key it has \
         just put, four times, after each put of a value larger than a page, so that the cache stays within the memory \
         all stores are told. That is four lookups in a tree of cached pages beside a write of 100,000 bytes in the \
         rows with large values, and nothing in the others. Rows with large values count a little too much against it.",
    ),
    (
        "The log hurts WiredTiger.",
        "Its published page ran it without. Ranked rows need what every other store has. Its counters, off unless \
         asked for, are on in the rows of both variants, because the bytes it wrote and when it is quiet are taken from \
         them: a B-tree's scans took about 3 % longer so, half a nanosecond an entry, and other rows were not seen to differ.",
    ),
    (
        "WiredTiger's LSM tree is rescued from its own standstills.",
        "Version 3.2.1 loses a wish to sync its log now and then (WT-9796, mended in 2022 by WT-10207) and then may wait for \
         ever. The adapter asks for a sync of the log when the process used less than a third of a core for 40 ms, and ever \
         more rarely while that goes on. What the waits and such syncs cost is in its rates and latencies, and where it is \
         slow for other reasons some of them were not needed. Beside busy readers a standstill of the writer is not noticed: \
         look at the writer's rate there. A thread for it is started and ended with each open. Left alone, three of five \
         sequential fills under 4 MB had not ended after a minute. Its handles are closed after some seconds without use, \
         so that those of merged chunks do not count as memory; others must be opened again.",
    ),
    (
        "No compression favours LMDB in time and hurts it on disk.",
        "It stores raw pages, has no setting for memory and uses whatever page cache there is.",
    ),
    (
        "Tuning favours CairnDB.",
        "It was developed against these very workloads, on machines like this one, by the people who wrote the harness. The peers \
         run with the settings of pages from 2011 and 2012 that their authors did not choose for today's hardware.",
    ),
    (
        "The machine decides the synchronous rows.",
        "On a virtual disk a flush may cost little or nothing; the order of stores there says more about the number of flushes \
         than about the stores.",
    ),
];

/// What is known of the cost, measured when this was written.
const ASSERTIONS: &str = "What that may cost was measured when this chapter was written, as CPU time an operation, the two builds in turns, \
     400,000 entries, 4 MB of memory. LevelDB, built twice from its source by one compiler, needed up to 4 % more with \
     assertions in fills and up to 7 % more in reads (15 rounds). RocksDB 7.8.3 as Debian 12 builds it, with assertions and \
     test hooks, needed 9 to 30 % more than the release build its authors publish for Java, compression off in both \
     (7 rounds; the compilers differ too). LMDB has its own assertions in every build that does not switch them off; what they cost \
     was not measured. Whoever reads a ratio to such a store should take that much off; --leveldb_lib, --rocksdb_lib \
     and --lmdb_lib run another build.";

const DATA: [(&str, &str); 6] = [
    (
        "Values repeat themselves, not each other.",
        "The classic values are cut from a pool of 1 MiB whose pieces are half compressible each alone. That suits a store that \
         compresses every value by itself, as CairnDB does with short ones, and gives nothing to those that compress blocks of many. \
         Records with common structure, as in the JSON rows, are what databases usually hold.",
    ),
    (
        "Keys are dense numbers of one length.",
        "Sixteen digits with a long common prefix and even gaps: guessing a key's position by interpolation, as \
         CairnDB's search does, works better than on names or hashes.",
    ),
    (
        "All values are equally long.",
        "Pages fill evenly and no allocator is ever surprised.",
    ),
    (
        "Everything fits.",
        "A million entries are 116 MB: in the page cache of any machine of today. No read of these suites has to wait for \
         a device, except in the suite scale.",
    ),
    (
        "Draws are uniform.",
        "No key is hotter than another, but in readhot and the YCSB rows. Caches are worth less here than in life.",
    ),
    (
        "Databases are young.",
        "Minutes old, filled once or twice. Fragmentation, long-lived snapshots and months of deletions are not in it.",
    ),
];

/// The chapter.
pub(crate) fn biases(run: &Run) -> Vec<Block> {
    if run.tables.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::PageBreak,
        Block::heading(2, "Biases"),
        Block::text("This chapter is written against ourselves."),
        Block::heading(3, "Where CairnDB Loses"),
    ];
    blocks.extend(losses(run));
    blocks.push(Block::heading(3, "Which Defaults Favour Whom"));
    let mut defaults = vec![assertions(run)];
    defaults.extend(items(&DEFAULTS));
    blocks.push(Block::List(defaults));
    blocks.push(Block::heading(3, "What the Classic Data Flatters"));
    blocks.push(Block::List(items(&DATA)));
    blocks.extend(data_sets(run));
    blocks
}

/// Peers that check themselves while they are measured, and what that may cost them.
fn assertions(run: &Run) -> Item {
    let peers = builds::peers_asserting(run);
    if peers.is_empty() {
        return Item::new(
            "Assertions favour nobody, as far as that is known.",
            "No library of this run is known to have them compiled in; the Build Specifications say how that is known.",
        );
    }
    let (verb, whose) = if peers.len() == 1 {
        ("has", "its library")
    } else {
        ("have", "their libraries")
    };
    Item::new(
        "Assertions favour CairnDB.",
        format!(
            "{} {verb} them compiled into {whose}, as the Build Specifications show; CairnDB has not; what is known of the others stands there too. {ASSERTIONS}",
            sentence::list(&peers)
        ),
    )
}

fn items(texts: &[(&str, &str)]) -> Vec<Item> {
    let item = |(subject, text): &(&str, &str)| Item::new(*subject, *text);
    texts.iter().map(item).collect()
}

/// A row in which a peer is ahead.
struct Loss<'r> {
    table: &'r Table,
    peer: &'r Row,
    times: f64,
    tie: bool,
}

fn losses(run: &Run) -> Vec<Block> {
    let measured = run
        .tables
        .iter()
        .any(|table| standing::ours(table).is_some());
    if !measured {
        return vec![Block::text("CairnDB has no figure in this run.")];
    }
    let mut lost: Vec<Loss<'_>> = run.tables.iter().filter_map(loss).collect();
    lost.sort_by(|a, b| b.times.total_cmp(&a.times));
    let (ties, losses): (Vec<_>, Vec<_>) = lost.into_iter().partition(|loss| loss.tie);
    let mut blocks = Vec::new();
    if losses.is_empty() {
        blocks.push(Block::text(
            "In no row of this run is a peer ahead by more than the spread, ranked or not.",
        ));
    } else {
        blocks.push(Block::text(
            "Rows in which another store is ahead by more than the spread, the worst first. Stores that are not ranked count here.",
        ));
        let head = ["Row", "Ahead", "its figure", "CairnDB", "times as much"];
        let lines = losses.iter().map(|loss| loss_line(run, loss)).collect();
        blocks.push(Block::Grid(Grid {
            head: head.map(str::to_owned).to_vec(),
            lines,
        }));
    }
    if !ties.is_empty() {
        let names: Vec<String> = ties
            .iter()
            .map(|loss| format!("{} ({})", outline::label(loss.table), loss.peer.title()))
            .collect();
        blocks.push(Block::text(format!(
            "Ahead by its middle round, but inside the spread: {}.",
            sentence::list(&names)
        )));
    }
    blocks.extend(dearer(run));
    blocks
}

/// The store furthest ahead of us in a table, ranked or not.
fn loss(table: &Table) -> Option<Loss<'_>> {
    let (_, ours) = standing::ours(table)?;
    let peers = table.engines().filter(|row| !standing::is_ours(row));
    let (peer, rate) = peers
        .filter_map(|row| Some((row, row.rate()?)))
        .max_by(|a, b| a.1.middle.total_cmp(&b.1.middle))?;
    let times = standing::over(rate, ours).filter(|&times| times > 1.0)?;
    Some(Loss {
        table,
        peer,
        times,
        tie: rate.ties(ours),
    })
}

fn loss_line(run: &Run, loss: &Loss<'_>) -> Line {
    let words = run.suite_words(loss.table.key.suite.as_deref());
    let amount = |row: Option<&Row>| {
        let rate = row.and_then(Row::rate)?;
        Some(overview::amount(loss.table, rate.middle))
    };
    let mut peer = Cell::name(loss.peer.name());
    if let Some(reason) = loss.peer.unranked() {
        // Writing to a String cannot fail, here and below.
        let _ = write!(peer.text, ", not ranked: {reason}");
    }
    Line::Cells(vec![
        Cell::plain(format!("{words}{}", outline::label(loss.table))),
        peer,
        Cell::number(amount(Some(loss.peer))),
        Cell::number(amount(loss.table.row(face::OURS))),
        Cell::toned(format!("{}x", number::ratio(loss.times)), Tone::Bad),
    ])
}

/// A cost compared over all tables.
struct Compared<'r> {
    title: String,
    rows: usize,
    lost: usize,
    worst: Option<(&'r Table, &'r Row, f64)>,
}

/// Where CairnDB costs more than a peer: CPU, memory, disk, writes, latency.
fn dearer(run: &Run) -> Vec<Block> {
    let mut all: Vec<Compared<'_>> = Vec::new();
    for cost in COMPARED.map(|index| &COSTS[index]) {
        all.push(compared(run, cost.title.to_owned(), |row| {
            cost::compared(row, cost)
        }));
    }
    for (index, percentile) in PERCENTILES.iter().enumerate() {
        let value = |row: &Row| latency::percentiles(row)?.points[index].map(number::float);
        all.push(compared(run, format!("latency, {percentile}"), value));
    }
    all.retain(|compared| compared.rows > 0);
    if all.is_empty() {
        return Vec::new();
    }
    let lines = all.into_iter().map(|compared| {
        let (row, peer, times) = match compared.worst {
            Some((table, peer, times)) => (
                Cell::plain(outline::label(table)),
                Cell::name(peer.name()),
                Cell::toned(format!("{}x", number::ratio(times)), Tone::Bad),
            ),
            None => (Cell::number(None), Cell::number(None), Cell::number(None)),
        };
        let count = format!("{} of {}", compared.lost, compared.rows);
        Line::Cells(vec![
            Cell::plain(compared.title),
            Cell::number(Some(count)),
            row,
            peer,
            times,
        ])
    });
    let head = [
        "Cost",
        "rows where a peer is cheaper",
        "worst row",
        "against",
        "times as much",
    ];
    vec![
        Block::text("And where another store needs less for the same row (by more than 5 %):"),
        Block::Grid(Grid {
            head: head.map(str::to_owned).to_vec(),
            lines: lines.collect(),
        }),
    ]
}

fn compared(run: &Run, title: String, value: impl Fn(&Row) -> Option<f64>) -> Compared<'_> {
    let mut result = Compared {
        title,
        rows: 0,
        lost: 0,
        worst: None,
    };
    for table in &run.tables {
        let Some(ours) = table
            .row(face::OURS)
            .filter(|row| row.rate().is_some())
            .and_then(&value)
        else {
            continue;
        };
        let peers = table
            .engines()
            .filter(|row| !standing::is_ours(row) && row.rate().is_some());
        let least = peers
            .filter_map(|row| Some((row, value(row)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((peer, theirs)) = least else {
            continue;
        };
        result.rows += 1;
        if ours > theirs * LEVEL {
            result.lost += 1;
            let times = ours / theirs;
            // Against nothing at all there is no ratio.
            let worse = result.worst.is_none_or(|(_, _, worst)| times > worst);
            if times.is_finite() && worse {
                result.worst = Some((table, peer, times));
            }
        }
    }
    result
}

/// Rows that ran with both data sets, and what changes between them.
fn data_sets(run: &Run) -> Vec<Block> {
    let mut lines = Vec::new();
    for table in &run.tables {
        if table.key.data.as_deref() != Some("synthetic") {
            continue;
        }
        let twin = run.tables.iter().find(|other| {
            other.key.data.as_deref() == Some("json")
                && other.key.suite == table.key.suite
                && other.key.section == table.key.section
                && other.key.workload == table.key.workload
                && other.state == table.state
                && other.key.threads == table.key.threads
        });
        if let Some(twin) = twin {
            let mut cells = vec![Cell::plain(outline::label(table))];
            cells.extend(overview::to_best_peer(table));
            cells.extend(overview::to_best_peer(twin));
            lines.push(Line::Cells(cells));
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let head = [
        "CairnDB to the best peer",
        "classic data",
        "best peer",
        "JSON records",
        "best peer",
    ]
    .map(str::to_owned)
    .to_vec();
    vec![
        Block::text("The same rows with both data sets:"),
        Block::Grid(Grid { head, lines }),
    ]
}
