//! One row: its state before, its repetitions, its cost, its verdict.

use std::time::{SystemTime, UNIX_EPOCH};

use super::measure::Totals;
use super::spent::Before;
use super::{Event, Runner, unmade};
use crate::engine::{Durability, Engine, Store, Survival, Variant};
use crate::fault::Fault;
use crate::host::directory;
use crate::host::page_cache::page_cache_bytes;
use crate::host::process::{Counters, disk_bytes};
use crate::measure::histogram::Histogram;
use crate::measure::loops::{Task, by_hand};
use crate::result::record::{Record, Status};
use crate::result::result_line;
use crate::workload::definition::{Action, Values, Workload};
use crate::workload::plan::{Data, Format};
use crate::workload::step::Step;

/// What is known about a row that ran to its end.
struct Ended {
    text: String,
    histogram: String,
    record: Record,
}

impl<E: Engine> Runner<'_, E> {
    /// A workload with its repetitions. Whatever goes wrong costs this row alone.
    pub(super) fn step(&mut self, workload: &'static Workload, step: &Step) {
        let instance = self.count_instance(workload);
        if let Some(reason) = self.reason_to_skip(workload) {
            self.skip(workload, instance, reason);
            return;
        }
        if let Err(fault) = self.prepare(workload) {
            let record = self.blank(workload, instance);
            self.fail(workload, record, &fault);
            self.missing = Some(unmade(workload));
            return;
        }
        self.warn_of_emptiness(workload);
        if self.plan.format == Format::RocksDb && !workload.is_engineless() {
            let text = format!("DB path: [{}]\n", self.plan.db.display());
            self.send(Event::Text(text));
        }
        if step.warmups > 0 {
            let text = format!("Warming up benchmark by running {} times\n", step.warmups);
            self.send(Event::Text(text));
        }
        for _ in 0..step.warmups {
            // A fault of a warm-up shows again in the run that counts.
            let _ = self.run_once(workload);
        }
        if step.repeats > 1 {
            self.send(Event::Text(format!(
                "Running benchmark for {} times\n",
                step.repeats
            )));
        }
        let (mut ops, mut mbs) = (Vec::new(), Vec::new());
        for run in 1..=step.repeats {
            let Some(ended) = self.row(workload, instance) else {
                return;
            };
            let rate = ended.record.rate().filter(|_| step.repeats > 1);
            mbs.extend(rate.and_then(|_| megabytes(&ended.record)));
            self.send(Event::Row {
                text: ended.text,
                histogram: ended.histogram,
                record: Box::new(ended.record),
            });
            if let Some(rate) = rate {
                ops.push(rate);
                self.send(Event::Text(if self.plan.confidence_interval_only {
                    result_line::interval(workload.name, &ops, &mbs)
                } else {
                    result_line::combined(workload.name, &ops, &mbs)
                }));
            }
            if run == step.repeats && run > 1 {
                let text = result_line::combined_at_the_end(workload.name, &ops, &mbs);
                self.send(Event::Text(text));
            }
        }
    }

    /// Nothing will be found, which is rarely what was meant: the list began with a fresh database.
    fn warn_of_emptiness(&mut self, workload: &Workload) {
        if self.empty && workload.only_reads() && self.engine.capabilities().stores {
            let name = workload.name;
            self.send(Event::Note(format!(
                "{name} reads an empty database: a list begins with one; fill it first, or give --use_existing_db\n"
            )));
        }
    }

    /// Reports that a row is skipped.
    pub(super) fn skip(&mut self, workload: &'static Workload, instance: u32, reason: String) {
        if workload.fresh && !self.engine.contends() && !self.plan.use_existing_db {
            // The contents belong to another row: reading them says nothing about the rows that
            // follow.
            self.missing = Some(unmade(workload));
        }
        let mut record = self.blank(workload, instance);
        record.status = Status::Skipped;
        let text = format!("{}\n", result_line::skipped(workload.name, &reason));
        record.reason = Some(reason);
        self.send(Event::Row {
            text,
            histogram: String::new(),
            record: Box::new(record),
        });
    }

    /// Reports that a row ended with an error, and records what that means for the rows after it.
    fn fail(&mut self, workload: &'static Workload, mut record: Record, fault: &Fault) {
        record.status = Status::Failed;
        record.reason = Some(fault.to_string());
        let text = format!(
            "{}\n",
            result_line::failed(workload.name, &fault.to_string())
        );
        self.send(Event::Row {
            text,
            histogram: String::new(),
            record: Box::new(record),
        });
        self.hurt = true;
        if self.silent && workload.action == Action::Compact {
            let name = workload.name;
            self.undone = Some(Fault::new(format!(
                "{name}, repeated for the rows after it, failed: {fault}"
            )));
        }
        if workload.changes() {
            // The call that failed may or may not have been done.
            self.model.set_unknown();
            // A store that is broken beyond errors shall show it here, not in the next row.
            let _ = self.close();
        }
        if workload.fresh {
            self.missing = Some(unmade(workload));
            return;
        }
        // The row `open` may leave it closed too.
        if self.store.is_none() && self.open(self.opened_for).is_err() {
            self.missing = Some(unmade(workload));
        }
    }

    /// Why a row cannot be run, if it cannot.
    pub(super) fn reason_to_skip(&self, workload: &Workload) -> Option<String> {
        if workload.fresh && self.plan.use_existing_db {
            return Some("--use_existing_db is true".into());
        }
        let variant = self.plan.variant;
        if !self.engine.variants().contains(&variant) && !workload.is_engineless() {
            let name = self.engine.name();
            return Some(format!("{name} has no {} settings", variant.word()));
        }
        let able = self.engine.capabilities();
        let supported = match workload.action {
            _ if workload.sync && !able.sync => false,
            _ if Task::batch(self.plan, workload) > 1 && !able.batch => false,
            Action::Scan { backward: true } => able.reverse,
            Action::Seek | Action::SeekOrdered | Action::SeekBeside(_) => able.seek,
            Action::Compact => able.compact,
            Action::Flush => able.flush,
            Action::Ycsb(mix) if mix.scan > 0 => able.seek,
            _ => true,
        };
        if workload.inserts() && matches!(self.plan.data, Data::File { .. }) {
            return Some("a data file has no keys to add".into());
        }
        if !supported {
            let why = self
                .engine
                .without_batch()
                .filter(|_| workload.batch > 1)
                .map_or(String::new(), |why| format!(": {why}"));
            return Some(format!("not supported by {}{why}", self.engine.name()));
        }
        if !workload.is_engineless() {
            let (value_bytes, durability) = if workload.changes() {
                (Task::value_bytes(self.plan, workload), self.asked(workload))
            } else {
                // The contents of an existing database are known only from the row's name.
                let of_row = Task::value_bytes(self.plan, workload);
                (of_row.max(self.made_for.1), Durability::Os)
            };
            let declined = self.engine.declines(value_bytes, durability);
            if let Some(why) = declined {
                return Some(why.into());
            }
        }
        if !workload.fresh && !workload.is_engineless() && self.missing.is_some() {
            return self.missing.clone();
        }
        (Task::ops(self.plan, workload) == 0).then(|| "no operations at this --num".into())
    }

    /// Brings the store into the state a row begins with.
    pub(super) fn prepare(&mut self, workload: &Workload) -> Result<(), Fault> {
        let durability = self.asked(workload);
        if workload.fresh {
            self.close()?;
            directory::make_fresh(&self.plan.db)?;
            self.noted = false;
            self.missing = None;
            self.model.clear();
            self.empty = true;
            self.made_for = match workload.values {
                Values::Flag => (self.plan.num, self.plan.value_size),
                Values::Large => (
                    self.plan.num / workload.divisor,
                    Task::value_bytes(self.plan, workload),
                ),
            };
            return self.open(durability);
        }
        if workload.is_engineless() {
            return Ok(());
        }
        if workload.changes() {
            self.forget_note()?;
        }
        if self.store.is_none() || durability != self.opened_for && workload.changes() {
            return self.open(durability);
        }
        Ok(())
    }

    /// Measures once. `None` if the row ended with an error, which has then been reported.
    fn row(&mut self, workload: &'static Workload, instance: u32) -> Option<Ended> {
        self.sampler.restart();
        let mut record = self.blank(workload, instance);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        record.started_at = since.map(|since| since.as_secs());
        let measured = self.run_once(workload);
        let judged = measured.and_then(|mut totals| {
            // The cost ends where judging begins, which reads everything.
            self.settle(workload, &mut record, &totals.before)?;
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

    /// Runs it, and records what that means for the next run, also of a warm-up: a run that writes
    /// nothing leaves a store that is no longer appended to as empty.
    fn run_once(&mut self, workload: &'static Workload) -> Result<Totals, Fault> {
        let measured = self.measure(workload);
        self.threads_so_far += Task::threads(self.plan, workload);
        if workload.changes() {
            self.empty = false;
        }
        measured
    }

    pub(super) fn before(&self) -> Before {
        Before {
            counters: Counters::read(self.device.as_deref()),
            engine_bytes: self.store.as_ref().and_then(Store::bytes_written),
        }
    }

    /// The fields that do not depend on the measurement.
    pub(super) fn blank(&self, workload: &Workload, instance: u32) -> Record {
        let plan = self.plan;
        let mut record = Record {
            engine: self.engine.name().to_owned(),
            engine_version: Some(self.engine.version()),
            suite: plan.suite.clone(),
            section: plan.section.clone(),
            workload: workload.name.to_owned(),
            instance,
            round: plan.round,
            variant: plan.label.clone(),
            pass: plan.histogram.then(|| "latency".to_owned()),
            ..Record::default()
        };
        if workload.is_engineless() {
            return record;
        }
        let survival = workload.changes().then(|| self.survival(workload));
        let stores = self.engine.capabilities().stores;
        record.ranked = Some(
            stores
                && self.engine.contends()
                && plan.ranked
                && plan.variant == Variant::Fair
                && survival != Some(Survival::BelowOs),
        );
        record.durability = survival.map(|survival| survival.word().to_owned());
        if record.variant.is_none() && self.engine.variants().len() > 1 {
            record.variant = Some(plan.variant.word().to_owned());
        }
        record.data = Some(plan.data.word());
        record.compression = Some(plan.compression);
        record.memory_bytes = Some(plan.memory.total_bytes);
        record.key_bytes = Some(plan.key_bytes() as u64);
        record.value_bytes = Some(Task::value_bytes(plan, workload) as u64);
        record.by_hand = by_hand(workload, self.engine.capabilities());
        record.seed = Some(plan.seed);
        record.options = self.store.as_ref().map(Store::options).unwrap_or_default();
        record
    }

    /// What writes of a row survive.
    fn survival(&self, workload: &Workload) -> Survival {
        if !self.engine.capabilities().stores {
            return Survival::None;
        }
        self.engine
            .survival(self.asked(workload), self.plan.variant)
    }

    /// What writes of a row are asked to survive.
    fn asked(&self, workload: &Workload) -> Durability {
        if self.plan.sync || workload.sync {
            Durability::Sync
        } else {
            Durability::Os
        }
    }

    /// Waits for background work and notes what the row cost until then.
    fn settle(
        &mut self,
        workload: &Workload,
        record: &mut Record,
        before: &Before,
    ) -> Result<(), Fault> {
        // While the store still holds what the row gave it: a short row is over between two looks.
        let at_end = self.sampler.peaks();
        let moves_data = workload.touches();
        if moves_data {
            let settled = self.rest()?;
            record.settle_ns =
                settled.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            record.disk_bytes = disk_bytes(&self.plan.db).ok();
        }
        let after = Counters::read(self.device.as_deref());
        let engine_bytes = self.store.as_ref().and_then(Store::bytes_written);
        let difference =
            |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        record.cpu_user_ns = Some(after.user_ns.saturating_sub(before.counters.user_ns));
        record.cpu_sys_ns = Some(after.sys_ns.saturating_sub(before.counters.sys_ns));
        if moves_data {
            record.io_write_bytes =
                difference(after.io_write_bytes, before.counters.io_write_bytes);
            record.engine_write_bytes = difference(engine_bytes, before.engine_bytes);
            record.fsyncs = difference(after.flushes, before.counters.flushes);
            let known = self.model.is_known() && self.engine.capabilities().stores;
            record.live_bytes = known.then(|| self.model.live_bytes(&self.pool));
        }
        let since = self.sampler.peaks();
        record.anon_rss_peak = at_end.0.max(since.0);
        record.anon_rss_base = self.base_rss;
        record.mapped_rss_peak = at_end.1.max(since.1);
        record.page_cache_bytes = page_cache_bytes(&self.plan.db).ok();
        Ok(())
    }

    /// Turns the totals into the text and the rest of the record.
    pub(super) fn verdict(
        &mut self,
        workload: &Workload,
        totals: &Totals,
        record: &mut Record,
    ) -> String {
        let outcome = &totals.outcome;
        let nanoseconds = |seconds: f64| std::time::Duration::try_from_secs_f64(seconds).ok();
        record.threads = Some(self.plan.threads);
        record.ops = Some(outcome.ops.max(1));
        record.wall_ns = nanoseconds(outcome.elapsed_seconds)
            .and_then(|time| u64::try_from(time.as_nanos()).ok());
        record.bytes = (outcome.bytes > 0).then_some(outcome.bytes);
        record.user_bytes = workload.changes().then_some(totals.user_bytes);
        record.found = totals.found;
        record.writer_ops = totals.writer_ops;
        record.intervals.clone_from(&totals.intervals);
        if let Some(histogram) = &totals.histogram {
            record.p50_ns = Some(histogram.percentile_ns(500_000));
            record.p90_ns = Some(histogram.percentile_ns(900_000));
            record.p99_ns = Some(histogram.percentile_ns(990_000));
            record.p999_ns = Some(histogram.percentile_ns(999_000));
            record.p9999_ns = Some(histogram.percentile_ns(999_900));
            record.max_ns = Some(histogram.max_ns());
        }
        let judged = self.judged();
        record.verified = (!workload.is_engineless()).then_some(judged && totals.wrong.count() == 0);
        if let Some(reason) = self.lie(workload, totals, record) {
            record.status = Status::Failed;
            let text = format!("{}\n", result_line::failed(workload.name, &reason));
            record.reason = Some(reason);
            return text;
        }
        let mut outcome = outcome.clone();
        if !judged
            && self.engine.capabilities().stores
            && self.plan.verify
            && !workload.is_engineless()
        {
            let message = format!("{} unverified", outcome.message);
            message.trim_start().clone_into(&mut outcome.message);
        }
        let format = self.plan.format;
        format!("{}\n", result_line::result(format, workload.name, &outcome))
    }

    /// Why a row cannot be believed, if it cannot.
    fn lie(&self, workload: &Workload, totals: &Totals, record: &Record) -> Option<String> {
        let wrong = totals.wrong.count();
        if wrong > 0 {
            let first = totals.wrong.first().unwrap_or_default();
            let answers = if wrong == 1 { "answer" } else { "answers" };
            return Some(format!("{wrong} wrong {answers}; first: {first}"));
        }
        self.unflushed(workload, totals, record)
            .or_else(|| self.excess(workload, record))
    }

    /// That fewer flushes reached the device than synchronous writes were acknowledged. Threads may
    /// share a flush, but not the calls of one thread: each begins when the one before has
    /// returned. Deletes are not asked: of a key that is not there they have nothing to write.
    fn unflushed(&self, workload: &Workload, totals: &Totals, record: &Record) -> Option<String> {
        let synced = record.durability.as_deref() == Some(Survival::Sync.word())
            && self.engine.capabilities().stores
            && self.plan.verify
            && matches!(workload.action, Action::Fill(_));
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

/// The histogram below a line, as each program prints it.
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

/// Megabytes a second of a record, as in the result line.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn megabytes(record: &Record) -> Option<f64> {
    let (bytes, wall_ns) = (record.bytes?, record.wall_ns?);
    Some(bytes as f64 / 1_048_576.0 / (wall_ns as f64 * 1e-9))
}
