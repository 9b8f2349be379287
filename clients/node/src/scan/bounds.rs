//! The bounds of an iterator: from where to where, in which direction.

use std::ops::Bound;

use cairndb::{Cursor, Result};

/// A range of keys and a direction.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
    pub(crate) reverse: bool,
}

impl Bounds {
    fn is_after_lower(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
        }
    }

    fn is_before_upper(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => key <= upper.as_slice(),
            Bound::Excluded(upper) => key < upper.as_slice(),
        }
    }

    /// Returns whether `key` is in the range.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.is_after_lower(key) && self.is_before_upper(key)
    }

    /// Returns whether a key that the cursor reached by steps is in the range, of which it cannot
    /// leave the end where it began.
    #[inline]
    pub(crate) fn goes_on_at(&self, key: &[u8]) -> bool {
        if self.reverse {
            self.is_after_lower(key)
        } else {
            self.is_before_upper(key)
        }
    }

    /// Moves to the first entry in the direction, which may be outside of the range.
    pub(crate) fn place(&self, cursor: &mut Cursor) -> Result<()> {
        let bound = if self.reverse {
            &self.upper
        } else {
            &self.lower
        };
        match bound {
            Bound::Unbounded if self.reverse => cursor.seek_to_last(),
            Bound::Unbounded => cursor.seek_to_first(),
            Bound::Included(key) => self.place_at(cursor, key),
            Bound::Excluded(key) => {
                self.place_at(cursor, key)?;
                if cursor.valid() && cursor.key() == key.as_slice() {
                    self.step(cursor)?;
                }
                Ok(())
            }
        }
    }

    /// Moves to `key`, or to the next entry in the direction.
    pub(crate) fn place_at(&self, cursor: &mut Cursor, key: &[u8]) -> Result<()> {
        if self.reverse {
            cursor.seek_for_prev(key)
        } else {
            cursor.seek(key)
        }
    }

    /// Moves to the next entry in the direction.
    #[inline]
    pub(crate) fn step(&self, cursor: &mut Cursor) -> Result<()> {
        if self.reverse {
            cursor.prev()
        } else {
            cursor.next()
        }
    }
}
