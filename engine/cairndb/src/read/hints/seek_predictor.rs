//! Predicts whether a cursor will be moved after its seek.
//!
//! A cursor that is created for one seek and read at its target can do the work of a get, at half
//! the cost: it positions no source and fills no page buffer. For a scan this would be extra work.
//! A seek does not reveal which of the two it is, so the outcome of the last seeks decides, as in a
//! branch predictor.
//!
//! Threads: one byte for the cursors of a thread; if there are very many threads, several may share
//! one ([`thread_cache`](crate::read::hints::thread_cache)). Seeks for absent keys store to it
//! constantly: with one byte for all threads, two threads waited for each other. A race loses a
//! count.

use std::sync::atomic::{AtomicU8, Ordering};

/// Number of consecutive seeks without a move after which the next is predicted to be alone.
const SEEKS_ALONE: u8 = 8;
/// Upper limit of the count.
const SEEKS_MAX: u8 = 2 * SEEKS_ALONE;
/// Cost, in counted seeks, of a prediction that failed: the seek found a tombstone, an operand or a
/// pointer, and needed a cursor after all. This costs a third of the savings of a hit, and the seek
/// itself counts again if it was alone.
const MISS_COST: u8 = 2;

/// Number of consecutive seeks that were not followed by a move.
#[derive(Debug, Default)]
pub(crate) struct SeekPredictor(AtomicU8);

impl SeekPredictor {
    /// Returns whether the next seek is predicted to be alone.
    #[inline]
    pub(crate) fn alone(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= SEEKS_ALONE
    }

    /// Returns whether the last seek was followed by a move, or there was no seek.
    #[inline]
    pub(crate) fn moved(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Records that a cursor was dropped or repositioned where a seek had left it.
    #[inline]
    pub(crate) fn note_alone(&self) {
        let seeks = self.0.load(Ordering::Relaxed);
        if seeks < SEEKS_MAX {
            self.0.store(seeks + 1, Ordering::Relaxed);
        }
    }

    /// Records that a cursor was moved from where a seek had left it.
    #[inline]
    pub(crate) fn note_moved(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// Records that a seek predicted to be alone found no entry that can be returned without a
    /// cursor.
    pub(crate) fn note_miss(&self) {
        let seeks = self.0.load(Ordering::Relaxed);
        self.0
            .store(seeks.saturating_sub(MISS_COST), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_scan_breaks_the_habit() {
        let predictor = SeekPredictor::default();
        for _ in 0..SEEKS_ALONE {
            assert!(!predictor.alone());
            predictor.note_alone();
        }
        assert!(predictor.alone() && !predictor.moved());
        predictor.note_moved();
        assert!(!predictor.alone() && predictor.moved());
    }

    #[test]
    fn seeks_in_vain_are_tried_every_other_time_at_most() {
        let predictor = SeekPredictor::default();
        for _ in 0..u8::MAX {
            predictor.note_alone();
        }
        let mut tried = 0;
        for _ in 0..100 {
            if predictor.alone() {
                tried += 1;
                predictor.note_miss();
            }
            predictor.note_alone();
        }
        assert!((1..=55).contains(&tried), "{tried}");
    }
}
