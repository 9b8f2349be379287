//! The requirements of the flags on a row, and whether the engine can run it.

use super::Runner;
use crate::engine::{Durability, End, Engine, Survival, Variant};
use crate::measure::loops::{Task, by_hand};
use crate::result::record::Record;
use crate::workload::definition::{Action, Pattern, Workload};
use crate::workload::plan::Data;

impl<E: Engine> Runner<'_, E> {
    /// Returns why a row cannot be run, if it cannot.
    pub(super) fn reason_to_skip(&self, workload: &Workload) -> Option<String> {
        let nothing_to_do = || Task::ops(self.plan, workload) == 0;
        let limit = self.limited.as_ref().err();
        let unlimited = limit.map(|why| format!("its memory cannot be limited: {why}"));
        unlimited
            .or_else(|| self.unsupported(workload))
            .or_else(|| self.contents.missing(workload))
            .or_else(|| nothing_to_do().then(|| "no operations at this --num".into()))
    }

    /// Returns why the engine or the flags do not allow a row, if they do not.
    fn unsupported(&self, workload: &Workload) -> Option<String> {
        if workload.fresh && self.plan.use_existing_db {
            return Some("--use_existing_db is true".into());
        }
        let variant = self.plan.variant;
        if !self.engine.variants().contains(&variant) && !workload.is_engineless() {
            let name = self.engine.name();
            return Some(format!("{name} has no {} settings", variant.word()));
        }
        let keyspaces = self.plan.keyspaces > 0;
        let suits = match workload.action {
            Action::DropKeyspaces => keyspaces,
            _ => !keyspaces || workload.spans_keyspaces() && self.plan.batch_size <= 1,
        };
        if !suits {
            return Some(format!("not with --keyspaces={}", self.plan.keyspaces));
        }
        if workload.inserts() && matches!(self.plan.data, Data::File { .. }) {
            return Some("a data file has no keys to add".into());
        }
        if !self.supports(workload) {
            let why = self
                .engine
                .without_batch()
                .filter(|_| workload.batch > 1)
                .map_or(String::new(), |why| format!(": {why}"));
            return Some(format!("not supported by {}{why}", self.engine.name()));
        }
        if !workload.is_engineless() {
            let (value_bytes, durability) = if workload.changes() {
                let bound = match workload.action {
                    // The disk limits the sync, whatever the writes before it.
                    Action::SyncBurst => Durability::Sync,
                    _ => self.asked(workload),
                };
                (Task::value_bytes(self.plan, workload), bound)
            } else {
                // For an existing database, the value size is known only from the row's name.
                let of_row = Task::value_bytes(self.plan, workload);
                (of_row.max(self.slot.made_for.1), Durability::Os)
            };
            let declined = self.engine.declines(value_bytes, durability);
            return declined.map(str::to_owned);
        }
        None
    }

    /// Returns whether the engine has what a row needs.
    fn supports(&self, workload: &Workload) -> bool {
        let able = self.engine.capabilities();
        match workload.action {
            _ if workload.sync && !able.sync => false,
            _ if self.plan.keyspaces > 0 && !self.engine.keyspaces() => workload.is_engineless(),
            _ if Task::batch(self.plan, workload) > 1 && !able.batch => false,
            Action::Scan { backward: true } | Action::Pop(End::Last) => able.reverse,
            Action::Extract => able.seek && able.batch,
            Action::Stall => able.batch,
            Action::SyncBurst => able.sync_later,
            Action::Turns {
                pattern,
                held,
                ranges,
            } => {
                let turns_back = pattern == Pattern::Stack;
                able.seek
                    && (able.reverse || !turns_back)
                    && (able.snapshot || !held)
                    && (self.engine.range_deletion() || !ranges)
            }
            Action::DeleteRanges => self.engine.range_deletion(),
            Action::Readers(_) => self.engine.has_readers(),
            Action::Seek | Action::SeekBeside(_) => {
                able.seek && (able.reverse || !self.plan.reverse_iterator)
            }
            Action::SeekOrdered => able.seek,
            Action::Compact => able.compact,
            Action::Flush => able.flush,
            Action::Ycsb(mix) if mix.scan > 0 => able.seek,
            _ => true,
        }
    }

    /// Returns a record with the fields that do not depend on the measurement.
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
        record.placement = self.engine.placement().label().map(str::to_owned);
        record.data = Some(plan.data.word());
        record.compression = Some(plan.compression);
        record.memory_bytes = Some(plan.memory.total_bytes);
        record.memory_limit = Some(plan.memory_limit).filter(|bytes| *bytes > 0);
        record.cached_before = self.cached_before;
        record.key_bytes = Some(plan.key_bytes() as u64);
        record.value_bytes = Some(Task::value_bytes(plan, workload) as u64);
        record.by_hand = by_hand(workload, self.engine.capabilities());
        record.seed = Some(plan.seed);
        record.options = self.slot.options();
        record
    }

    /// Returns what writes of a row survive.
    fn survival(&self, workload: &Workload) -> Survival {
        if !self.engine.capabilities().stores {
            return Survival::None;
        }
        self.engine
            .survival(self.asked(workload), self.plan.variant)
    }

    /// Returns the durability requested for writes of a row.
    pub(super) fn asked(&self, workload: &Workload) -> Durability {
        if self.plan.sync || workload.sync {
            Durability::Sync
        } else {
            Durability::Os
        }
    }
}
