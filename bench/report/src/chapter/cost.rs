//! The costs of rows in addition to time: CPU, memory, disk, writes.

use bench_core::result::outline::Aggregate;
use bench_core::result::record::Record;
use bench_core::workload::durability::Survival;

use crate::document::{Block, Cell, Grid, Line, Tone};
use crate::number::{self, float};
use crate::outline;
use crate::run::Run;
use crate::table::{Row, Table};

/// A store that needs less time than this to become idle has no work left.
const QUIET_NS: f64 = 1e6;

/// A cost: lower is better.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Heading of its column.
    pub(crate) title: &'static str,
    /// Returns the cost from a record.
    pub(crate) of: fn(&Record) -> Option<f64>,
    /// Formats the cost.
    pub(crate) show: fn(f64) -> String,
    /// Lower bound: smaller values count as equal when stores are compared.
    pub(crate) floor: f64,
}

/// Returns a total per operation of the whole process: the concurrent writer takes CPU time too.
fn per_op(record: &Record, total: Option<u64>) -> Option<f64> {
    let ops = record.ops?.saturating_add(record.writer_ops.unwrap_or(0));
    (ops > 0).then_some(float(total?) / float(ops))
}

fn per_byte(record: &Record, total: Option<u64>) -> Option<f64> {
    let raw = record.user_bytes.filter(|&bytes| bytes > 0)?;
    Some(float(total?) / float(raw))
}

/// Returns bytes on disk divided by the raw bytes of live data.
fn space(record: &Record) -> Option<f64> {
    let live = record.live_bytes.filter(|&bytes| bytes > 0)?;
    Some(float(record.disk_bytes?) / float(live))
}

/// Returns the number of cache flushes that reached the device per write that had to survive loss
/// of power.
fn flushes(record: &Record) -> Option<f64> {
    let sync = record.durability.as_deref() == Some(Survival::Sync.word());
    let writes = record.writer_ops.or(record.ops).filter(|&ops| ops > 0)?;
    let flushes = record.fsyncs.filter(|_| sync)?;
    Some(float(flushes) / float(writes))
}

fn show_count(value: f64) -> String {
    number::ratio(value)
}

/// All costs.
pub(crate) const COSTS: [Cost; 11] = [
    Cost {
        title: "CPU per operation",
        of: |record| {
            let user = record.cpu_user_ns?;
            per_op(
                record,
                Some(user.saturating_add(record.cpu_sys_ns.unwrap_or(0))),
            )
        },
        show: number::time,
        floor: 0.0,
    },
    Cost {
        title: "of it in the kernel",
        of: |record| per_op(record, record.cpu_sys_ns),
        show: number::time,
        floor: 0.0,
    },
    Cost {
        title: "anonymous MB, peak",
        of: |record| {
            let base = record.anon_rss_base.unwrap_or(0);
            record
                .anon_rss_peak
                .map(|peak| float(peak.saturating_sub(base)))
        },
        show: number::megabytes,
        floor: 0.0,
    },
    Cost {
        title: "mapped MB, peak",
        of: |record| record.mapped_rss_peak.map(float),
        show: number::megabytes,
        floor: 0.0,
    },
    Cost {
        title: "page cache MB",
        of: |record| record.page_cache_bytes.map(float),
        show: number::megabytes,
        floor: 0.0,
    },
    Cost {
        title: "until idle",
        of: |record| record.settle_ns.map(float),
        show: number::time,
        floor: QUIET_NS,
    },
    Cost {
        title: "MB on disk",
        of: |record| record.disk_bytes.map(float),
        show: number::megabytes,
        floor: 0.0,
    },
    Cost {
        title: "space amplification",
        of: space,
        show: show_count,
        floor: 0.0,
    },
    Cost {
        title: "write amplification (engine)",
        of: |record| per_byte(record, record.engine_write_bytes),
        show: show_count,
        floor: 0.0,
    },
    Cost {
        title: "write amplification (kernel)",
        of: |record| per_byte(record, record.io_write_bytes),
        show: show_count,
        floor: 0.0,
    },
    Cost {
        title: "flushes per operation",
        of: flushes,
        show: show_count,
        floor: 0.0,
    },
];

