//! A batch of writes: all of them happen, or none.

use cairndb_base::limits::{
    BATCH_BYTES_MAX, KEY_BYTES_MAX, LARGE_VALUE_BYTES_MIN, VALUE_BYTES_MAX,
};
use cairndb_base::{Error, Kind, Result};
use cairndb_format::batch;

/// Writes to be applied atomically by [`crate::Db::write`].
///
/// Later writes to a key win over earlier ones. At most 2 GiB as encoded; a batch of any size is
/// one commit.
///
/// ```
/// let mut batch = cairndb::WriteBatch::new();
/// batch.put(b"a", b"1");
/// batch.delete(b"b");
/// assert_eq!(batch.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    /// Encoded entries, without the count that precedes them in the log.
    entries: Vec<u8>,
    count: u64,
    large: usize,
    merges: usize,
    oversized: bool,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.large += usize::from(value.len() >= LARGE_VALUE_BYTES_MIN);
        self.add(Kind::Put, key, value);
    }

    /// Removes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        self.add(Kind::Delete, key, b"");
    }

    /// Applies `operand` to `key` with the database's merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        self.merges += 1;
        self.add(Kind::Merge, key, operand);
    }

    /// Forgets every write, keeping the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.count = 0;
        self.large = 0;
        self.merges = 0;
        self.oversized = false;
    }

    /// Writes in the batch.
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// Whether the batch holds no writes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the encoded writes.
    pub fn byte_len(&self) -> usize {
        self.entries.len()
    }

    fn add(&mut self, kind: Kind, key: &[u8], value: &[u8]) {
        // A limit exceeded is remembered and reported by `write`, so that building a batch stays
        // free of results; the bytes are not kept, so memory stays bounded too.
        if key.len() > KEY_BYTES_MAX || value.len() > VALUE_BYTES_MAX {
            self.oversized = true;
            return;
        }
        if self.entries.len() + key.len() + value.len() + 32 > BATCH_BYTES_MAX {
            self.oversized = true;
            return;
        }
        batch::put_entry(&mut self.entries, kind, key, value);
        self.count += 1;
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.oversized {
            return Err(Error::invalid(
                "the batch exceeds a limit: keys to 64 MiB, values to 1 GiB, batches to 2 GiB",
            ));
        }
        Ok(())
    }

    pub(crate) fn entries(&self) -> &[u8] {
        &self.entries
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn has_large(&self) -> bool {
        self.large > 0
    }

    pub(crate) fn has_merges(&self) -> bool {
        self.merges > 0
    }
}
