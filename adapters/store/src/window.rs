//! The part of a scan that has not been read yet, and the writes that a transaction lays over it.
//!
//! Stores that read a scan in pages share this: a page covers the window up to its last key, or all
//! of it.

use std::collections::BTreeMap;
use std::ops::Bound;

use cairndb::Value;

use crate::entries::Entry;
use crate::scan::{Direction, Scan, successor};

/// Keys from `start` up to, but without, `end`, and the end at which a scan begins.
///
/// ```
/// use cairndb_store::{Scan, Window};
/// let mut rest = Window::of(&Scan::range("a".."m"));
/// let read = rest.split_after(Some(b"c"));
/// assert_eq!((read.start, read.end), (b"a".to_vec(), Some(b"c\0".to_vec())));
/// assert_eq!((rest.start, rest.end), (b"c\0".to_vec(), Some(b"m".to_vec())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first key.
    pub start: Vec<u8>,
    /// The first key after the window, or `None` if it has no end.
    pub end: Option<Vec<u8>>,
    /// The direction in which it is read.
    pub direction: Direction,
}

impl Window {
    /// Returns the window that `scan` covers.
    pub fn of(scan: &Scan) -> Window {
        let (start, end) = scan.window();
        Window {
            start,
            end,
            direction: scan.direction(),
        }
    }

    /// Returns a scan of the window, without a limit.
    pub fn to_scan(&self) -> Scan {
        let end = self.end.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let scan = Scan::range((Bound::Included(self.start.clone()), end));
        match self.direction {
            Direction::Ascending => scan,
            Direction::Descending => scan.reverse(),
        }
    }

    /// Returns whether no key can be in the window.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| self.start >= *end)
    }

    /// Removes the part that a page with the last key `last` covers, and returns it. `None` is a
    /// page that covers everything.
    #[must_use]
    pub fn split_after(&mut self, last: Option<&[u8]>) -> Window {
        let mut read = self.clone();
        match (last, self.direction) {
            (None, _) => self.end = Some(self.start.clone()),
            (Some(last), Direction::Ascending) => {
                self.start = successor(last);
                read.end = Some(self.start.clone());
            }
            (Some(last), Direction::Descending) => {
                self.end = Some(last.to_vec());
                read.start = last.to_vec();
            }
        }
        read
    }
}

/// The writes of a transaction that has not committed: the last one of each key.
#[derive(Clone, Debug, Default)]
pub struct OwnWrites {
    writes: BTreeMap<Vec<u8>, Option<Value>>,
    bytes: usize,
}

impl OwnWrites {
    /// Sets `key` to `value`, or removes it if that is `None`.
    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        let added = key.len() + value.map_or(0, <[u8]>::len);
        let replaced = self.writes.insert(key.to_vec(), value.map(Value::from));
        self.bytes += added;
        if let Some(old) = replaced {
            self.bytes -= key.len() + old.map_or(0, |value| value.len());
        }
    }

    /// Returns the own write of `key`, if there is one: its value, or `None` for a delete.
    pub fn get(&self, key: &[u8]) -> Option<&Option<Value>> {
        self.writes.get(key)
    }

    /// Returns the writes in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Returns whether there is no write.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the bytes of all keys and values.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `page`, which holds the stored entries of `window` in its direction, as the
    /// transaction sees it: without the keys that it removed, with those that it set.
    #[must_use]
    pub fn lay_over(&self, page: Vec<Entry>, window: &Window) -> Vec<Entry> {
        if window.is_empty() {
            return page;
        }
        let lower = Bound::Included(window.start.as_slice());
        let upper = match &window.end {
            Some(end) => Bound::Excluded(end.as_slice()),
            None => Bound::Unbounded,
        };
        let mut own = self.writes.range::<[u8], _>((lower, upper)).peekable();
        if own.peek().is_none() {
            return page;
        }
        let mut merged: BTreeMap<Value, Value> = page.into_iter().collect();
        for (key, value) in own {
            match value {
                Some(value) => {
                    merged.insert(Value::from(key.as_slice()), value.clone());
                }
                None => {
                    merged.remove(key.as_slice());
                }
            }
        }
        match window.direction {
            Direction::Ascending => merged.into_iter().collect(),
            Direction::Descending => merged.into_iter().rev().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use cairndb::Value;

    use super::{OwnWrites, Window};
    use crate::scan::Scan;

    fn entry(key: &str, value: &str) -> (Value, Value) {
        (Value::from(key.as_bytes()), Value::from(value.as_bytes()))
    }

    #[test]
    fn own_writes_replace_add_and_remove() {
        let mut own = OwnWrites::default();
        own.set(b"a", Some(b"own"));
        own.set(b"b", None);
        own.set(b"c", Some(b"new"));
        own.set(b"z", Some(b"outside"));
        let page = vec![entry("a", "old"), entry("b", "old")];
        let window = Window::of(&Scan::range("a".."d"));
        let seen = own.lay_over(page, &window);
        assert_eq!(seen, [entry("a", "own"), entry("c", "new")]);
        let page = vec![entry("b", "old"), entry("a", "old")];
        let seen = own.lay_over(page, &Window::of(&Scan::range("a".."d").reverse()));
        assert_eq!(seen, [entry("c", "new"), entry("a", "own")]);
    }

    #[test]
    fn bytes_count_the_last_write_of_each_key() {
        let mut own = OwnWrites::default();
        own.set(b"key", Some(b"12345"));
        own.set(b"key", None);
        own.set(b"other", Some(b"1"));
        assert_eq!((own.len(), own.bytes()), (2, 3 + 5 + 1));
    }

    #[test]
    fn a_descending_page_covers_the_end_of_the_window() {
        let mut rest = Window::of(&Scan::range("a".."m").reverse());
        let read = rest.split_after(Some(b"k"));
        assert_eq!(
            (&*read.start, read.end.as_deref()),
            (&b"k"[..], Some(&b"m"[..]))
        );
        assert_eq!(
            (&*rest.start, rest.end.as_deref()),
            (&b"a"[..], Some(&b"k"[..]))
        );
        let read = rest.split_after(None);
        assert_eq!(&*read.start, b"a");
        assert!(rest.is_empty());
    }
}
