//! Batches: writes that take effect together or not at all.

use std::fmt;

use cairndb::{BatchEntry, WriteBatch};

use crate::error::{Error, Result};
use crate::limits::Limits;

/// Bytes that the encoding adds to a write, at most.
const WRITE_OVERHEAD_BYTES: usize = 16;

/// One write of a [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write<'a> {
    /// Sets a key.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// Removes a key.
    Delete {
        /// The key.
        key: &'a [u8],
    },
}

impl<'a> Write<'a> {
    /// Returns the key that is written.
    pub const fn key(self) -> &'a [u8] {
        match self {
            Write::Put { key, .. } | Write::Delete { key } => key,
        }
    }

    /// Returns the value of a put, or `None` for a delete.
    pub const fn value(self) -> Option<&'a [u8]> {
        match self {
            Write::Put { value, .. } => Some(value),
            Write::Delete { .. } => None,
        }
    }
}

/// Writes that take effect together or not at all, in their order: of two writes of one key, the
/// later one counts.
///
/// The bytes are stored in the encoding of [`cairndb::WriteBatch`], so that an embedded database
/// logs them without conversion.
///
/// ```
/// use cairndb_store::{Batch, MemoryStore, Read, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// let mut batch = Batch::new();
/// batch.put(b"slate", b"blue");
/// batch.delete(b"granite");
/// store.write(&batch)?;
/// assert_eq!(store.get(b"slate")?.as_deref(), Some(&b"blue"[..]));
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Batch {
    writes: WriteBatch,
    /// The error of the first write that no store accepts; it is not among `writes`.
    refused: Option<Error>,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("len", &self.len())
            .field("byte_len", &self.byte_len())
            .finish()
    }
}

impl Batch {
    /// Returns an empty batch.
    #[must_use]
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Returns an empty batch with room for `bytes` of encoded writes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Batch {
        Batch {
            writes: WriteBatch::with_capacity(bytes),
            refused: None,
        }
    }

    /// Sets `key` to `value`. What no store accepts (see [`Limits::embedded`]) makes every
    /// [`Store::write`](crate::Store::write) of the batch fail.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        if self.has_room(key, value) {
            self.writes.put(key, value);
        }
    }

    /// Removes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        if self.has_room(key, b"") {
            self.writes.delete(key);
        }
    }

    fn has_room(&mut self, key: &[u8], value: &[u8]) -> bool {
        let limits = Limits::embedded();
        let bytes = self.writes.byte_len() + key.len() + value.len() + WRITE_OVERHEAD_BYTES;
        let fits = limits
            .check_entry(key, value)
            .and_then(|()| limits.check_size(0, bytes));
        match fits {
            Ok(()) => true,
            Err(error) => {
                self.refused.get_or_insert(error);
                false
            }
        }
    }

    /// Removes all writes and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.writes.clear();
        self.refused = None;
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Returns whether the batch holds no write.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the size of the encoded writes in bytes.
    pub fn byte_len(&self) -> usize {
        self.writes.byte_len()
    }

    /// Iterates over the writes in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Write<'_>> {
        self.writes.iter().filter_map(|entry| match entry {
            BatchEntry::Put { key, value } => Some(Write::Put { key, value }),
            BatchEntry::Delete { key } => Some(Write::Delete { key }),
            // A batch of this type holds puts and deletes only.
            _ => None,
        })
    }

    /// Checks that the batch holds every write that was added.
    ///
    /// # Errors
    /// `LimitExceeded` if a key, a value or the batch is longer than an embedded database permits.
    pub fn check(&self) -> Result<()> {
        match &self.refused {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    pub(crate) fn encoded(&self) -> &WriteBatch {
        &self.writes
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, Write};

    #[test]
    fn writes_keep_their_order_and_can_be_cleared() {
        let mut batch = Batch::with_capacity(100);
        batch.put(b"a", b"1");
        batch.delete(b"a");
        batch.put(b"", b"");
        let writes: Vec<Write<'_>> = batch.iter().collect();
        let put = |key, value| Write::Put { key, value };
        assert_eq!(
            writes,
            [put(b"a", b"1"), Write::Delete { key: b"a" }, put(b"", b"")]
        );
        assert_eq!(writes[0].value(), Some(&b"1"[..]));
        assert_eq!(writes[1].key(), b"a");
        batch.clear();
        assert!(batch.is_empty());
        assert_eq!(batch.iter().count(), 0);
    }

    #[test]
    fn a_refused_write_makes_the_batch_fail_until_it_is_cleared() {
        let mut batch = Batch::new();
        batch.put(&vec![0; (64 << 20) + 1], b"");
        batch.put(b"a", b"1");
        let error = batch.check().expect_err("the key is too long");
        assert_eq!(error.limit().map(|limit| limit.name), Some("key_bytes"));
        batch.clear();
        assert!(batch.check().is_ok());
    }
}
