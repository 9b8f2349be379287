//! Bounds of keys: where a cursor starts within them from either end, and what lies inside.
//!
//! Shared by iterators and [`RangeCursor`](crate::RangeCursor).

use std::ops::Bound;

use cairndb_base::{Order, Result};

use crate::api::range::KeyRange;
use crate::api::walk::Walk;

/// The bounds of a range, or of the keys with a prefix, in the order of the database.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) order: Order,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// The required prefix of keys, if the order is custom and the bounds do not ensure it.
    prefix: Option<Vec<u8>>,
}

impl Bounds {
    pub(crate) fn of_range(order: &Order, range: &impl KeyRange) -> Bounds {
        let (from, to) = range.key_bounds();
        Bounds {
            order: order.clone(),
            from: from.map(<[u8]>::to_vec),
            to: to.map(<[u8]>::to_vec),
            prefix: None,
        }
    }

    pub(crate) fn of_prefix(order: &Order, prefix: &[u8]) -> Bounds {
        let bytewise = order.is_bytewise();
        let end = if bytewise { successor(prefix) } else { None };
        Bounds {
            order: order.clone(),
            from: Bound::Included(prefix.to_vec()),
            to: end.map_or(Bound::Unbounded, Bound::Excluded),
            prefix: (!bytewise).then(|| prefix.to_vec()),
        }
    }

    /// Moves to the first entry at or after the lower bound.
    pub(crate) fn place_first(&self, cursor: &mut impl Walk) -> Result<()> {
        match &self.from {
            Bound::Unbounded => cursor.seek_to_first(),
            Bound::Included(key) => cursor.seek(key),
            Bound::Excluded(key) => {
                let moved = cursor.seek(key);
                if self.is_at(cursor, key) {
                    return cursor.next();
                }
                moved
            }
        }
    }

    /// Moves to the last entry at or before the upper bound.
    pub(crate) fn place_last(&self, cursor: &mut impl Walk) -> Result<()> {
        if let (Some(prefix), Bound::Included(from)) = (&self.prefix, &self.from) {
            // With a custom order, no upper bound of the keys with a prefix is known.
            let mut moved = cursor.seek(from);
            while cursor.place().is_some_and(|at| at.starts_with(prefix)) {
                moved = cursor.next();
            }
            if cursor.place().is_some() {
                return cursor.prev();
            }
            return moved.and_then(|()| cursor.seek_to_last());
        }
        match &self.to {
            Bound::Unbounded => cursor.seek_to_last(),
            Bound::Included(key) => cursor.seek_for_prev(key),
            Bound::Excluded(key) => {
                let moved = cursor.seek_for_prev(key);
                if self.is_at(cursor, key) {
                    return cursor.prev();
                }
                moved
            }
        }
    }

    fn is_at(&self, cursor: &impl Walk, key: &[u8]) -> bool {
        let at = cursor.place();
        at.is_some_and(|at| self.order.compare(at, key).is_eq())
    }

    /// Returns whether `key` comes before the lower bound.
    pub(crate) fn starts_after(&self, key: &[u8]) -> bool {
        match &self.from {
            Bound::Unbounded => false,
            Bound::Included(from) => self.order.compare(key, from).is_lt(),
            Bound::Excluded(from) => self.order.compare(key, from).is_le(),
        }
    }

    /// Returns whether `key` comes after the upper bound.
    #[inline]
    pub(crate) fn ends_before(&self, key: &[u8]) -> bool {
        match &self.to {
            Bound::Unbounded => false,
            Bound::Included(to) => self.order.compare(key, to).is_gt(),
            Bound::Excluded(to) => self.order.compare(key, to).is_ge(),
        }
    }

    /// Returns whether `key` lies inside.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        !self.starts_after(key) && self.contains_from_start(key)
    }

    /// Returns whether `key`, which does not come before the lower bound, lies inside.
    #[inline]
    pub(crate) fn contains_from_start(&self, key: &[u8]) -> bool {
        let mut prefix = self.prefix.iter();
        prefix.all(|prefix| key.starts_with(prefix)) && !self.ends_before(key)
    }

    /// Returns the prefix, if the bounds do not ensure it.
    pub(crate) fn prefix(&self) -> Option<&[u8]> {
        self.prefix.as_deref()
    }
}

/// Returns the smallest byte string greater than all that start with `prefix`, or `None` if there
/// is none.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=end].to_vec();
    next[end] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn prefixes_end_before_their_successor() {
        assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xff\xff"), None);
        assert_eq!(successor(b""), None);
    }
}
