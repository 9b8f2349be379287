//! The description of a scan: which keys, in which direction, how many.

use std::ops::Bound;

use cairndb::KeyRange;

/// Which entries a scan yields: a range of keys, a direction, and a largest number.
///
/// Keys are in bytewise order. A range whose end comes before its start holds no key.
///
/// ```
/// use cairndb_store::{MemoryStore, Read, Scan, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// for key in [b"stone/1", b"stone/2", b"stone/3", b"water/1"] {
///     store.put(key, b"")?;
/// }
/// let mut newest = store.scan(&Scan::prefix(b"stone/").reverse().limit(2))?;
/// assert_eq!(newest.next().unwrap()?.0, b"stone/3");
/// assert_eq!(newest.next().unwrap()?.0, b"stone/2");
/// assert!(newest.next().is_none());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    reverse: bool,
    limit: u64,
}

/// The order in which a scan yields its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key to the largest.
    Ascending,
    /// From the largest key to the smallest.
    Descending,
}

impl Scan {
    /// Selects all keys, in ascending order, without a limit.
    #[must_use]
    pub fn all() -> Scan {
        Scan::between(Bound::Unbounded, Bound::Unbounded)
    }

    /// Selects the keys in `range`: `a..b`, `a..=b`, `a..`, `..b`, or a pair of bounds.
    ///
    /// ```
    /// use cairndb_store::Scan;
    /// let scan = Scan::range(b"a"..b"m").limit(10);
    /// assert_eq!(scan.window(), (b"a".to_vec(), Some(b"m".to_vec())));
    /// ```
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "ranges are passed by value")]
    pub fn range(range: impl KeyRange) -> Scan {
        let (lower, upper) = range.key_bounds();
        Scan::between(lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec))
    }

    /// Selects the keys that start with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Scan {
        let upper = match prefix_end(prefix) {
            Some(end) => Bound::Excluded(end),
            None => Bound::Unbounded,
        };
        Scan::between(Bound::Included(prefix.to_vec()), upper)
    }

    fn between(lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Scan {
        Scan {
            lower,
            upper,
            reverse: false,
            limit: u64::MAX,
        }
    }

    /// Yields the entries from the largest key to the smallest.
    #[must_use]
    pub const fn reverse(mut self) -> Scan {
        self.reverse = true;
        self
    }

    /// Yields at most `limit` entries. The default is no limit. A networked engine is asked for no
    /// more than that.
    #[must_use]
    pub const fn limit(mut self, limit: u64) -> Scan {
        self.limit = limit;
        self
    }

    /// Returns the lower and upper bounds.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            self.lower.as_ref().map(Vec::as_slice),
            self.upper.as_ref().map(Vec::as_slice),
        )
    }

    /// Returns the direction.
    pub const fn direction(&self) -> Direction {
        if self.reverse {
            Direction::Descending
        } else {
            Direction::Ascending
        }
    }

    /// Returns the largest number of entries; `u64::MAX` means no limit.
    pub const fn get_limit(&self) -> u64 {
        self.limit
    }

    /// Returns the first key of the range and the first key after it, or `None` if the range has
    /// no end, in bytewise order.
    pub fn window(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let start = match &self.lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) => key.clone(),
            Bound::Excluded(key) => successor(key),
        };
        let end = match &self.upper {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(successor(key)),
            Bound::Excluded(key) => Some(key.clone()),
        };
        (start, end)
    }

    /// Returns whether `key` is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        let (lower, upper) = self.bounds();
        let above = match lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
        };
        above
            && match upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => key <= upper,
                Bound::Excluded(upper) => key < upper,
            }
    }

    /// Returns whether no key can be in the range.
    pub fn is_empty(&self) -> bool {
        let (start, end) = self.window();
        self.limit == 0 || end.is_some_and(|end| start >= end)
    }
}

/// Returns the smallest key larger than `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// Returns the smallest key larger than every key that starts with `prefix`, or `None` if there is
/// none.
///
/// ```
/// use cairndb_store::prefix_end;
/// assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
/// assert_eq!(prefix_end(b"a\xff\xff"), Some(b"b".to_vec()));
/// assert_eq!(prefix_end(b"\xff"), None);
/// ```
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::Scan;

    #[test]
    fn every_range_has_its_window() {
        let key = |text: &str| text.as_bytes().to_vec();
        let cases = [
            (Scan::all(), key(""), None),
            (Scan::range("a".."c"), key("a"), Some(key("c"))),
            (Scan::range("a"..="c"), key("a"), Some(key("c\0"))),
            (
                Scan::range((Bound::Excluded("a"), Bound::Unbounded)),
                key("a\0"),
                None,
            ),
            (Scan::prefix(b""), key(""), None),
            (Scan::prefix(b"ab"), key("ab"), Some(key("ac"))),
            (Scan::prefix(b"\xff\xff"), vec![255, 255], None),
        ];
        for (scan, start, end) in cases {
            assert_eq!(scan.window(), (start, end), "{scan:?}");
        }
    }

    #[test]
    fn a_reversed_range_is_empty() {
        assert!(Scan::range("c".."a").is_empty());
        assert!(Scan::range("a".."a").is_empty());
        assert!(!Scan::range("a"..="a").is_empty());
        assert!(Scan::all().limit(0).is_empty());
        assert!(!Scan::all().is_empty());
    }

    #[test]
    fn membership_follows_the_bounds() {
        let scan = Scan::range((Bound::Excluded("b"), Bound::Included("d")));
        let found: Vec<&str> = ["a", "b", "c", "d", "d\0", "e"]
            .into_iter()
            .filter(|key| scan.contains(key.as_bytes()))
            .collect();
        assert_eq!(found, ["c", "d"]);
    }
}
