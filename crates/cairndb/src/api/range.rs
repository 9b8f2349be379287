//! Ranges of keys, as Rust writes them.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys: `a..b`, `a..=b`, `a..`, `..b`, `..=b`, `..`, or a pair of bounds, over anything
/// that is bytes.
///
/// A trait of our own, because `std::ops::RangeBounds` leaves the key's type open for `a..b` over
/// references and for `..`, and every call would have to spell it out.
///
/// Both ends are of one type, and literals of different lengths are not: of `b"a"..b"bc"` the first has to be written as
/// `b"a".as_slice()`. A range that ends before it begins holds no key.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// # for k in [b"a", b"b", b"c"] { db.put(k, k)?; }
/// assert_eq!(db.range(b"a"..b"c").try_count()?, 2);
/// assert_eq!(db.range(b"a".as_slice()..b"bc").try_count()?, 2);
/// assert_eq!(db.range(..="b").try_count()?, 2);
/// assert_eq!(db.range(b"c"..b"a").try_count()?, 0);
/// db.compact_range(..)?;
/// # Ok(()) }
/// ```
pub trait KeyRange {
    /// Lower and upper bound.
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>);
}

impl KeyRange for RangeFull {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for Range<K> {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            Bound::Included(self.start.as_ref()),
            Bound::Excluded(self.end.as_ref()),
        )
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeInclusive<K> {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            Bound::Included(self.start().as_ref()),
            Bound::Included(self.end().as_ref()),
        )
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeFrom<K> {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Included(self.start.as_ref()), Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeTo<K> {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Excluded(self.end.as_ref()))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeToInclusive<K> {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Included(self.end.as_ref()))
    }
}

impl<K: AsRef<[u8]>> KeyRange for (Bound<K>, Bound<K>) {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        fn bytes<K: AsRef<[u8]>>(bound: &Bound<K>) -> Bound<&[u8]> {
            bound.as_ref().map(AsRef::as_ref)
        }
        (bytes(&self.0), bytes(&self.1))
    }
}
