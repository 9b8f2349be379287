//! Rows in which other processes read the store that this one has open.
//!
//! A reader is this program, started again. Its standard input gets the plan, the words of the
//! model, and messages; it answers with one byte each, and at the end with [`Answers`]. It ends
//! when its input does. Between processes there is no model that both could look at, so the rows
//! write values that a reader can compute: see [`values`].

mod group;
mod messages;
pub(super) mod serve;
mod values;
mod writes;

use std::time::{Duration, Instant};

use super::Runner;
use super::totals::Totals;
use crate::engine::{Engine, Session, Store};
use crate::fault::Fault;
use crate::host::process::cpu_ns;
use crate::measure::histogram::Histogram;
use crate::measure::loops::Task;
use crate::measure::rate_limit::rest;
use crate::workload::definition::{Readers, Reading, Workload};
use crate::workload::plan::Reader;

use group::Group;
use messages::Answers;
use writes::{Writes, micros};

/// Time of a row unless `--duration` is given; rows that count their writes end with them.
const TIME: Duration = Duration::from_secs(5);

/// Returns a value below which this share of the sorted numbers is, in thousandths.
fn quantile(sorted: &[u64], thousandths: usize) -> u64 {
    let at = sorted.len() * thousandths / 1000;
    sorted.get(at).or(sorted.last()).copied().unwrap_or(0)
}

/// Runs a row with readers in other processes.
pub(super) fn run<E: Engine>(
    runner: &Runner<'_, E>,
    workload: &Workload,
    readers: Readers,
) -> Result<Totals, Fault> {
    let (plan, contents) = (runner.plan, &runner.contents);
    let (count, reading) = match readers {
        Readers::Quiet | Readers::Writing => (plan.threads, Reading::Flat),
        Readers::Fresh => (1, Reading::Following),
        Readers::Opening => (1, Reading::Idle),
        Readers::Cost { readers, reading } => (readers, reading),
    };
    let reader = Reader {
        reading,
        keys: contents.model.keys(),
        judged: contents.judged(),
    };
    let seed = plan.seed + runner.ordinals.threads + 1;
    let mut group = Group::start(plan, reader, &contents.model, (seed + 1, count))?;
    let store = runner.slot.shared()?;
    let session = store.session(runner.role(workload, 1))?;
    let mut writes = Writes::new(session, contents, plan, seed);
    let before = runner.costs.read(Some(store));
    let until = Until {
        ops: Task::ops(plan, workload),
        time: time(plan.duration),
    };
    let start = Instant::now();
    let spent_ns = until.reached(readers, (&mut group, &mut writes), || {
        runner.slot.rest().map(drop)
    })?;
    let took = start.elapsed();
    let answers = group.end()?;
    let mut totals = match readers {
        Readers::Quiet | Readers::Writing => reads(&answers),
        Readers::Fresh => freshness(&answers),
        Readers::Opening => Totals::took(Duration::from_nanos(answers[0].opened_ns), 1),
        Readers::Cost { .. } => Totals::took(Duration::from_nanos(spent_ns), until.ops),
    };
    totals.before = before;
    totals.user_bytes = writes.bytes;
    totals.writer_ops = (readers == Readers::Writing).then_some(writes.count);
    if let Some(text) = writes.message(readers, took) {
        let text = format!("{} {text}", totals.outcome.message);
        text.trim_start().clone_into(&mut totals.outcome.message);
    }
    for answers in &answers {
        totals.wrong.merge(&answers.wrong);
    }
    Ok(totals)
}

/// The end of a row.
struct Until {
    ops: u64,
    time: Duration,
}

impl Until {
    /// Lets the processes read, and writes, until the end. Returns the processor time of the writes
    /// until `rest_of_store` has returned, if the row measures that.
    fn reached<S: Session>(
        &self,
        readers: Readers,
        (group, writes): (&mut Group, &mut Writes<'_, S>),
        rest_of_store: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        if readers == Readers::Opening {
            writes.many(self.ops)?;
        }
        group.open_and_start()?;
        match readers {
            Readers::Quiet => rest(self.time, || true),
            Readers::Writing => writes.at_a_fixed_rate(self.time)?,
            Readers::Fresh => writes.one_at_a_time(group, self.ops, self.time)?,
            Readers::Opening => {}
            Readers::Cost { .. } => {
                let begun = cpu_ns();
                writes.many(self.ops)?;
                rest_of_store()?;
                return Ok(cpu_ns() - begun);
            }
        }
        Ok(0)
    }
}

/// Returns the time of a row.
const fn time(duration: u64) -> Duration {
    match duration {
        0 => TIME,
        seconds => Duration::from_secs(seconds),
    }
}

/// Returns the totals of reads without pause.
fn reads(answers: &[Answers]) -> Totals {
    let sum = |of: fn(&Answers) -> u64| answers.iter().map(of).sum::<u64>();
    let (reads, found) = (sum(|it| it.reads), sum(|it| it.found));
    let longest = answers.iter().map(|it| it.reading_ns).max().unwrap_or(0);
    let mut totals = Totals::took(Duration::from_nanos(longest), reads);
    let all = Duration::from_nanos(sum(|it| it.reading_ns));
    totals.outcome.thread_seconds = all.as_secs_f64();
    totals.outcome.message = format!("({found} of {reads} found)");
    totals.found = Some(found);
    totals
}

/// Returns the totals of writes that were read one at a time. Their time is the median.
fn freshness(answers: &[Answers]) -> Totals {
    let all = |of: fn(&Answers) -> &[u64]| {
        let mut all: Vec<u64> = answers.iter().flat_map(of).copied().collect();
        all.sort_unstable();
        all
    };
    let (seen, messages) = (all(|it| &it.seen_ns), all(|it| &it.message_ns));
    let (median, stale) = (
        quantile(&seen, 500),
        answers.iter().map(|it| it.stale).sum(),
    );
    let count = seen.len() as u64;
    let mut totals = Totals::took(Duration::from_nanos(median * count), count);
    totals.outcome.message = format!(
        "(median; 99 %: {:.3} micros; median of the message alone: {:.3}; {stale} stale reads)",
        micros(quantile(&seen, 990)),
        micros(quantile(&messages, 500)),
    );
    totals.stale_reads = Some(stale);
    let mut histogram = Histogram::new();
    for ns in seen {
        histogram.add(ns);
    }
    totals.histogram = Some(histogram);
    totals
}
