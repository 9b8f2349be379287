//! Dead entries that a cursor has stepped over: tombstones, and entries that they hide.

use crate::read::hints::tombstone_spans::SPAN_ENTRIES_MIN;

/// The number of dead entries passed.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// In the current call.
    now: usize,
    /// In earlier calls, not yet counted in the statistics.
    before: usize,
}

impl Passed {
    /// Begins a call by the cursor's user.
    #[inline]
    pub(super) fn begin_call(&mut self) {
        self.before += std::mem::take(&mut self.now);
    }

    #[inline]
    pub(super) fn add(&mut self, entries: usize) {
        self.now += entries;
    }

    /// Returns whether the current call has passed so many that the range they take is worth
    /// recording.
    #[inline]
    pub(super) fn are_many(&self) -> bool {
        self.now >= SPAN_ENTRIES_MIN
    }

    /// Returns the number that is not yet counted, which the caller counts.
    #[inline]
    pub(super) fn take(&mut self) -> usize {
        self.begin_call();
        std::mem::take(&mut self.before)
    }
}
