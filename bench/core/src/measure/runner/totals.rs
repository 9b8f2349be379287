//! The totals of a row over its threads.

use std::time::{Duration, Instant};

use super::counted::Counted;
use crate::measure::byte_sum::ScanSum;
use crate::measure::histogram::Histogram;
use crate::measure::intervals;
use crate::measure::loops::Report;
use crate::measure::wrong_answers::WrongAnswers;
use crate::result::result_line::Outcome;

/// The totals of all threads of a row.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// The counters after everything was prepared, before the clock starts.
    pub(super) before: Counted,
    pub(super) outcome: Outcome,
    pub(super) user_bytes: u64,
    pub(super) found: Option<u64>,
    pub(super) writer_ops: Option<u64>,
    pub(super) stale_reads: Option<u64>,
    /// Time of an operation in the last tenth of the slowest thread.
    pub(super) late_ns: Option<u64>,
    pub(super) histogram: Option<Histogram>,
    pub(super) intervals: Vec<u64>,
    pub(super) wrong: WrongAnswers,
    /// The results of the concurrent writer.
    beside: String,
    scans: Vec<ScanSum>,
    span: Option<(Instant, Instant)>,
}

impl Totals {
    /// Returns the operations per second.
    #[expect(clippy::cast_precision_loss, reason = "a number of operations")]
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, last) = self.span?;
        let seconds = (last - first).as_secs_f64();
        (seconds > 0.0).then(|| self.outcome.ops as f64 / seconds)
    }

    /// Adds the report of a thread.
    pub(super) fn add(&mut self, report: Report) {
        self.wrong.merge(report.meter.wrong_answers());
        self.user_bytes += report.meter.user_bytes;
        if report.beside {
            self.writer_ops = Some(report.meter.found);
            report.message.trim_start().clone_into(&mut self.beside);
            return;
        }
        let (start, end) = report.meter.span();
        self.span = Some(self.span.map_or((start, end), |(first, last)| {
            (first.min(start), last.max(end))
        }));
        self.outcome.ops += report.meter.done();
        self.outcome.thread_seconds += (end - start).as_secs_f64();
        self.outcome.bytes += report.meter.bytes;
        self.outcome.read_bytes += report.meter.read_bytes;
        *self.found.get_or_insert(0) += report.meter.found;
        self.late_ns = self.late_ns.max(report.late_ns);
        self.scans.extend(report.scan);
        intervals::merge(&mut self.intervals, report.meter.intervals());
        if let Some(histogram) = report.meter.histogram() {
            self.histogram
                .get_or_insert_with(Histogram::new)
                .merge(histogram);
        }
        // Only the first thread's text is kept.
        if self.outcome.message.is_empty() {
            self.outcome.message = report.message;
        }
        if let Some((start, end)) = self.span {
            self.outcome.elapsed_seconds = (end - start).as_secs_f64();
        }
    }

    /// Appends the concurrent writer's text to the text of the line.
    pub(super) fn join_texts(&mut self) {
        if !self.beside.is_empty() {
            self.outcome.message = format!("{} {}", self.outcome.message, self.beside);
        }
    }

    /// Takes the sums of the row's scans, which are checked once.
    pub(super) fn take_scans(&mut self) -> Vec<ScanSum> {
        std::mem::take(&mut self.scans)
    }

    /// Returns the totals of an event that started at `start` and has just ended.
    pub(super) fn timed(start: Instant, ops: u64) -> Self {
        Self::took(start.elapsed(), ops)
    }

    /// Returns the totals of an event that took `time`.
    pub(super) fn took(time: Duration, ops: u64) -> Self {
        let seconds = time.as_secs_f64();
        Self {
            outcome: Outcome {
                ops,
                thread_seconds: seconds,
                elapsed_seconds: seconds,
                ..Outcome::default()
            },
            ..Self::default()
        }
    }
}
