//! One row: its state before, its repetitions, its cost, its verdict.

use std::time::{SystemTime, UNIX_EPOCH};

use super::measure::Totals;
use super::{Event, Runner};
use crate::definition::{Action, Workload};
use crate::engine::{Durability, Engine, Store, Survival, Variant};
use crate::fault::Fault;
use crate::line;
use crate::place;
use crate::process::{Counters, disk_bytes, resident};
use crate::record::{Record, Status};
use crate::step::Step;
use crate::workload::Task;

/// What a row cost beside its time.
struct Before {
    counters: Counters,
    engine_bytes: Option<u64>,
    started_at: Option<u64>,
}

impl<E: Engine> Runner<'_, E> {
    /// A workload with its repetitions.
    pub(super) fn step(&mut self, workload: &'static Workload, step: &Step) -> Result<(), Fault> {
        let instance = self.count_instance(workload);
        if let Some(reason) = self.reason_to_skip(workload) {
            let mut record = self.blank(workload, instance);
            record.status = Status::Skipped;
            let text = format!("{}\n", line::skipped(workload.name, &reason));
            record.reason = Some(reason);
            self.tell(Event::Row {
                text,
                record: Box::new(record),
            });
            return Ok(());
        }
        self.prepare(workload)?;
        if step.warmups > 0 {
            let text = format!("Warming up benchmark by running {} times\n", step.warmups);
            self.tell(Event::Text(text));
        }
        for _ in 0..step.warmups {
            // A fault of a warm-up shows again in the run that counts.
            let _ = self.measure(workload);
            self.threads_so_far += Task::threads(self.plan, workload);
        }
        if step.repeats > 1 {
            self.tell(Event::Text(format!(
                "Running benchmark for {} times\n",
                step.repeats
            )));
        }
        let (mut ops, mut mbs) = (Vec::new(), Vec::new());
        for run in 1..=step.repeats {
            let (mut text, record) = self.row(workload, instance)?;
            if step.repeats > 1
                && let Some(rate) = record.rate()
            {
                ops.push(rate);
                mbs.extend(megabytes(&record));
                let last = run == step.repeats;
                text.push_str(&line::combined(workload.name, &ops, &mbs, false));
                text.push('\n');
                if last {
                    text.push_str(&line::combined(workload.name, &ops, &mbs, true));
                    text.push('\n');
                }
            }
            self.tell(Event::Row {
                text,
                record: Box::new(record),
            });
        }
        Ok(())
    }

    /// Why a row cannot be run, if it cannot.
    fn reason_to_skip(&self, workload: &Workload) -> Option<String> {
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
            _ if workload.batch > 1 && !able.batch => false,
            Action::Scan { backward: true } => able.reverse,
            Action::Seek | Action::SeekOrdered | Action::SeekBeside(_) => able.seek,
            Action::Compact => able.compact,
            Action::Codec { codec, .. } => return Some(format!("{codec} is not built in")),
            _ => true,
        };
        if !supported {
            let why = self
                .engine
                .without_batch()
                .filter(|_| workload.batch > 1)
                .map_or(String::new(), |why| format!(": {why}"));
            return Some(format!("not supported by {}{why}", self.engine.name()));
        }
        (Task::ops(self.plan, workload) == 0).then(|| "no operations at this --num".into())
    }

    /// Brings the store into the state a row begins with.
    fn prepare(&mut self, workload: &Workload) -> Result<(), Fault> {
        let durability = if workload.sync || self.plan.sync {
            Durability::Sync
        } else {
            Durability::Os
        };
        if workload.fresh {
            self.close()?;
            place::make_fresh(&self.plan.db)?;
            self.model.clear();
            self.empty = true;
            return self.open(durability);
        }
        if self.store.is_none() || durability != self.opened_for && workload.changes() {
            return self.open(durability);
        }
        Ok(())
    }

    /// Measures once and gives the text and the record.
    fn row(
        &mut self,
        workload: &'static Workload,
        instance: u32,
    ) -> Result<(String, Record), Fault> {
        self.sampler.restart();
        let before = self.before();
        let mut record = self.blank(workload, instance);
        record.started_at = before.started_at;
        let measured = self.measure(workload);
        self.threads_so_far += Task::threads(self.plan, workload);
        if workload.changes() {
            self.empty = false;
        }
        match measured {
            Ok(mut totals) => {
                self.settle(workload, &mut record, &before)?;
                if workload.changes() {
                    self.check_contents(&mut totals)?;
                }
                Ok((self.verdict(workload, &totals, &mut record), record))
            }
            Err(fault) => {
                record.status = Status::Failed;
                let text = format!("{}\n", line::failed(workload.name, &fault.to_string()));
                record.reason = Some(fault.to_string());
                if self.store.is_none() {
                    // Closed and not opened again, as the row `open` may leave it.
                    self.open(self.opened_for)?;
                }
                Ok((text, record))
            }
        }
    }

    fn before(&self) -> Before {
        Before {
            counters: Counters::read(self.device.as_deref()),
            engine_bytes: self.store.as_ref().and_then(Store::bytes_written),
            started_at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .ok()
                .map(|since| since.as_secs()),
        }
    }

    /// The fields that do not depend on the measurement.
    fn blank(&self, workload: &Workload, instance: u32) -> Record {
        let plan = self.plan;
        let mut record = Record {
            engine: self.engine.name().to_owned(),
            engine_version: Some(self.engine.version()),
            suite: plan.suite.clone(),
            section: plan.section.clone(),
            workload: workload.name.to_owned(),
            instance,
            round: plan.round,
            ..Record::default()
        };
        if workload.is_engineless() {
            return record;
        }
        let survival = workload.changes().then(|| self.survival(workload));
        let stores = self.engine.capabilities().stores;
        record.ranked =
            Some(stores && plan.variant == Variant::Fair && survival != Some(Survival::BelowOs));
        record.durability = survival.map(|survival| survival.word().to_owned());
        if self.engine.variants().len() > 1 {
            record.variant = Some(plan.variant.word().to_owned());
        }
        record.data = Some("synthetic".into());
        record.compression = Some(plan.compression);
        record.memory_bytes = Some(plan.memory.total_bytes);
        record.key_bytes = Some(plan.key_bytes() as u64);
        record.value_bytes = Some(Task::value_bytes(plan, workload) as u64);
        record.seed = Some(plan.seed);
        record.options = self.store.as_ref().map(Store::options).unwrap_or_default();
        record
    }

    /// What writes of a row survive.
    fn survival(&self, workload: &Workload) -> Survival {
        if !self.engine.capabilities().stores {
            return Survival::None;
        }
        let asked = if self.plan.sync || workload.sync {
            Durability::Sync
        } else {
            Durability::Os
        };
        self.engine.survival(asked, self.plan.variant)
    }

    /// Waits for background work and notes what the row cost until then.
    fn settle(
        &mut self,
        workload: &Workload,
        record: &mut Record,
        before: &Before,
    ) -> Result<(), Fault> {
        let moves_data =
            workload.changes() || matches!(workload.action, Action::Compact | Action::Flush);
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
        }
        record.anon_rss_peak = self.sampler.peak();
        record.mapped_rss = resident().1;
        Ok(())
    }

    /// Turns the totals into the text and the rest of the record.
    fn verdict(&mut self, workload: &Workload, totals: &Totals, record: &mut Record) -> String {
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
        if let Some(histogram) = &totals.histogram {
            record.p50_ns = Some(histogram.percentile_ns(500_000));
            record.p90_ns = Some(histogram.percentile_ns(900_000));
            record.p99_ns = Some(histogram.percentile_ns(990_000));
            record.p999_ns = Some(histogram.percentile_ns(999_000));
            record.p9999_ns = Some(histogram.percentile_ns(999_900));
            record.max_ns = Some(histogram.max_ns());
        }
        let judged = self.judged();
        record.verified = (!workload.is_engineless()).then_some(judged && totals.wrong == 0);
        if let Some(reason) = self.lie(workload, totals, record) {
            record.status = Status::Failed;
            let text = format!("{}\n", line::failed(workload.name, &reason));
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
        let mut text = format!("{}\n", line::result(workload.name, &outcome));
        if let Some(histogram) = &totals.histogram {
            text.push_str("Microseconds per op:\n");
            text.push_str(&histogram.to_text());
            text.push('\n');
        }
        text
    }

    /// Why a row cannot be believed, if it cannot.
    fn lie(&self, workload: &Workload, totals: &Totals, record: &Record) -> Option<String> {
        if totals.wrong > 0 {
            let first = totals.first_wrong.as_deref().unwrap_or_default();
            return Some(format!("{} wrong answers; first: {first}", totals.wrong));
        }
        let able = self.engine.capabilities();
        let synced = record.durability.as_deref() == Some(Survival::Sync.word())
            && able.stores
            && self.plan.verify;
        if synced && self.plan.threads == 1 && workload.batch == 1 {
            let writes = if matches!(workload.action, Action::Fill(_) | Action::Delete(_)) {
                totals.outcome.ops
            } else {
                0
            };
            if let Some(flushes) = record.fsyncs.filter(|&flushes| flushes < writes) {
                return Some(format!(
                    "acknowledged {writes} synchronous writes while {flushes} flushes reached the device"
                ));
            }
        }
        None
    }
}

/// Megabytes a second of a record, as the result line gives them.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn megabytes(record: &Record) -> Option<f64> {
    let (bytes, wall_ns) = (record.bytes?, record.wall_ns?);
    Some(bytes as f64 / 1_048_576.0 / (wall_ns as f64 * 1e-9))
}
