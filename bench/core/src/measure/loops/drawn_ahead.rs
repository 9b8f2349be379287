//! Keys drawn ahead, for rows in which other threads write.
//!
//! A single thread checks against the model in batches. With other threads, the model's word has to
//! be read around each operation, and a million words do not fit in a near cache: each operation
//! would pay for a miss that is not the engine's. Keys are therefore drawn some operations ahead
//! and their words are prefetched, so that these misses overlap. The check still uses the words
//! loaded around the operation.

/// The number of outstanding misses of a processor, with room for the engine's own.
const DRAWN_AT_ONCE: usize = 16;

/// Indexes that were drawn but not yet returned.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    drawn: [u64; DRAWN_AT_ONCE],
    /// Number of indexes left, at the end of the array.
    left: usize,
}

impl Ahead {
    /// Returns the next index that `draw` returned. `touch` was called for it several draws ago.
    #[inline]
    pub(super) fn next(&mut self, draw: impl FnMut() -> u64, touch: impl Fn(u64)) -> u64 {
        if self.left == 0 {
            self.fill(draw, touch);
        }
        let next = DRAWN_AT_ONCE - self.left;
        self.left -= 1;
        self.drawn[next]
    }

    #[inline(never)]
    fn fill(&mut self, draw: impl FnMut() -> u64, touch: impl Fn(u64)) {
        self.drawn.fill_with(draw);
        self.drawn.into_iter().for_each(touch);
        self.left = DRAWN_AT_ONCE;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Ahead, DRAWN_AT_ONCE};

    #[test]
    fn what_is_drawn_is_given_in_its_order_and_touched_once() {
        let mut ahead = Ahead::default();
        let touched = RefCell::new(Vec::new());
        let mut drawn = 0;
        for turn in 0..5 * DRAWN_AT_ONCE as u64 + 3 {
            let draw = || {
                drawn += 1;
                drawn - 1
            };
            assert_eq!(
                ahead.next(draw, |index| touched.borrow_mut().push(index)),
                turn
            );
            assert!(touched.borrow().contains(&turn));
        }
        assert_eq!(touched.into_inner(), (0..drawn).collect::<Vec<_>>());
    }
}
