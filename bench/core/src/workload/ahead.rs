//! Keys drawn ahead, where other threads write.
//!
//! A thread that is alone settles with the model by the lot. Beside others the model's word has to be looked at around
//! each operation, and a million words are in no near cache: a wait of 100 ns and more, which says nothing about an
//! engine. So keys are drawn some at a time, and their words loaded once: these loads wait together. What is judged is
//! what is loaded around the operation, as before.

use std::hint::black_box;

use super::{Worker, position};

/// As many waits as a processor has under way, with room for the engine's own.
const DRAWN_AT_ONCE: usize = 16;

/// What was drawn and not yet given.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    drawn: [u64; DRAWN_AT_ONCE],
    /// Of the last of them, so many.
    left: usize,
}

impl<S> Worker<'_, S> {
    /// The next key index of this row.
    #[inline]
    pub(super) fn draw(&mut self) -> u64 {
        if !self.task.contended {
            return self.draws.next(&mut self.random);
        }
        if self.ahead.left == 0 {
            self.draw_ahead();
        }
        let next = DRAWN_AT_ONCE - self.ahead.left;
        self.ahead.left -= 1;
        self.ahead.drawn[next]
    }

    #[inline(never)]
    fn draw_ahead(&mut self) {
        for drawn in &mut self.ahead.drawn {
            *drawn = self.draws.next(&mut self.random);
        }
        for &index in &self.ahead.drawn {
            black_box(self.task.model.load(position(index)));
        }
        self.ahead.left = DRAWN_AT_ONCE;
    }
}
