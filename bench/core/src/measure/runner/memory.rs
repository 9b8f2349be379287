//! Checks that an engine respects its memory setting.
//!
//! The check uses the peak of anonymous memory above what the harness itself used before the store
//! was opened, which is all that the null engine ever needs. The limit is
//! [`Memory::allowed_bytes`](crate::workload::settings::Memory::allowed_bytes).

use super::verdict::Verdict;
use crate::result::record::Record;
use crate::workload::definition::{Action, Order};

const MIB: u64 = 1 << 20;

impl Verdict<'_> {
    /// Returns why the row fails because of its memory, if it does.
    pub(super) fn excess(&self, record: &Record) -> Option<String> {
        if !self.stores || !self.plan.verify {
            return None;
        }
        let setting = self.plan.memory.total_bytes;
        let allowed = self.plan.memory.allowed_bytes();
        let harness = record.anon_rss_base? + self.listed_bytes();
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

    /// Returns the size in bytes of the key lists that the harness creates for rows that take each
    /// key once.
    fn listed_bytes(&self) -> u64 {
        let order = match self.workload.action {
            Action::Fill(order) | Action::Delete(order) => order,
            Action::Stall => Order::Unique,
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
