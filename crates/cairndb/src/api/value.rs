//! A value, or an iterator's key, handed to the caller.
//!
//! Invariant: it compares, orders and hashes as its bytes do, wherever they lie: maps are asked with bytes.

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

/// A value, or a key of an [`Iter`](crate::Iter): derefs to its bytes, and stays valid when the key is overwritten, its file
/// removed or the database closed. Compared, ordered and hashed as its bytes are, it can be a map's key.
///
/// Short ones (up to 119 bytes) are inside of it. One of 64 KiB or more that is stored as it is, in a value file that is
/// mapped, is lent: it is not copied, its bytes are the file's.
///
/// While a lent value lives, the whole file keeps its space, even if the database has removed it
/// ([`Options::value_file_bytes`](crate::Options::value_file_bytes)); the property `cairndb.memory` counts it in `mapped_values`. As
/// with any mapped file, the process ends when reading the bytes meets an I/O error, or when somebody has shortened the file
/// after the database was closed, and the bytes change when somebody overwrites it ([`Options::mapped`](crate::Options::mapped)).
/// [`Value::into_vec`] makes a copy: use it for what is kept for long.
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

impl From<Value> for Vec<u8> {
    /// As [`Value::into_vec`].
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
            Repr::Lent(bytes) => bytes,
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
    /// Bytewise, whatever the order of the database is.
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
    fn a_value_goes_anywhere() {
        fn goes<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
        goes::<Value>();
    }

    /// What `Borrow` demands: a map is asked with bytes for what it has as values.
    #[test]
    fn hashes_and_orders_as_its_bytes_do() {
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
    fn maps_have_values_as_keys_and_are_asked_with_bytes() {
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
