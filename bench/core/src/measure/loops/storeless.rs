//! Rows without a store: checksums, atomic loads, codecs and bare loops.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Report, Task, codec};
use crate::fault::Fault;
use crate::measure::bare::Bare;
use crate::measure::meter::{Meter, MeterMode};
use crate::workload::definition::{Action, Workload};
use crate::workload::plan::Plan;
use crate::workload::pool::Pool;

const CRC_BLOCK: usize = 4096;
const CRC_TOTAL: u64 = 500 << 20;
const LOADS: u32 = 1000;

/// Runs thread `thread` of a row that needs no engine.
///
/// # Errors
/// Those of a bare loop, or if the row needs an engine.
pub fn run_engineless(
    plan: &Plan,
    pool: &Pool,
    workload: &Workload,
    (bare, thread): (&Bare, u32),
) -> Result<Report, Fault> {
    let ops = match workload.action {
        Action::Crc32c => CRC_TOTAL / CRC_BLOCK as u64,
        Action::Codec { .. } => codec::ops(plan),
        _ => Task::ops(plan, workload),
    };
    let mut meter = Meter::new(MeterMode {
        ops,
        histogram: plan.histogram,
        progress: plan.progress,
        every: plan.every,
        ..MeterMode::default()
    });
    let message = match (workload.action, bare) {
        (Action::Codec { codec, decode }, _) => codec::run(plan, pool, (codec, decode), &mut meter),
        (Action::Crc32c, _) => checksums(&mut meter).to_owned(),
        (Action::AcquireLoad, _) => loads(&mut meter).to_owned(),
        (_, Bare::Depth(depth)) => depth.run(thread, &mut meter),
        (Action::Chase(loads), Bare::Chase(chase)) => chase.run(loads, thread, &mut meter),
        (Action::Amp(times), Bare::Amp(amp)) => amp.run(times, thread, &mut meter)?,
        _ => return Err(Fault::new("a row of a store was run without one")),
    };
    Ok(Report {
        meter,
        message,
        beside: false,
        late_ns: None,
        scan: None,
    })
}

fn checksums(meter: &mut Meter) -> &'static str {
    let block = vec![b'x'; CRC_BLOCK];
    meter.start();
    while meter.wants() {
        black_box(crc32c::crc32c(black_box(&block)));
        meter.op();
    }
    meter.stop();
    meter.bytes = CRC_TOTAL;
    "(4K per op)"
}

fn loads(meter: &mut Meter) -> &'static str {
    let cell = AtomicUsize::new(1);
    meter.start();
    while meter.wants() {
        for _ in 0..LOADS {
            // The row is named after the acquire ordering.
            black_box(black_box(&cell).load(Ordering::Acquire));
        }
        meter.op();
    }
    meter.stop();
    "(each op is 1000 loads)"
}
