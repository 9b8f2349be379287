//! Ranges of keys, and the walk of a cursor over one.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::ops::Bound;

use cairndb::leveldb::Order;

use crate::arguments::RangeArguments;
use crate::coding::Coding;
use crate::failure::Failure;

/// The keys from `from`, inclusive, to `to`, exclusive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    /// Whether the range was given as a prefix, which is a range in bytewise order only.
    is_prefix: bool,
}

impl Range {
    /// Reads the range of a command line.
    pub(crate) fn read(arguments: &RangeArguments, coding: Coding) -> Result<Range, Failure> {
        if let Some(prefix) = &arguments.prefix {
            let prefix = coding.decode("prefix", prefix)?;
            return Ok(Range {
                to: after_prefix(&prefix),
                from: Some(prefix),
                is_prefix: true,
            });
        }
        let decode = |name, key: &Option<OsString>| match key {
            Some(key) => coding.decode(name, key).map(Some),
            None => Ok(None),
        };
        Ok(Range {
            from: decode("key of --from", &arguments.from)?,
            to: decode("key of --to", &arguments.to)?,
            is_prefix: false,
        })
    }

    /// Returns the bounds, for a call of the database.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            self.from
                .as_deref()
                .map_or(Bound::Unbounded, Bound::Included),
            self.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
        )
    }

    /// Returns the bounds of the part after `key`.
    pub(crate) fn bounds_after<'a>(&'a self, key: &'a [u8]) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        (Bound::Excluded(key), self.bounds().1)
    }

    /// Returns the part of the range from `key`.
    pub(crate) fn beginning_at(self, key: &[u8]) -> Range {
        Range {
            from: Some(key.to_vec()),
            ..self
        }
    }

    /// Refuses a prefix under an order in which the keys that begin with it may be apart.
    pub(crate) fn check(&self, order: &Order) -> Result<(), Failure> {
        if self.is_prefix && !order.is_bytewise() {
            let name = order.name().escape_debug();
            return Err(Failure::Usage(format!(
                "--prefix needs bytewise order, but the comparator of the database is \"{name}\"; \
                 use --from and --to"
            )));
        }
        Ok(())
    }
}

/// Returns the first key after all keys that begin with `prefix`; `None` if there is none.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let len = prefix.iter().rposition(|byte| *byte < 0xff)? + 1;
    let mut next = prefix.get(..len)?.to_vec();
    *next.last_mut()? += 1;
    Some(next)
}

/// A cursor of either store.
pub(crate) trait Cursor {
    fn valid(&self) -> bool;
    fn key(&self) -> &[u8];
    fn value(&self) -> &[u8];
    fn seek(&mut self, key: &[u8]) -> cairndb::Result<()>;
    fn seek_to_first(&mut self) -> cairndb::Result<()>;
    fn seek_to_last(&mut self) -> cairndb::Result<()>;
    fn next(&mut self) -> cairndb::Result<()>;
    fn prev(&mut self) -> cairndb::Result<()>;
}

macro_rules! forward {
    ($cursor:ty) => {
        impl Cursor for $cursor {
            fn valid(&self) -> bool {
                self.valid()
            }
            fn key(&self) -> &[u8] {
                self.key()
            }
            fn value(&self) -> &[u8] {
                self.value()
            }
            fn seek(&mut self, key: &[u8]) -> cairndb::Result<()> {
                self.seek(key)
            }
            fn seek_to_first(&mut self) -> cairndb::Result<()> {
                self.seek_to_first()
            }
            fn seek_to_last(&mut self) -> cairndb::Result<()> {
                self.seek_to_last()
            }
            fn next(&mut self) -> cairndb::Result<()> {
                self.next()
            }
            fn prev(&mut self) -> cairndb::Result<()> {
                self.prev()
            }
        }
    };
}

forward!(cairndb::Cursor);
forward!(cairndb_leveldb::Cursor);

/// The direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// A cursor on its way over a range.
#[derive(Debug)]
pub(crate) struct Walk<'r, C> {
    cursor: C,
    range: &'r Range,
    order: Order,
    direction: Direction,
}

impl<'r, C: Cursor> Walk<'r, C> {
    /// Positions the cursor on the first entry in the direction.
    pub(crate) fn begin(
        cursor: C,
        order: Order,
        range: &'r Range,
        direction: Direction,
    ) -> cairndb::Result<Walk<'r, C>> {
        let mut walk = Walk {
            cursor,
            range,
            order,
            direction,
        };
        let cursor = &mut walk.cursor;
        match (direction, &range.from, &range.to) {
            (Direction::Forward, Some(from), _) => cursor.seek(from)?,
            (Direction::Forward, None, _) => cursor.seek_to_first()?,
            (Direction::Backward, _, None) => cursor.seek_to_last()?,
            (Direction::Backward, _, Some(to)) => {
                cursor.seek(to)?;
                if cursor.valid() {
                    cursor.prev()?;
                } else {
                    cursor.seek_to_last()?;
                }
            }
        }
        Ok(walk)
    }

    /// The current entry; `None` after the last one of the range.
    #[inline]
    pub(crate) fn entry(&self) -> Option<(&[u8], &[u8])> {
        if !self.cursor.valid() {
            return None;
        }
        let key = self.cursor.key();
        let inside = match (self.direction, &self.range.from, &self.range.to) {
            (Direction::Forward, _, Some(to)) => self.order.compare(key, to) == Ordering::Less,
            (Direction::Backward, Some(from), _) => self.order.compare(key, from) != Ordering::Less,
            _ => true,
        };
        inside.then(|| (key, self.cursor.value()))
    }

    /// Moves to the next entry in the direction.
    #[inline]
    pub(crate) fn advance(&mut self) -> cairndb::Result<()> {
        match self.direction {
            Direction::Forward => self.cursor.next(),
            Direction::Backward => self.cursor.prev(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_next_key_without_it() {
        assert_eq!(after_prefix(b"a"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff"), None);
        assert_eq!(after_prefix(b""), None);
    }
}
