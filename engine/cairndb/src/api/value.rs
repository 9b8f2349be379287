//! An owned value, or an iterator's key, as returned to the caller.
//!
//! Invariant: a value compares, orders and hashes as its bytes do, wherever they are stored,
//! because maps with values as keys are searched by bytes.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use cairndb_env::Mapping;

/// Maximum length of a value stored in the handle itself, without an allocation.
const INLINE_BYTES_MAX: usize = 119;

enum Repr {
    Inline {
        len: u8,
        bytes: [u8; INLINE_BYTES_MAX],
    },
    Heap(Vec<u8>),
    /// Part of a mapped value file.
    Borrowed(Mapping),
}

/// A value, or a key of an [`Iter`](crate::Iter). Dereferences to its bytes.
///
/// A `Value` stays valid when its key is overwritten, its file is removed, or the database is
/// closed. It compares, orders and hashes as its bytes do, so it can be the key of a map that is
/// searched by `&[u8]`.
///
/// The bytes are stored as follows:
///
/// - Up to 119 bytes: in the `Value` itself, without an allocation.
/// - 64 KiB or more, stored uncompressed in a mapped value file: borrowed from the mapping, without
///   a copy. Cloning such a value copies nothing either.
/// - Everything else: on the heap.
///
/// **Borrowed values.** As long as a borrowed value lives, its whole file (of
/// [`Options::value_file_bytes`](crate::Options::value_file_bytes)) occupies disk space, even if
/// the database has removed the file. The property `cairndb.memory` counts such mappings in
/// `mapped_values`. The usual caveats of a mapped file apply: an I/O error while the bytes are read
/// kills the process, and so does truncation of the file by another process after the database was
/// closed; if another process overwrites the file, the bytes change (see
/// [`Options::mapped`](crate::Options::mapped)). If you keep values for long, copy them with
/// [`Value::into_vec`].
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Options::new().create_if_missing(true).open(&dir)?;
/// db.put(b"k", b"v")?;
/// let value = db.get(b"k")?.expect("it was just put");
/// assert_eq!(&*value, b"v");
///
/// use std::collections::HashMap;
/// let entries: HashMap<cairndb::Value, cairndb::Value> = db.iter().collect::<Result<_, _>>()?;
/// assert_eq!(entries[&b"k"[..]], b"v");
/// # Ok(()) }
/// ```
pub struct Value(Repr);

impl Value {
    /// Makes a value from the contents of `scratch`. A short value is copied into the handle
    /// without an allocation, and the buffer is kept for the next read; a longer one takes the
    /// buffer.
    pub(crate) fn from_scratch(scratch: &mut Vec<u8>) -> Value {
        Value::inline(scratch).unwrap_or_else(|| Value(Repr::Heap(std::mem::take(scratch))))
    }

    fn inline(value: &[u8]) -> Option<Value> {
        let len = u8::try_from(value.len()).ok()?;
        let mut bytes = [0; INLINE_BYTES_MAX];
        bytes.get_mut(..value.len())?.copy_from_slice(value);
        Some(Value(Repr::Inline { len, bytes }))
    }

    /// Returns a value borrowed from its mapped file.
    pub(crate) fn borrowed(bytes: Mapping) -> Value {
        Value(Repr::Borrowed(bytes))
    }

    /// Returns the bytes as a vector. Values of up to 119 bytes and borrowed values are copied;
    /// others are moved.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Inline { len, bytes } => bytes[..usize::from(len)].to_vec(),
            Repr::Heap(bytes) => bytes,
            Repr::Borrowed(bytes) => bytes.to_vec(),
        }
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::inline(bytes).unwrap_or_else(|| Value(Repr::Heap(bytes.to_vec())))
    }
}

impl From<Vec<u8>> for Value {
    /// Takes the vector if it is longer than 119 bytes.
    fn from(bytes: Vec<u8>) -> Value {
        Value::inline(&bytes).unwrap_or(Value(Repr::Heap(bytes)))
    }
}

impl From<Value> for Vec<u8> {
    /// Same as [`Value::into_vec`].
    fn from(value: Value) -> Vec<u8> {
        value.into_vec()
    }
}

impl Deref for Value {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Heap(bytes) => bytes,
            Repr::Borrowed(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Value {
    fn borrow(&self) -> &[u8] {
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
        if let Repr::Borrowed(bytes) = &self.0 {
            return Value::borrowed(bytes.clone());
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
    /// Compares bytewise, even if the database has a different comparator.
    fn cmp(&self, other: &Value) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Borrow;
    use std::collections::{BTreeMap, HashMap};
    use std::hash::{BuildHasher, RandomState};
    use std::panic::{RefUnwindSafe, UnwindSafe};

    use super::{INLINE_BYTES_MAX, Value};

    #[test]
    fn a_value_may_be_sent_anywhere() {
        fn goes<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
        goes::<Value>();
    }

    /// Checks the contract of `Borrow`: a map with values as keys is searched by bytes.
    #[test]
    fn a_value_hashes_and_orders_like_its_bytes() {
        let texts = [
            &b""[..],
            b"a",
            b"ab",
            b"b",
            &[7; INLINE_BYTES_MAX],
            &[7; 300],
        ];
        let hasher = RandomState::new();
        for one in texts {
            let value = Value::from(one);
            assert_eq!(hasher.hash_one(&value), hasher.hash_one(one));
            assert_eq!(Borrow::<[u8]>::borrow(&value), one);
            for other in texts {
                let other_value = Value::from(other);
                assert_eq!(value.cmp(&other_value), one.cmp(other));
                assert_eq!(value == other_value, one == other);
            }
        }
    }

    #[test]
    fn maps_with_values_as_keys_are_searched_by_bytes() {
        let stones = [(&b"slate"[..], 1), (&[9; 1000], 2)];
        let entries = || stones.map(|(stone, n)| (Value::from(stone), n));
        let (tree, table) = (BTreeMap::from(entries()), HashMap::from(entries()));
        for (stone, n) in stones {
            assert_eq!((tree.get(stone), table.get(stone)), (Some(&n), Some(&n)));
        }
        let vectors: Vec<Vec<u8>> = tree.into_keys().map(Vec::from).collect();
        assert_eq!(vectors, [vec![9; 1000], b"slate".to_vec()]);
    }
}
