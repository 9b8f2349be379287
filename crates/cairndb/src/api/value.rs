//! A value handed to the caller.

use std::fmt;
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

/// A value: derefs to its bytes, and stays valid when the key is overwritten, its file removed or the database closed.
///
/// Short ones (up to 119 bytes) are inside of it. One of 64 KiB or more that is stored as it is, in a value file that is
/// mapped, is not copied: its bytes are the file's. As long as such a value lives it keeps the space of the whole file
/// ([`Options::value_file_bytes`](crate::Options::value_file_bytes)) should that be removed, and counts as `mapped_values` in
/// the property `cairndb.memory`. An I/O error of the disk that meets who reads the bytes, or somebody who shortens the file
/// after the database was closed, ends the process, as of any mapped file; who overwrites the file changes them
/// ([`Options::mapped`](crate::Options::mapped)). [`Value::into_vec`] makes a copy: do so with what is kept for long.
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

#[cfg(test)]
mod tests {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    use super::Value;

    #[test]
    fn a_value_goes_anywhere() {
        fn goes<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
        goes::<Value>();
    }
}
