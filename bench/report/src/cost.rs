//! What rows cost besides time (CPU, memory, disk, writes), their percentiles, and their seconds.

use bench_core::result::outline::Aggregate;
use bench_core::result::record::Record;
use bench_core::result::spread::Spread;
use bench_core::workload::durability::Survival;

use crate::number::{self, float};
use crate::table::Row;

/// A store that needs less time than this to become idle has no work left.
const QUIET_NS: f64 = 1e6;

/// A cost: lower is better.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Heading of its column.
    pub(crate) title: &'static str,
    /// Returns the cost from a record.
    of: fn(&Record) -> Option<f64>,
    /// Formats the cost.
    pub(crate) show: fn(f64) -> String,
}

const fn cost(
    title: &'static str,
    show: fn(f64) -> String,
    of: fn(&Record) -> Option<f64>,
) -> Cost {
    Cost { title, of, show }
}

/// Returns a total per operation of the whole process: the concurrent writer takes CPU time too.
fn per_op(record: &Record, total: u64) -> Option<f64> {
    let ops = record.ops?.saturating_add(record.writer_ops.unwrap_or(0));
    (ops > 0).then_some(float(total) / float(ops))
}

fn over(total: Option<u64>, raw: Option<u64>) -> Option<f64> {
    let raw = raw.filter(|&bytes| bytes > 0)?;
    Some(float(total?) / float(raw))
}

/// Returns the number of cache flushes that reached the device per write that had to survive loss
/// of power.
fn flushes(record: &Record) -> Option<f64> {
    let sync = record.durability.as_deref() == Some(Survival::Sync.word());
    over(
        record.fsyncs.filter(|_| sync),
        record.writer_ops.or(record.ops),
    )
}

/// All costs.
pub(crate) const COSTS: [Cost; 15] = [
    cost("CPU per operation", number::time, |record| {
        let system = record.cpu_sys_ns.unwrap_or(0);
        per_op(record, record.cpu_user_ns?.saturating_add(system))
    }),
    cost("of it in the kernel", number::time, |record| {
        per_op(record, record.cpu_sys_ns?)
    }),
    cost("anonymous MB, peak", number::megabytes, |record| {
        let base = record.anon_rss_base.unwrap_or(0);
        Some(float(record.anon_rss_peak?.saturating_sub(base)))
    }),
    cost("mapped MB, peak", number::megabytes, |record| {
        record.mapped_rss_peak.map(float)
    }),
    cost("page cache MB", number::megabytes, |record| {
        record.page_cache_bytes.map(float)
    }),
    cost("until idle", number::time, |record| {
        record.settle_ns.map(float)
    }),
    cost("MB on disk", number::megabytes, |record| {
        record.disk_bytes.map(float)
    }),
    cost("space amplification", number::ratio, |record| {
        over(record.disk_bytes, record.live_bytes)
    }),
    cost("write amplification (engine)", number::ratio, |record| {
        over(record.engine_write_bytes, record.user_bytes)
    }),
    cost("write amplification (kernel)", number::ratio, |record| {
        over(record.io_write_bytes, record.user_bytes)
    }),
    cost("flushes per operation", number::ratio, flushes),
    cost("last tenth, per operation", number::time, |record| {
        record.late_ns.map(float)
    }),
    cost("dead entries per operation", number::ratio, |record| {
        per_op(record, record.passed_entries?)
    }),
    cost(
        "4 KB read from the disk, per operation",
        number::ratio,
        |record| per_op(record, record.io_read_bytes? / 4096),
    ),
    cost("log MB on disk", number::megabytes, |record| {
        record.log_bytes.map(float)
    }),
];

/// Positions of some of them.
pub(crate) const CPU: usize = 0;
const ANONYMOUS: usize = 2;
const MAPPED: usize = 3;
const IDLE: usize = 5;
pub(crate) const DISK: usize = 6;

/// Positions of the costs that the stores are compared by.
pub(crate) const COMPARED: [usize; 8] = [CPU, ANONYMOUS, MAPPED, 4, IDLE, DISK, 8, 9];

/// Returns a row's cost by its position in [`COSTS`]. What only a pass that times every call counts
/// is taken from there.
pub(crate) fn value(row: &Row, at: usize) -> Option<f64> {
    let spread = row.figure(Aggregate::Median, COSTS[at].of);
    let timed = || Spread::of(row.timed.iter().filter_map(COSTS[at].of), Aggregate::Median);
    Some(spread.or_else(timed)?.middle)
}

/// Like [`value`], for comparing stores: times until idle that are too short to matter are equal.
pub(crate) fn compared(row: &Row, at: usize) -> Option<f64> {
    let floor = if at == IDLE { QUIET_NS } else { 0.0 };
    value(row, at).map(|value| value.max(floor))
}

/// Returns a row's peak memory, anonymous and mapped: some stores cache in one, some in the other.
pub(crate) fn memory(row: &Row) -> Option<f64> {
    let mapped = value(row, MAPPED).unwrap_or(0.0);
    value(row, ANONYMOUS).map(|anonymous| anonymous + mapped)
}

/// Column titles of [`percentiles`].
pub(crate) const PERCENTILES: [&str; 6] = ["p50", "p90", "p99", "p99.9", "p99.99", "max"];

/// Latency percentiles of a row in nanoseconds.
pub(crate) type Percentiles = [Option<u64>; 6];

/// Returns the percentiles of a row: the median of each if the row was timed several times.
pub(crate) fn percentiles(row: &Row) -> Option<Percentiles> {
    let fields: [fn(&Record) -> Option<u64>; 6] = [
        |record| record.p50_ns,
        |record| record.p90_ns,
        |record| record.p99_ns,
        |record| record.p999_ns,
        |record| record.p9999_ns,
        |record| record.max_ns,
    ];
    let points = fields.map(|field| {
        let timed = row.timed.iter().chain(&row.records);
        let mut values: Vec<u64> = timed.filter_map(field).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    });
    points[0].map(|_| points)
}

/// Minimum length of a row in seconds; shorter rows show nothing second by second.
const SECONDS_MIN: usize = 4;
/// Maximum number of points; beyond it, seconds are grouped and each group shows its lowest, so
/// that no stall is lost.
const POINTS_MAX: usize = 600;

/// Returns the operations in each second of the round nearest to the figure, without the last
/// second, which is incomplete; empty if the row was over too soon.
pub(crate) fn seconds(row: &Row) -> Vec<u64> {
    let Some(record) = row.typical().filter(|it| it.intervals.len() >= SECONDS_MIN) else {
        return Vec::new();
    };
    let whole = &record.intervals[..record.intervals.len() - 1];
    let groups = whole.chunks(whole.len().div_ceil(POINTS_MAX));
    groups
        .filter_map(|group| group.iter().min().copied())
        .collect()
}
