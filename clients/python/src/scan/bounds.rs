//! The bounds of an iterator: from where to where, in which direction, how many.

use std::cmp::Ordering;

use cairndb::leveldb::Order;
use cairndb::{Cursor, Result};

/// Which entries an iterator returns: those from `start`, included, to `stop`, excluded, whose keys
/// have `prefix`.
#[derive(Debug)]
pub(crate) struct Bounds {
    order: Order,
    pub(super) start: Option<Vec<u8>>,
    pub(super) stop: Option<Vec<u8>>,
    /// The prefix, if the order is a custom one, in which no `stop` is known for it.
    pub(super) prefix: Option<Vec<u8>>,
    pub(super) reverse: bool,
    /// How many entries are left; `None` for no limit.
    pub(super) left: Option<u64>,
}

impl Bounds {
    pub(crate) fn new(
        order: &Order,
        start: Option<Vec<u8>>,
        stop: Option<Vec<u8>>,
        prefix: Option<&[u8]>,
        reverse: bool,
        left: Option<u64>,
    ) -> Bounds {
        let mut bounds = Bounds {
            order: order.clone(),
            start,
            stop,
            prefix: None,
            reverse,
            left,
        };
        if let Some(prefix) = prefix {
            bounds.narrow(prefix);
        }
        bounds
    }

    /// Excludes the keys without `prefix`.
    fn narrow(&mut self, prefix: &[u8]) {
        let later = |start: &Vec<u8>| self.order.compare(start, prefix).is_lt();
        if self.start.as_ref().is_none_or(later) {
            self.start = Some(prefix.to_vec());
        }
        if !self.order.is_bytewise() {
            self.prefix = Some(prefix.to_vec());
            return;
        }
        if let Some(end) = successor(prefix)
            && self.stop.as_ref().is_none_or(|stop| *stop > end)
        {
            self.stop = Some(end);
        }
    }

    /// Counts one entry. Returns whether there is one left.
    #[inline]
    pub(crate) fn take_one(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// Moves to the first entry.
    pub(crate) fn place(&self, cursor: &mut Cursor) -> Result<()> {
        if !self.reverse {
            return match &self.start {
                Some(start) => cursor.seek(start),
                None => cursor.seek_to_first(),
            };
        }
        if let (Some(prefix), Some(start)) = (&self.prefix, &self.start) {
            // In a custom order, only a walk finds the last key with a prefix.
            cursor.seek(start)?;
            while cursor.valid()
                && cursor.key().starts_with(prefix)
                && self.is_before_stop(cursor.key())
            {
                cursor.next()?;
            }
            return if cursor.valid() {
                cursor.prev()
            } else {
                cursor.seek_to_last()
            };
        }
        let Some(stop) = &self.stop else {
            return cursor.seek_to_last();
        };
        cursor.seek_for_prev(stop)?;
        if cursor.valid() && self.order.compare(cursor.key(), stop).is_eq() {
            return cursor.prev();
        }
        Ok(())
    }

    /// Moves to the next entry.
    #[inline]
    pub(crate) fn step(&self, cursor: &mut Cursor) -> Result<()> {
        if self.reverse {
            cursor.prev()
        } else {
            cursor.next()
        }
    }

    /// Returns whether the entry at which the cursor is after a step belongs to the range. The end
    /// at which the iterator began is not checked again, except after the first step.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let prefixed = self
            .prefix
            .as_ref()
            .is_none_or(|prefix| key.starts_with(prefix));
        let inside = if self.reverse {
            let start = self.start.as_ref();
            start.is_none_or(|start| self.order.compare(key, start) != Ordering::Less)
        } else {
            self.is_before_stop(key)
        };
        prefixed && inside
    }

    #[inline]
    fn is_before_stop(&self, key: &[u8]) -> bool {
        let stop = self.stop.as_ref();
        stop.is_none_or(|stop| self.order.compare(key, stop).is_lt())
    }
}

/// Returns the smallest byte string after all that start with `prefix`, or `None`.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix.get(..=end)?.to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    Some(next)
}
