//! Iterators: owned entries, from both ends, over a range.

use std::ops::Bound;

use cairndb_base::{Order, Result};

use crate::api::cursor::Cursor;
use crate::api::range::KeyRange;
use crate::api::value::Value;

/// One end of an iterator: its cursor once it was asked for.
#[derive(Debug)]
enum End {
    Untouched,
    Placed,
}

/// Entries of a range, `(key, value)`, in order; `rev` and `next_back` come from the other end.
/// Owned and storable: it borrows nothing.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = cairndb::doc_dir();
/// # let db = cairndb::Db::open(&dir)?;
/// # for k in [b"a", b"b", b"c"] { db.put(k, k)?; }
/// let mut keys = Vec::new();
/// for entry in db.range(b"a"..b"c") {
///     let (key, _value) = entry?;
///     keys.push(key.into_vec());
/// }
/// assert_eq!(keys, [b"a", b"b"]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Iter {
    front: Cursor,
    front_at: End,
    back: Option<Cursor>,
    back_at: End,
    order: Order,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// What keys must begin with, where the order leaves that to be looked at.
    prefix: Option<Vec<u8>>,
    done: bool,
}

/// What an iterator yields.
type Entry = (Value, Value);

impl Iter {
    pub(crate) fn over_range(cursor: Cursor, order: &Order, range: &impl KeyRange) -> Iter {
        let (from, to) = range.key_bounds();
        Iter::new(
            cursor,
            order,
            from.map(<[u8]>::to_vec),
            to.map(<[u8]>::to_vec),
        )
    }

    pub(crate) fn over_prefix(cursor: Cursor, order: &Order, prefix: &[u8]) -> Iter {
        let from = Bound::Included(prefix.to_vec());
        if order.is_bytewise() {
            let to = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
            return Iter::new(cursor, order, from, to);
        }
        Iter {
            prefix: Some(prefix.to_vec()),
            ..Iter::new(cursor, order, from, Bound::Unbounded)
        }
    }

    fn new(cursor: Cursor, order: &Order, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Iter {
        Iter {
            back: None,
            front: cursor,
            front_at: End::Untouched,
            back_at: End::Untouched,
            order: order.clone(),
            from,
            to,
            prefix: None,
            done: false,
        }
    }

    fn place_front(&mut self) -> Result<()> {
        match &self.from {
            Bound::Unbounded => self.front.seek_to_first(),
            Bound::Included(key) => self.front.seek(key),
            Bound::Excluded(key) => {
                self.front.seek(key)?;
                if self.front.valid() && self.order.compare(self.front.key(), key).is_eq() {
                    self.front.next()?;
                }
                Ok(())
            }
        }
    }

    fn place_back(&mut self) -> Result<()> {
        let mut cursor = self.front.fork();
        if let (Some(prefix), Bound::Included(from)) = (&self.prefix, &self.from) {
            // Where the keys with a prefix end is not known to another order than bytewise.
            cursor.seek(from)?;
            while cursor.valid() && cursor.key().starts_with(prefix) {
                cursor.next()?;
            }
            if cursor.valid() {
                cursor.prev()?;
            } else {
                cursor.seek_to_last()?;
            }
            self.back = Some(cursor);
            return Ok(());
        }
        match &self.to {
            Bound::Unbounded => cursor.seek_to_last()?,
            Bound::Included(key) => cursor.seek_for_prev(key)?,
            Bound::Excluded(key) => {
                cursor.seek_for_prev(key)?;
                if cursor.valid() && self.order.compare(cursor.key(), key).is_eq() {
                    cursor.prev()?;
                }
            }
        }
        self.back = Some(cursor);
        Ok(())
    }

    fn inside(&self, key: &[u8]) -> bool {
        let from = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(from) => self.order.compare(key, from).is_ge(),
            Bound::Excluded(from) => self.order.compare(key, from).is_gt(),
        };
        let to = match &self.to {
            Bound::Unbounded => true,
            Bound::Included(to) => self.order.compare(key, to).is_le(),
            Bound::Excluded(to) => self.order.compare(key, to).is_lt(),
        };
        let prefix = self
            .prefix
            .as_ref()
            .is_none_or(|prefix| key.starts_with(prefix));
        from && to && prefix
    }

    fn step_front(&mut self) -> Result<Option<Entry>> {
        match self.front_at {
            End::Untouched => {
                self.front_at = End::Placed;
                self.place_front()?;
            }
            End::Placed => self.front.next()?,
        }
        if !self.front.valid() || !self.inside(self.front.key()) {
            return Ok(None);
        }
        if let (End::Placed, Some(back)) = (&self.back_at, &self.back)
            && (!back.valid() || self.order.compare(self.front.key(), back.key()).is_ge())
        {
            return Ok(None);
        }
        Ok(Some((
            Value::from(self.front.key()),
            Value::from(self.front.value()),
        )))
    }

    fn step_back(&mut self) -> Result<Option<Entry>> {
        match self.back_at {
            End::Untouched => {
                self.back_at = End::Placed;
                self.place_back()?;
            }
            End::Placed => {
                if let Some(back) = &mut self.back {
                    back.prev()?;
                }
            }
        }
        let Some(back) = &self.back else {
            return Ok(None);
        };
        if !back.valid() || !self.inside(back.key()) {
            return Ok(None);
        }
        if matches!(self.front_at, End::Placed)
            && (!self.front.valid() || self.order.compare(back.key(), self.front.key()).is_le())
        {
            return Ok(None);
        }
        Ok(Some((Value::from(back.key()), Value::from(back.value()))))
    }

    fn yielded(&mut self, result: Result<Option<Entry>>) -> Option<Result<Entry>> {
        match result {
            Ok(Some(entry)) => Some(Ok(entry)),
            Ok(None) => {
                self.done = true;
                None
            }
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }
}

impl Iterator for Iter {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.step_front();
        self.yielded(result)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let result = self.step_back();
        self.yielded(result)
    }
}

/// The first byte string behind every one that begins with `prefix`; `None` when there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
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
