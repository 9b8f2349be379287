//! Whether the gets of a thread tend to find their keys.
//!
//! A get asks the filter and then looks for the page, or looks for the page while the filter's line is on its way. Which
//! is better depends on what the filter will say, and nothing in a get tells; so the last ones are asked, as a
//! processor does with branches. Of a key that is there the two longest waits become one; of one that is
//! not the search of the fence is for nothing, and the lines of a page are fetched that nobody reads. A get that
//! asks many runs is refused by most of them, and asks filters first.
//!
//! Threads: a byte for each, for all tables. One for a table, or a handle, would be stored to by all who read.

use std::cell::Cell;

/// Filters that let a key pass, less those that did not, within these bounds.
const MOST: u8 = 15;
/// From which on the next is expected to.
const LIKELY: u8 = 8;

thread_local! {
    static HITS: Cell<u8> = const { Cell::new(0) };
}

/// Whether the next get is likely to find its key.
#[inline]
pub(crate) fn likely() -> bool {
    HITS.get() >= LIKELY
}

/// A filter let a key pass.
#[inline]
pub(crate) fn note_pass() {
    HITS.set((HITS.get() + 1).min(MOST));
}

/// A filter did not.
#[inline]
pub(crate) fn note_refusal() {
    HITS.set(HITS.get().saturating_sub(1));
}

#[cfg(test)]
mod tests {
    use super::{LIKELY, MOST, likely, note_pass, note_refusal};

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
        for _ in 0..=MOST - LIKELY {
            assert!(likely());
            note_refusal();
        }
        assert!(!likely());
    }
}