/// Indexes of the costs compared in the chapter on biases.
pub(crate) const COMPARED: [usize; 8] = [0, 2, 3, 4, 5, 6, 8, 9];

/// Returns a row's cost.
pub(crate) fn value(row: &Row, cost: &Cost) -> Option<f64> {
    row.figure(Aggregate::Median, cost.of)
        .map(|spread| spread.middle)
}

/// Like [`value`], but raised to the floor, for comparing stores.
pub(crate) fn compared(row: &Row, cost: &Cost) -> Option<f64> {
    value(row, cost).map(|value| value.max(cost.floor))
}

/// Returns the chapter.
pub(crate) fn costs(run: &Run) -> Vec<Block> {
    let reported = |record: &Record| COSTS.iter().any(|cost| (cost.of)(record).is_some());
    if !run.source.records.iter().any(reported) {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::PageBreak,
        Block::heading(2, "Costs"),
        Block::text(
            "Medians of the rounds, the lowest of ranked rows in bold. CPU time covers all threads of the \
             process, including background work until idle, per operation of the readers and of a concurrent \
             writer. Anonymous memory is the peak above what the harness itself held before the store was \
             opened. \
             Space amplification is bytes on disk when idle over the raw bytes of the keys and values live \
             then; a value below 1 means that a store compresses more than it wastes. Write amplification is bytes written until idle over the raw \
             bytes put, as the engine counts them and as the kernel does. \
             Flushes are those that the device completed in synchronous rows, where every write needs one. \
             The system can reclaim mapped memory and page cache when it needs them.",
        ),
    ];
    let mut sections: Vec<(String, Vec<&Table>)> = Vec::new();
    let measured = |table: &&Table| table.engines().any(|row| row.rate().is_some());
    for table in run.tables.iter().filter(measured) {
        let words = run.suite_words(table.key.suite.as_deref());
        let section = format!(
            "{words}{}",
            table.key.section.as_deref().unwrap_or_default()
        );
        match sections.iter_mut().find(|(name, _)| *name == section) {
            Some((_, known)) => known.push(table),
            None => sections.push((section, vec![table])),
        }
    }
    for (section, tables) in sections {
        if !section.is_empty() {
            blocks.push(Block::heading(4, section));
        }
        blocks.push(Block::Grid(grid(&tables)));
    }
    blocks
}

/// Returns the costs of one section, without empty columns.
fn grid(tables: &[&Table]) -> Grid {
    let rows = || tables.iter().flat_map(|table| table.engines());
    let reported = |cost: &&Cost| rows().any(|row| value(row, cost).is_some());
    let columns: Vec<&Cost> = COSTS.iter().filter(reported).collect();
    let mut head = vec![String::new()];
    head.extend(columns.iter().map(|cost| cost.title.to_owned()));
    let lines = tables
        .iter()
        .flat_map(|table| lines(table, &columns))
        .collect();
    Grid { head, lines }
}

fn lines(table: &Table, columns: &[&Cost]) -> Vec<Line> {
    let rows: Vec<&Row> = table.engines().filter(|row| row.rate().is_some()).collect();
    let lowest: Vec<Option<f64>> = columns
        .iter()
        .map(|cost| {
            let ranked = rows.iter().filter(|row| row.is_ranked());
            let values = ranked.filter_map(|row| compared(row, cost));
            values.min_by(f64::total_cmp).filter(|_| rows.len() > 1)
        })
        .collect();
    let mut lines = vec![Line::Group(outline::label(table))];
    for row in rows {
        let mut cells = vec![Cell::name(row.name())];
        for (cost, lowest) in columns.iter().zip(&lowest) {
            let value = value(row, cost);
            let mut cell = Cell::number(value.map(cost.show));
            if row.is_ranked() && value.is_some() && compared(row, cost) == *lowest {
                cell.tone = Tone::Best;
            }
            cells.push(cell);
        }
        lines.push(Line::Cells(cells));
    }
    lines
}
