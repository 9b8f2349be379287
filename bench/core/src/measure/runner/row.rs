//! One row: its preparation, repetitions, costs and verdict.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Runner;
use super::judge::Judge;
use super::totals::Totals;
use super::verdict::Verdict;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::measure::histogram::Histogram;
use crate::measure::loops::Task;
use crate::result::record::{Record, Status};
use crate::result::result_line;
use crate::workload::definition::{Action, Values, Workload};
use crate::workload::plan::Format;
use crate::workload::step::Step;

/// Maximum number of dropped keyspaces that are created again at once.
const AGAIN_MAX: u32 = 8;

/// The results of a row that ran to its end.
struct Ended {
    text: String,
    histogram: String,
    record: Record,
}

impl<E: Engine> Runner<'_, E> {
    /// Runs a workload with its repetitions. A failure affects only this row.
    pub(super) fn step(&mut self, workload: &'static Workload, step: &Step) {
        let instance = self.ordinals.count_instance(workload);
        if let Some(reason) = self.reason_to_skip(workload) {
            self.skip(workload, instance, reason);
            return;
        }
        if let Err(fault) = self.prepare(workload) {
            let record = self.blank(workload, instance);
            self.fail(workload, record, &fault);
            self.contents.set_missing(workload);
            return;
        }
        self.warn_of_emptiness(workload);
        if self.plan.format == Format::RocksDb && !workload.is_engineless() {
            let text = format!("DB path: [{}]\n", self.plan.db.display());
            self.events.text(text);
        }
        let wanted = self.plan.rate.of(workload);
        let warmups = step.warmups.max(wanted.warmups());
        if warmups > 0 {
            self.events
                .text(format!("Warming up benchmark by running {warmups} times\n"));
        }
        let mut closed = None;
        for _ in 0..warmups {
            // A fault of a warm-up shows again in the run that counts.
            closed = self.run_once(workload).ok();
        }
        self.rate = wanted.per_second(closed.and_then(|totals| totals.rate()));
        if step.repeats > 1 {
            let repeats = step.repeats;
            self.events
                .text(format!("Running benchmark for {repeats} times\n"));
        }
        let (mut ops, mut mbs) = (Vec::new(), Vec::new());
        for run in 1..=step.repeats {
            let Some(ended) = self.row(workload, instance) else {
                return;
            };
            let rate = ended.record.rate().filter(|_| step.repeats > 1);
            mbs.extend(rate.and_then(|_| megabytes(&ended.record)));
            self.events.row(ended.text, ended.histogram, ended.record);
            if let Some(rate) = rate {
                ops.push(rate);
                self.events.text(if self.plan.confidence_interval_only {
                    result_line::interval(workload.name, &ops, &mbs)
                } else {
                    result_line::combined(workload.name, &ops, &mbs)
                });
            }
            if run == step.repeats && run > 1 {
                let text = result_line::combined_at_the_end(workload.name, &ops, &mbs);
                self.events.text(text);
            }
        }
        self.rate = None;
    }

    /// Warns that nothing will be found because the list started with a fresh database, which is
    /// rarely intended.
    fn warn_of_emptiness(&mut self, workload: &Workload) {
        if self.contents.empty && workload.only_reads() && self.engine.capabilities().stores {
            let name = workload.name;
            self.events.note(format!(
                "{name} reads an empty database: a list starts with one; fill it first, or pass --use_existing_db\n"
            ));
        }
    }

    /// Reports that a row is skipped.
    pub(super) fn skip(&mut self, workload: &'static Workload, instance: u32, reason: String) {
        if workload.fresh && !self.engine.contends() && !self.plan.use_existing_db {
            // The contents belong to another row, so results of the following reads would be
            // meaningless.
            self.contents.set_missing(workload);
        }
        let mut record = self.blank(workload, instance);
        record.status = Status::Skipped;
        let text = format!("{}\n", result_line::skipped(workload.name, &reason));
        record.reason = Some(reason);
        self.events.row(text, String::new(), record);
    }

    /// Reports that a row ended with an error and records the consequences for later rows.
    fn fail(&mut self, workload: &'static Workload, mut record: Record, fault: &Fault) {
        record.status = Status::Failed;
        record.reason = Some(fault.to_string());
        let text = format!(
            "{}\n",
            result_line::failed(workload.name, &fault.to_string())
        );
        self.events.row(text, String::new(), record);
        self.slot.hurt = true;
        if self.events.silent && workload.action == Action::Compact {
            let name = workload.name;
            self.undone = Some(Fault::new(format!(
                "{name}, repeated for the rows after it, failed: {fault}"
            )));
        }
        if workload.changes() {
            // The failed call may or may not have taken effect.
            self.contents.model.set_unknown();
            // If closing a broken store crashes, that must happen here and not in the next row.
            let _ = self.slot.close();
        }
        if workload.fresh {
            self.contents.set_missing(workload);
            return;
        }
        // The row `open` may leave the store closed too.
        if self.slot.store.is_none() && self.slot.reopen().is_err() {
            self.contents.set_missing(workload);
        }
    }

    /// Brings the store into the initial state of a row.
    pub(super) fn prepare(&mut self, workload: &Workload) -> Result<(), Fault> {
        let durability = self.asked(workload);
        let before = self.slot.keyspaces;
        if !workload.is_engineless() {
            self.slot.keyspaces = self.plan.keyspaces;
        }
        if workload.fresh {
            self.slot.close()?;
            self.contents.begin_anew()?;
            let entries = match workload.values {
                // Entries that a held cursor sees take space, and so do those that replace them.
                Values::Flag => self.plan.num + 16 * Task::additions(self.plan, workload),
                Values::Large => self.plan.num / workload.divisor,
            };
            let value_bytes = Task::value_bytes(self.plan, workload);
            self.slot.made_for = (entries, value_bytes);
            return self.slot.open(durability);
        }
        if workload.is_engineless() {
            return Ok(());
        }
        if workload.changes() {
            self.contents.forget_note()?;
        }
        let other = durability != self.slot.opened_for && workload.changes()
            || before != self.slot.keyspaces;
        if self.plan.cold {
            self.cached_before = Some(self.slot.open_cold(durability)?);
            return Ok(());
        }
        if self.slot.store.is_none() || other {
            return self.slot.open(durability);
        }
        Ok(())
    }

    /// Measures once. Returns `None` if the row ended with an error, which has been reported.
    fn row(&mut self, workload: &'static Workload, instance: u32) -> Option<Ended> {
        self.costs.begin_row();
        let mut record = self.blank(workload, instance);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        record.started_at = since.map(|since| since.as_secs());
        let measured = self.run_once(workload);
        record.offered_per_sec = self.rate;
        let judged = measured.and_then(|mut totals| {
            // The costs are read before verification, which reads everything.
            let sources = (&self.slot, &self.contents);
            self.costs
                .settle(sources, workload, &totals.before, &mut record)?;
            if workload.action == Action::DropKeyspaces {
                // The first keyspaces are created again, and must be empty.
                self.slot.keyspaces = self.plan.keyspaces.min(AGAIN_MAX);
                self.slot.reopen()?;
            }
            self.judge(workload, &mut totals)?;
            Ok(totals)
        });
        match judged {
            Ok(totals) => {
                let text = self.verdict(workload, &totals, &mut record);
                let kept = totals.histogram.filter(|_| record.status == Status::Ok);
                let histogram = kept.map_or_else(String::new, |histogram| {
                    histogram_text(self.plan.format, workload, &histogram)
                });
                Some(Ended {
                    text,
                    histogram,
                    record,
                })
            }
            Err(fault) => {
                self.fail(workload, record, &fault);
                None
            }
        }
    }

    /// Runs the row once, including a warm-up, and records its effect on the next run: afterwards
    /// the store no longer counts as empty and may not be appended to.
    fn run_once(&mut self, workload: &'static Workload) -> Result<Totals, Fault> {
        let measured = self.measure(workload);
        let threads = Task::threads(self.plan, workload);
        self.ordinals.threads += threads;
        if workload.changes() {
            self.contents.empty = false;
        }
        measured
    }

    /// Compares what the row has stored or read with what was written.
    pub(super) fn judge(&self, workload: &Workload, totals: &mut Totals) -> Result<(), Fault> {
        let judge = Judge {
            keyspaces: self.slot.keyspaces,
            ..self.contents.judge(self.slot.store.as_ref())
        };
        judge.row(workload, totals)
    }

    /// Completes the record of the row. Returns its result line.
    pub(super) fn verdict(
        &self,
        workload: &Workload,
        totals: &Totals,
        record: &mut Record,
    ) -> String {
        let verdict = Verdict {
            plan: self.plan,
            workload,
            stores: self.engine.capabilities().stores,
            judged: self.contents.judged(),
        };
        verdict.give(totals, record)
    }
}

/// Returns the histogram below a line, as each program prints it.
fn histogram_text(format: Format, workload: &Workload, histogram: &Histogram) -> String {
    match format {
        Format::LevelDb => format!("Microseconds per op:\n{}\n", histogram.to_text()),
        Format::RocksDb => format!(
            "Microseconds per {}:\n{}\n",
            workload.operation(),
            histogram.to_rocksdb_text()
        ),
    }
}

/// Returns the megabytes per second of a record, as in the result line.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn megabytes(record: &Record) -> Option<f64> {
    let (bytes, wall_ns) = (record.bytes?, record.wall_ns?);
    Some(bytes as f64 / 1_048_576.0 / (wall_ns as f64 * 1e-9))
}
