//! Whether a seek tends to be all that a cursor does.
//!
//! A cursor that is made for one seek and read where it lands can do with what a get does, at half the
//! price: no source is placed, no buffer of a page made. A scan cannot: it would pay for both. Nothing in
//! a seek tells which of the two it is, so the last ones are asked, as a processor does with branches.
//!
//! Threads: one byte for the cursors of a thread, which threads share when there are very many
//! ([`spare`](crate::read::thread_cache)). Seeks for missing keys store to it all the time: one byte for all threads had two of
//! them wait for each other. Races lose a count.

use std::sync::atomic::{AtomicU8, Ordering};

/// Seeks that no move followed, from which on the next is expected to be alone too.
const SEEKS_ALONE: u8 = 8;
/// Most that are counted.
const SEEKS_MAX: u8 = 2 * SEEKS_ALONE;
/// What a seek counts that led to a tombstone, an operand or a pointer, and so to a cursor after all: it costs a third of
/// what showing an entry saves, and the seek itself counts again when it has been alone.
const VAIN: u8 = 2;

/// How many seeks were alone since the last that was not.
#[derive(Debug, Default)]
pub(crate) struct SeekHabit(AtomicU8);

impl SeekHabit {
    /// Whether the next seek is likely to be alone.
    #[inline]
    pub(crate) fn alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= SEEKS_ALONE
    }

    /// Whether the last seek was moved on from, or there was none.
    #[inline]
    pub(crate) fn moved(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// A cursor was dropped or placed anew where a seek had put it.
    #[inline]
    pub(crate) fn note_alone(&self) {
        let seeks = self.0.load(Ordering::Relaxed);
        if seeks < SEEKS_MAX {
            self.0.store(seeks + 1, Ordering::Relaxed);
        }
    }

    /// A cursor was moved on from where a seek had put it.
    #[inline]
    pub(crate) fn note_moved(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// A seek that was taken to be alone led to nothing that can be shown without a cursor.
    pub(crate) fn note_vain(&self) {
        let seeks = self.0.load(Ordering::Relaxed);
        self.0.store(seeks.saturating_sub(VAIN), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_scan_breaks_the_habit() {
        let habit = SeekHabit::default();
        for _ in 0..SEEKS_ALONE {
            assert!(!habit.alone());
            habit.note_alone();
        }
        assert!(habit.alone() && !habit.moved());
        habit.note_moved();
        assert!(!habit.alone() && habit.moved());
    }

    #[test]
    fn seeks_in_vain_are_tried_every_other_time_at_most() {
        let habit = SeekHabit::default();
        for _ in 0..u8::MAX {
            habit.note_alone();
        }
        let mut asked = 0;
        for _ in 0..100 {
            if habit.alone() {
                asked += 1;
                habit.note_vain();
            }
            habit.note_alone();
        }
        assert!((1..=55).contains(&asked), "{asked}");
    }
}
