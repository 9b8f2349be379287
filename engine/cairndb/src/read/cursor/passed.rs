//! Dead entries that a cursor has stepped over: tombstones, and entries that they hide.

use crate::read::hints::tombstone_spans::SPAN_ENTRIES_MIN;

/// Number of dead entries that a step has to pass, after those that made it continue as a seek,
/// before a span is recorded.
const LEAP_ENTRIES_MIN: usize = 4 * SPAN_ENTRIES_MIN;

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

    /// Returns whether a step has passed so many that a later one should not. Gaps of fewer are
    /// common in scans, and would crowd out what seeks have recorded.
    #[inline]
    pub(super) fn are_worth_a_leap(&self) -> bool {
        self.now >= LEAP_ENTRIES_MIN
    }

    /// Returns the number that is not yet counted, which the caller counts.
    #[inline]
    pub(super) fn take(&mut self) -> usize {
        self.begin_call();
        std::mem::take(&mut self.before)
    }
}
