//! A value handed to the caller.

use std::fmt;
use std::ops::Deref;

/// Values up to this length live inside the handle, without an allocation.
const INLINE_BYTES_MAX: usize = 119;

enum Repr {
    Inline {
        len: u8,
        bytes: [u8; INLINE_BYTES_MAX],
    },
    Heap(Vec<u8>),
}

/// A value, owned: derefs to its bytes and stays valid whatever happens to the database.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = cairndb::doc_dir();
/// # let db = cairndb::Options::new().create_if_missing(true).open(&dir)?;
/// db.put(b"k", b"v")?;
/// let value = db.get(b"k")?.expect("it was just put");
/// assert_eq!(&*value, b"v");
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

    /// The bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Inline { len, bytes } => bytes[..usize::from(len)].to_vec(),
            Repr::Heap(bytes) => bytes,
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
        Value::from(&**self)
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Value {}
