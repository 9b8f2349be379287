//! Ranges of keys, written as Rust range expressions.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys: `a..b`, `a..=b`, `a..`, `..b`, `..=b`, `..`, or a pair of
/// [`Bound`](std::ops::Bound)s. The ends may be of any type that is `AsRef<[u8]>`.
///
/// A range whose end comes before its start, in the order of the database, holds no key.
///
/// Both ends must have the same type. Byte string literals of different lengths have different
/// types, so write the first end of `b"a"..b"bc"` as `b"a".as_slice()`.
///
/// The trait exists because with `std::ops::RangeBounds` the compiler cannot infer the key type for
/// `a..b` over references and for `..`, so every call would have to name it.
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
    /// Returns the lower and upper bounds.
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
