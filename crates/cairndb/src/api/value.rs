//! A value handed to the caller.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use cairndb_env::Mapping;

/// Values up to this length live inside the handle, without an allocation.
const INLINE_BYTES_MAX: usize = 119;

enum Repr {
    Inline {
        len: u8,
        bytes: [u8; INLINE_BYTES_MAX],
    },
    Heap(Vec<u8>),
    /// A part of a mapped value file.
    Lent(Mapping),
}

/// A value, or a key that an iterator gives: derefs to its bytes, and stays valid when the key is overwritten, its file removed
/// or the database closed. Compared, ordered and hashed by its bytes, so that a map of them is asked with a slice.
///
/// Short ones (up to 119 bytes) are inside of it. One of 64 KiB or more that is stored as it is, in a value file that is
/// mapped, is not copied: its bytes are the file's. As long as such a value lives it keeps the space of the whole file
/// ([`Options::value_file_bytes`](crate::Options::value_file_bytes)) should that be removed, and counts as `mapped_values` in
/// the property `cairndb.memory`. Should the disk fail while the bytes are read, or somebody shorten the file after the database was
/// closed, the process is ended, as with any mapped file; should somebody overwrite the file, the bytes change
/// ([`Options::mapped`](crate::Options::mapped)). [`Value::into_vec`] makes a copy: do so with what is kept for long.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let temp = tempfile::tempdir().unwrap();
/// # let dir = temp.path().join("db");
/// # let db = cairndb::Options::new().create_if_missing(true).open(&dir)?;
/// db.put(b"k", b"v")?;
/// let value = db.get(b"k")?.expect("it was just put");
/// assert_eq!(&*value, b"v");
/// let entries: std::collections::BTreeMap<_, _> = db.iter().collect::<cairndb::Result<_>>()?;
/// assert_eq!(entries.get(&b"k"[..]), Some(&value));
/// # Ok(()) }
/// ```
pub struct Value(Repr);

impl Value {
    /// The value `fill` puts into an empty buffer, kept inline when it is short. One buffer a
    /// thread is reused, so a short value costs a copy and no allocation.
    pub(crate) fn from_scratch(scratch: &mut Vec<u8>) -> Value {
        Value::inline(scratch).unwrap_or_else(|| Value(Repr::Heap(std::mem::take(scratch))))
    }

    fn inline(value: &[u8]) -> Option<Value> {
        let len = u8::try_from(value.len()).ok()?;
        let mut bytes = [0; INLINE_BYTES_MAX];
        bytes.get_mut(..value.len())?.copy_from_slice(value);
        Some(Value(Repr::Inline { len, bytes }))
    }

    /// A value where it lies in its file.
    pub(crate) fn lent(bytes: Mapping) -> Value {
        Value(Repr::Lent(bytes))
    }

    /// The bytes as a vector: a copy of one that is short or lent.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Inline { len, bytes } => bytes[..usize::from(len)].to_vec(),
            Repr::Heap(bytes) => bytes,
            Repr::Lent(bytes) => bytes.to_vec(),
        }
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::inline(bytes).unwrap_or_else(|| Value(Repr::Heap(bytes.to_vec())))
    }
}

impl Deref for Value {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Heap(bytes) => bytes,
            Repr::Lent(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value(\"{}\")", self.escape_ascii())
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        if let Repr::Lent(bytes) = &self.0 {
            return Value::lent(bytes.clone());
        }
        Value::from(&**self)
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Borrow<[u8]> for Value {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<Value> for Vec<u8> {
    fn from(value: Value) -> Vec<u8> {
        value.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    use std::collections::{BTreeSet, HashSet};

    use super::Value;

    #[test]
    fn a_value_is_found_by_its_bytes_wherever_they_are_kept() {
        let (short, long) = (&b"short"[..], &[7; 1000][..]);
        let all = || [short, long].map(Value::from);
        let (hashed, ordered) = (HashSet::from(all()), BTreeSet::from(all()));
        for bytes in [short, long] {
            assert!(hashed.contains(bytes) && ordered.contains(bytes));
        }
        assert!(!hashed.contains(&b"shor"[..]));
        let first = ordered.first().map(|value| &**value);
        assert_eq!(first, Some(long));
        assert_eq!(Vec::from(Value::from(short)), short);
    }

    #[test]
    fn a_value_goes_anywhere() {
        fn goes<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
        goes::<Value>();
    }
}
