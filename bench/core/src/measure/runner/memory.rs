//! Whether an engine keeps to its memory setting.
//!
//! What counts is the peak of anonymous memory above what the harness itself held before the store
//! was opened, which is all the null engine ever needs. What a row may take is
//! [`Memory::allowed_bytes`](crate::workload::settings::Memory::allowed_bytes).

use super::Runner;
use crate::engine::Engine;
use crate::result::record::Record;
use crate::workload::definition::{Action, Order, Workload};

const MIB: u64 = 1 << 20;

impl<E: Engine> Runner<'_, E> {
    /// Why the row's memory fails it, if it does.
    pub(super) fn excess(&self, workload: &Workload, record: &Record) -> Option<String> {
        if !self.engine.capabilities().stores || !self.plan.verify {
            return None;
        }
        let setting = self.plan.memory.total_bytes;
        let allowed = self.plan.memory.allowed_bytes();
        let harness = record.anon_rss_base? + self.listed_bytes(workload);
        let above = record.anon_rss_peak?.saturating_sub(harness);
        (above > allowed).then(|| {
            format!(
                "ignores its memory setting: {} MB of anonymous memory above the harness's own under a setting of {} MB ({} MB are allowed)",
                above / MIB,
                setting / MIB,
                allowed / MIB
            )
        })
    }

    /// Bytes of the lists of keys that the harness makes for rows that take each key once.
    fn listed_bytes(&self, workload: &Workload) -> u64 {
        let order = match workload.action {
            Action::Fill(order) | Action::Delete(order) => order,
            _ => Order::Random,
        };
        let listed = order == Order::Unique || self.plan.shuffle && order != Order::Sequential;
        if listed {
            self.plan.num * 4 * u64::from(self.plan.threads)
        } else {
            0
        }
    }
}
