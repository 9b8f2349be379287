//! `Settings`: the settings of an open database, and the limits that follow from them.

use std::sync::Arc;

use cairndb_base::Order;
use cairndb_files::{OutputSettings, TableClasses};

use crate::state::budget::Budget;
use crate::state::keyspaces::Keyspaces;
use crate::state::options::{Durability, WriteOptions};
use crate::state::sections::Section;

/// Settings that are fixed when the database is opened.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) budget: Budget,
    pub(crate) durability: Durability,
    pub(crate) output: OutputSettings,
    pub(crate) read_only: bool,
    /// Whether another process may write the database.
    pub(crate) follows: bool,
    /// Length at which a value file is closed.
    pub(crate) value_file: u64,
    /// The user's limit on the space that followers may hold.
    pub(crate) reader_space: Option<u64>,
}

impl Settings {
    /// Returns how tables of `section` are written.
    pub(crate) fn output_in(
        &self,
        section: Section,
        order: &Order,
        keyspaces: &Arc<Keyspaces>,
    ) -> OutputSettings {
        let mut output = self.output.clone();
        if section != Section::Default {
            output.order = order.clone();
            output.section = section as u8;
            output.classes = Some(Arc::clone(keyspaces) as Arc<dyn TableClasses>);
        }
        output
    }

    /// Returns the durability of a write with `options`.
    pub(crate) fn durability_of(&self, options: WriteOptions) -> Durability {
        options.durability.unwrap_or(self.durability)
    }

    /// Returns the unit in which the limits on disk space under load are stated: the memory budget,
    /// or 64 MiB if that is more.
    pub(crate) fn waste_unit(&self) -> u64 {
        (self.budget.total as u64).max(WASTE_UNIT_MIN)
    }

    /// Returns the number of bytes of large values that a memtable may point to. Only after its
    /// flush is it known which of them are dead.
    pub(crate) fn memtable_values_max(&self) -> u64 {
        (self.value_file / 4).clamp(MEMTABLE_VALUES_MIN, MEMTABLE_VALUES_MAX)
    }
}

/// Unit of the limits on disk space, if the memory budget is smaller.
const WASTE_UNIT_MIN: u64 = 64 << 20;

/// Bounds of [`Settings::memtable_values_max`], for short and for long value files.
const MEMTABLE_VALUES_MIN: u64 = 1 << 20;
const MEMTABLE_VALUES_MAX: u64 = 32 << 20;
