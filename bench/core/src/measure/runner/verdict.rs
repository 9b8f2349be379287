//! The verdict on a row, and its result line.

use super::totals::Totals;
use crate::engine::Survival;
use crate::measure::loops::Task;
use crate::result::record::{Record, Status};
use crate::result::result_line;
use crate::workload::definition::{Action, Workload};
use crate::workload::plan::Plan;

/// The criteria for the verdict on a row.
pub(super) struct Verdict<'v> {
    pub(super) plan: &'v Plan,
    pub(super) workload: &'v Workload,
    /// Whether the engine keeps what is written.
    pub(super) stores: bool,
    /// Whether the answers were compared with what was written.
    pub(super) judged: bool,
}

impl Verdict<'_> {
    /// Turns the totals into the result line and completes the record.
    pub(super) fn give(&self, totals: &Totals, record: &mut Record) -> String {
        let (workload, outcome) = (self.workload, &totals.outcome);
        let nanoseconds = |seconds: f64| std::time::Duration::try_from_secs_f64(seconds).ok();
        record.threads = Some(Task::counted_threads(self.plan, workload));
        record.ops = Some(outcome.ops.max(1));
        record.wall_ns = nanoseconds(outcome.elapsed_seconds)
            .and_then(|time| u64::try_from(time.as_nanos()).ok());
        record.bytes = (outcome.bytes > 0).then_some(outcome.bytes);
        record.user_bytes = workload.changes().then_some(totals.user_bytes);
        record.found = totals.found;
        record.writer_ops = totals.writer_ops;
        record.stale_reads = totals.stale_reads;
        record.late_ns = totals.late_ns;
        record.intervals.clone_from(&totals.intervals);
        if let Some(histogram) = &totals.histogram {
            record.p50_ns = Some(histogram.percentile_ns(500_000));
            record.p90_ns = Some(histogram.percentile_ns(900_000));
            record.p99_ns = Some(histogram.percentile_ns(990_000));
            record.p999_ns = Some(histogram.percentile_ns(999_000));
            record.p9999_ns = Some(histogram.percentile_ns(999_900));
            record.max_ns = Some(histogram.max_ns());
        }
        let right = self.judged && totals.wrong.count() == 0;
        record.verified = (!workload.is_engineless()).then_some(right);
        if let Some(reason) = self.lie(totals, record) {
            record.status = Status::Failed;
            let text = format!("{}\n", result_line::failed(workload.name, &reason));
            record.reason = Some(reason);
            return text;
        }
        let mut outcome = outcome.clone();
        if !self.judged && self.stores && self.plan.verify && !workload.is_engineless() {
            let message = format!("{} unverified", outcome.message);
            message.trim_start().clone_into(&mut outcome.message);
        }
        let late = record.late_ns.map(|late| turns(late, record));
        let placement = record.placement.as_deref();
        for text in late
            .into_iter()
            .chain(placement.map(|it| remote(it, record)))
        {
            let message = format!("{} {text}", outcome.message);
            message.trim_start().clone_into(&mut outcome.message);
        }
        let format = self.plan.format;
        format!("{}\n", result_line::result(format, workload.name, &outcome))
    }

    /// Returns why a row must fail, if it must.
    fn lie(&self, totals: &Totals, record: &Record) -> Option<String> {
        let wrong = totals.wrong.count();
        if wrong > 0 {
            let first = totals.wrong.first().unwrap_or_default();
            let answers = if wrong == 1 { "answer" } else { "answers" };
            return Some(format!("{wrong} wrong {answers}; first: {first}"));
        }
        self.unflushed(totals, record)
            .or_else(|| self.excess(record))
    }

    /// Returns an error message if fewer flushes reached the device than synchronous writes were
    /// acknowledged. Threads may share a flush, but the calls of one thread cannot: each starts
    /// after the previous one has returned. Deletes are not checked: for an absent key they have
    /// nothing to write.
    fn unflushed(&self, totals: &Totals, record: &Record) -> Option<String> {
        let workload = self.workload;
        let synced = record.durability.as_deref() == Some(Survival::Sync.word())
            && self.stores
            && self.plan.verify
            && matches!(
                workload.action,
                Action::Fill(_) | Action::Append | Action::DropKeyspaces
            );
        let (batch, threads) = (
            Task::batch(self.plan, workload).max(1),
            Task::threads(self.plan, workload).max(1),
        );
        let calls = (totals.outcome.ops.div_ceil(batch)).div_ceil(threads.into());
        let flushes = record.fsyncs.filter(|&flushes| synced && flushes < calls)?;
        let what = if batch == 1 { "writes" } else { "batches" };
        let whose = if threads == 1 { "" } else { " of one thread" };
        Some(format!(
            "acknowledged {calls} synchronous {what}{whose} while {flushes} flushes reached the device"
        ))
    }
}

/// Returns the figures that only rows of turns have.
#[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
fn turns(late_ns: u64, record: &Record) -> String {
    let ops = record.ops.unwrap_or(1) as f64;
    let passed = record.passed_entries.map_or_else(String::new, |passed| {
        format!("; {:.1} dead entries passed a turn", passed as f64 / ops)
    });
    format!("(last tenth: {:.3} micros{passed})", late_ns as f64 / 1e3)
}

/// Returns the label of a row over a network, with its round trips.
fn remote(placement: &str, record: &Record) -> String {
    let (Some(round_trips), Some(ops)) = (record.round_trips, record.ops) else {
        return format!("({placement})");
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    let each = round_trips as f64 / ops.max(1) as f64;
    format!("({placement}; {round_trips} round trips, {each:.2} an operation)")
}
