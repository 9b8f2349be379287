//! The progress of work on entries: their number and their rate.

use super::interrupt;
use super::meter::Meter;
use crate::failure::Failure;

/// Entries between two updates.
const STEP_ENTRIES: u64 = 1 << 14;

/// The progress of one step of the work.
#[derive(Debug)]
pub(crate) struct Progress {
    meter: Meter,
    work: &'static str,
    entries: u64,
}

impl Progress {
    /// Begins a step, such as `importing`.
    pub(crate) fn begin(work: &'static str) -> Progress {
        Progress {
            meter: Meter::without_length(),
            work,
            entries: 0,
        }
    }

    /// Counts an entry. `position` returns the bytes done and the bytes of the whole. Fails after
    /// Ctrl-C.
    #[inline]
    pub(crate) fn entry(
        &mut self,
        position: impl FnOnce() -> Option<(u64, u64)>,
    ) -> Result<(), Failure> {
        self.entries += 1;
        if self.entries.is_multiple_of(STEP_ENTRIES) {
            self.show(position());
        }
        interrupt::check()
    }

    /// Shows how far the work is, between two counted steps.
    pub(crate) fn update(&mut self, position: Option<(u64, u64)>) {
        self.show(position);
    }

    fn show(&self, position: Option<(u64, u64)>) {
        let seconds = self.meter.elapsed().as_secs_f64().max(1e-3);
        #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
        let rate = self.entries as f64 / seconds / 1e6;
        let (work, entries) = (self.work, self.entries);
        let message = format!("{work}: {entries} entries, {rate:.2} million/s");
        self.meter.tell(message, position);
    }
}
