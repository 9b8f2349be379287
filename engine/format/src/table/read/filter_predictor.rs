//! Filter predictor: whether the gets of a thread tend to find their keys.
//!
//! A get can ask the filter before it finds the page, or find the page while the filter's line is
//! being loaded. Which is better depends on the filter's answer, which nothing in a get reveals. So
//! the recent answers predict the next one, as in a processor's branch predictor. For a present key
//! the two longest waits become one. For an absent key the fence search is wasted, and lines of a
//! page are loaded for nothing. A get that looks into many runs is refused by most of them, and
//! asks filters first.
//!
//! Threads: one byte per thread, for all tables. A counter per table or handle would be written by
//! all readers.

use std::cell::Cell;

/// Upper bound of the counter: keys that passed, minus [`REFUSAL`] for each that did not.
const MOST: u8 = 15;
/// Count from which the next key is expected to pass.
const LIKELY: u8 = 8;
/// Number of passes that one refusal outweighs: a page found for an absent key costs more than a
/// page found late, so gets of which a third or more are for absent keys ask filters first.
const REFUSAL: u8 = 3;

thread_local! {
    static HITS: Cell<u8> = const { Cell::new(0) };
}

/// Returns whether the next get is likely to find its key.
#[inline]
pub(crate) fn likely() -> bool {
    HITS.get() >= LIKELY
}

/// Records that a filter let a key pass.
#[inline]
pub(crate) fn note_pass() {
    HITS.set((HITS.get() + 1).min(MOST));
}

/// Records that a filter refused a key.
#[inline]
pub(crate) fn note_refusal() {
    HITS.set(HITS.get().saturating_sub(REFUSAL));
}

#[cfg(test)]
mod tests {
    use super::{LIKELY, MOST, REFUSAL, likely, note_pass, note_refusal};

    #[test]
    fn most_of_the_last_answers_decide() {
        for _ in 0..MOST {
            note_refusal();
        }
        assert!(!likely());
        for _ in 0..LIKELY {
            note_pass();
        }
        assert!(likely());
        for _ in 0..100 {
            note_pass();
        }
        for _ in 0..(MOST - LIKELY).div_ceil(REFUSAL) {
            assert!(likely());
            note_refusal();
        }
        assert!(!likely());
    }

    #[test]
    fn half_absent_keys_are_not_expected_to_pass() {
        let mut expected = 0;
        for _ in 0..100 {
            note_pass();
            expected += u32::from(likely());
            note_refusal();
            expected += u32::from(likely());
        }
        assert_eq!(expected, 0);
    }
}
