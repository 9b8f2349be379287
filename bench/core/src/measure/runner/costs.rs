//! The costs of a row: CPU time, bytes written to the device, flushes, memory.

use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::counted::Counted;
use super::slot::StoreSlot;
use crate::engine::{Engine, Store};
use crate::fault::Fault;
use crate::host::page_cache::page_cache_bytes;
use crate::host::process::{Sampler, device_stat, disk_bytes, disk_bytes_of, resident};
use crate::result::record::Record;
use crate::workload::definition::{Action, Readers, Workload};
use crate::workload::plan::Plan;

/// The sources of the costs.
pub(super) struct Costs<'r> {
    plan: &'r Plan,
    device: Option<PathBuf>,
    sampler: Sampler,
    /// Anonymous memory before the store was opened for the first time.
    base_rss: Option<u64>,
}

impl<'r> Costs<'r> {
    /// Starts sampling memory.
    pub(super) fn watch(plan: &'r Plan) -> Self {
        Self {
            plan,
            device: None,
            sampler: Sampler::start(),
            base_rss: None,
        }
    }

    /// Finds the device. The directory exists, and no store was opened in it yet.
    pub(super) fn find_device(&mut self) {
        self.device = device_stat(&self.plan.db);
        self.base_rss = resident().0;
    }

    /// Starts a row and resets earlier peaks.
    pub(super) fn begin_row(&self) {
        self.sampler.restart();
    }

    /// Returns the current counters.
    pub(super) fn read<S: Store>(&self, store: Option<&S>) -> Counted {
        Counted::read(self.device.as_deref(), store)
    }

    /// Waits for background work and records the row's costs until then.
    pub(super) fn settle<E: Engine>(
        &self,
        (slot, contents): (&StoreSlot<'_, E>, &Contents<'_>),
        workload: &Workload,
        before: &Counted,
        record: &mut Record,
    ) -> Result<(), Fault> {
        // Read while the store still holds the row's memory: a short row can end between two
        // samples.
        let at_end = self.sampler.peaks();
        let moves_data = workload.touches();
        if moves_data {
            let settled = slot.rest()?;
            record.settle_ns =
                settled.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
        // The disk of a server is elsewhere.
        let is_here = record.placement.is_none();
        if moves_data && is_here {
            record.disk_bytes = disk_bytes(&self.plan.db).ok();
            if self.plan.keyspaces > 0 {
                let is_log = |path: &Path| path.extension().is_some_and(|end| end == "log");
                record.log_bytes = disk_bytes_of(&self.plan.db, &is_log).ok();
            }
        }
        let after = self.read(slot.store.as_ref());
        let (counters, earlier) = (&after.counters, &before.counters);
        let difference =
            |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        let is_of_writer = matches!(workload.action, Action::Readers(Readers::Cost { .. }));
        // The processes that read are not counted.
        if !workload.has_readers() || is_of_writer {
            record.cpu_user_ns = Some(counters.user_ns.saturating_sub(earlier.user_ns));
            record.cpu_sys_ns = Some(counters.sys_ns.saturating_sub(earlier.sys_ns));
            record.io_read_bytes = difference(counters.io_read_bytes, earlier.io_read_bytes);
        }
        record.round_trips = difference(after.round_trips, before.round_trips);
        if let Action::Turns { .. } = workload.action {
            record.passed_entries = difference(after.passed_entries, before.passed_entries);
        }
        if moves_data {
            record.live_bytes = contents.live_bytes();
        }
        if moves_data && is_here {
            record.io_write_bytes = difference(counters.io_write_bytes, earlier.io_write_bytes);
            record.engine_write_bytes = difference(after.engine_bytes, before.engine_bytes);
            record.fsyncs = difference(counters.flushes, earlier.flushes);
        }
        let since = self.sampler.peaks();
        record.anon_rss_peak = at_end.0.max(since.0);
        record.anon_rss_base = self.base_rss;
        record.mapped_rss_peak = at_end.1.max(since.1);
        // The count closes each file, and with it goes a process's lock on the file, on which
        // stores that several processes use rely.
        if !slot.shared {
            record.page_cache_bytes = page_cache_bytes(&self.plan.db).ok();
        }
        Ok(())
    }
}
