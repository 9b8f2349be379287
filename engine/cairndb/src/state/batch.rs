//! Atomic batch of writes.

use std::fmt;
use std::sync::Arc;

use cairndb_base::Kind;
use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_format::batch::{BatchMark, BatchWriter};

use crate::state::keyspaces::KeyspaceState;
use crate::state::sections::StoredKey;

/// One write of a batch, borrowed from it.
///
/// ```
/// use cairndb::{BatchEntry, WriteBatch};
/// let mut batch = WriteBatch::new();
/// batch.put(b"granite", b"grey");
/// batch.delete(b"opal");
/// let entries: Vec<BatchEntry> = batch.iter().collect();
/// assert_eq!(entries[1], BatchEntry::Delete { key: b"opal" });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchEntry<'a> {
    /// Sets `key` to `value`.
    Put {
        /// Key of the entry.
        key: &'a [u8],
        /// Value of the entry.
        value: &'a [u8],
    },
    /// Removes `key`.
    Delete {
        /// Key of the entry.
        key: &'a [u8],
    },
    /// Adds `operand` to `key`.
    Merge {
        /// Key of the entry.
        key: &'a [u8],
        /// Operand of the entry.
        operand: &'a [u8],
    },
    /// Removes all keys from `from` on.
    DeleteRange {
        /// First key that is removed.
        from: &'a [u8],
        /// First key after it that is kept; `None` if all are removed to the end.
        to: Option<&'a [u8]>,
    },
}

/// Writes that [`crate::Db::write`] applies atomically.
///
/// Later writes to a key override earlier ones. A batch holds at most 2 GiB in encoded form. A
/// batch of any size is one commit. Beyond three sixteenths of the memory budget, at most 16 MiB,
/// writing it includes writing its entries to tables, during which other writers wait.
///
/// ```
/// let mut batch = cairndb::WriteBatch::new();
/// batch.put(b"a", b"1");
/// batch.delete(b"b");
/// assert_eq!(batch.len(), 2);
/// ```
#[derive(Clone, Default)]
pub struct WriteBatch {
    writer: BatchWriter,
    large: usize,
    merges: usize,
    ranges: usize,
    /// Indexes of the entries whose ranges only bytewise order has.
    bytewise: Vec<u64>,
    /// Keyspaces that it writes to, in the order of their first entries.
    keyspaces: Vec<Arc<KeyspaceState>>,
}

/// The contents of a [`WriteBatch`] at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    writer: BatchMark,
    large: usize,
    merges: usize,
    ranges: usize,
    keyspaces: usize,
}

impl Mark {
    /// Returns the offset of the entry that was added next.
    pub(crate) fn offset(&self) -> usize {
        self.writer.offset()
    }
}

/// Shows the size rather than the contents: a batch may have a million entries.
impl fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBatch")
            .field("len", &self.len())
            .field("byte_len", &self.byte_len())
            .finish()
    }
}

impl WriteBatch {
    /// Returns an empty batch.
    #[must_use]
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Returns an empty batch with room for `bytes` of encoded writes. A write takes the lengths of
    /// its key and its value and three to eleven bytes more.
    ///
    /// ```
    /// let mut batch = cairndb::WriteBatch::with_capacity(1000 * (16 + 100 + 3));
    /// for n in 0..1000_u128 {
    ///     batch.put(&n.to_be_bytes(), &[7; 100]);
    /// }
    /// assert_eq!(batch.byte_len(), 1000 * (16 + 100 + 3));
    /// ```
    #[must_use]
    pub fn with_capacity(bytes: usize) -> WriteBatch {
        WriteBatch {
            writer: BatchWriter::with_capacity(bytes),
            ..WriteBatch::default()
        }
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.large += usize::from(value.len() >= LARGE_VALUE_BYTES_MIN);
        self.writer.put(key, value);
    }

    /// Removes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        self.writer.delete(key);
    }

    /// Adds the deletion of the keys from `from` to before `to`; to the end if that is empty.
    /// `bytewise` is whether the range needs bytewise order.
    pub(crate) fn add_range(&mut self, from: &[u8], to: &[u8], bytewise: bool) {
        self.ranges += 1;
        self.bytewise
            .extend(bytewise.then_some(self.writer.count()));
        self.writer.add(Kind::RangeDelete, from, to);
    }

    /// Like [`WriteBatch::add_range`], in a keyspace.
    pub(crate) fn add_range_in(
        &mut self,
        keyspace: &Arc<KeyspaceState>,
        (from, to): (&[u8], &[u8]),
        bytewise: bool,
    ) {
        self.ranges += 1;
        self.bytewise
            .extend(bytewise.then_some(self.writer.count()));
        let end = match to {
            [] => keyspace.ends().1.to_vec(),
            _ => [&keyspace.prefix()[..], to].concat(),
        };
        self.add_in(keyspace, Kind::RangeDelete, from, &end);
    }

    /// Adds `operand` to `key`, to be folded with the database's merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        self.merges += 1;
        self.writer.merge(key, operand);
    }

    /// Adds a write to a keyspace.
    pub(crate) fn add_in(
        &mut self,
        keyspace: &Arc<KeyspaceState>,
        kind: Kind,
        key: &[u8],
        value: &[u8],
    ) {
        self.large += usize::from(kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN);
        self.merges += usize::from(kind == Kind::Merge);
        let known = |it: &Arc<KeyspaceState>| Arc::ptr_eq(it, keyspace);
        // From the end: neighbouring writes tend to have the same keyspace.
        if !self.keyspaces.iter().rev().any(known) {
            self.keyspaces.push(Arc::clone(keyspace));
        }
        self.writer.add_in(kind, keyspace.record.number, key, value);
    }

    /// Adds the writes of `other` after those of this batch, and leaves `other` as it is.
    pub fn append(&mut self, other: &WriteBatch) {
        self.large += other.large;
        self.merges += other.merges;
        self.ranges += other.ranges;
        let before = self.writer.count();
        self.bytewise
            .extend(other.bytewise.iter().map(|index| before + index));
        self.writer.append(&other.writer);
        for keyspace in &other.keyspaces {
            if !self.keyspaces.iter().any(|it| Arc::ptr_eq(it, keyspace)) {
                self.keyspaces.push(Arc::clone(keyspace));
            }
        }
    }

    /// Iterates over the writes in the order in which they were added. A write that exceeds a limit
    /// is not among them: the batch holds only the error that [`crate::Db::write`] will return.
    pub fn iter(&self) -> impl Iterator<Item = BatchEntry<'_>> {
        self.iter_with_keyspaces().map(|(_, entry)| entry)
    }

    /// Iterates over the writes like [`WriteBatch::iter`], each with the name of its keyspace,
    /// which is `None` for the default one.
    pub fn iter_with_keyspaces(&self) -> impl Iterator<Item = (Option<&str>, BatchEntry<'_>)> {
        self.writer.own_entries().map(|entry| {
            let stored = StoredKey::of_entry(&entry);
            let (number, key) = (stored.keyspace(), stored.users());
            let mut keyspaces = self.keyspaces.iter();
            let keyspace = keyspaces.find(|keyspace| keyspace.record.number == number);
            let write = match entry.kind {
                Kind::Delete => BatchEntry::Delete { key },
                Kind::Merge => BatchEntry::Merge {
                    key,
                    operand: entry.value,
                },
                Kind::RangeDelete => BatchEntry::DeleteRange {
                    from: key,
                    to: stored.end_of_range(entry.value),
                },
                // A batch of a user never holds a pointer or a mark: the write path makes them, in
                // its own copy.
                Kind::Put | Kind::Pointer | Kind::TimeMark => BatchEntry::Put {
                    key,
                    value: entry.value,
                },
            };
            (keyspace.map(|keyspace| &*keyspace.record.name), write)
        })
    }

    /// Removes all writes and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.writer.clear();
        self.large = 0;
        self.merges = 0;
        self.ranges = 0;
        self.bytewise.clear();
        self.keyspaces.clear();
    }

    /// Returns the number of writes in the batch.
    pub fn len(&self) -> usize {
        usize::try_from(self.writer.count()).unwrap_or(usize::MAX)
    }

    /// Returns whether the batch holds no writes.
    pub fn is_empty(&self) -> bool {
        self.writer.is_empty()
    }

    /// Returns the size of the encoded writes in bytes.
    pub fn byte_len(&self) -> usize {
        self.writer.entries().len()
    }

    /// Returns a mark of the current contents.
    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            writer: self.writer.mark(),
            large: self.large,
            merges: self.merges,
            ranges: self.ranges,
            keyspaces: self.keyspaces.len(),
        }
    }

    /// Removes everything that was added since `mark` was taken.
    pub(crate) fn truncate(&mut self, mark: &Mark) {
        self.writer.truncate(&mark.writer);
        self.large = mark.large;
        self.merges = mark.merges;
        self.ranges = mark.ranges;
        let count = self.writer.count();
        self.bytewise.retain(|index| *index < count);
        self.keyspaces.truncate(mark.keyspaces);
    }

    pub(crate) fn keyspaces(&self) -> &[Arc<KeyspaceState>] {
        &self.keyspaces
    }

    pub(crate) fn writer(&self) -> &BatchWriter {
        &self.writer
    }

    pub(crate) fn has_large(&self) -> bool {
        self.large > 0
    }

    pub(crate) fn has_ranges(&self) -> bool {
        self.ranges > 0
    }

    /// Returns whether only bytewise order has the range of an entry.
    pub(crate) fn needs_bytewise(&self, index: u64) -> bool {
        self.bytewise.binary_search(&index).is_ok()
    }

    pub(crate) fn has_merges(&self) -> bool {
        self.merges > 0
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchEntry, WriteBatch};

    #[test]
    fn an_appended_batch_follows_in_order() {
        let (mut first, mut second) = (WriteBatch::new(), WriteBatch::new());
        first.put(b"a", b"1");
        second.merge(b"b", b"2");
        second.put(b"large", &[7; 10_000]);
        second.delete(b"a");
        first.append(&second);
        let entries: Vec<_> = first.iter().collect();
        let large = [7; 10_000];
        assert_eq!(
            entries,
            [
                BatchEntry::Put {
                    key: b"a",
                    value: b"1"
                },
                BatchEntry::Merge {
                    key: b"b",
                    operand: b"2"
                },
                BatchEntry::Put {
                    key: b"large",
                    value: &large
                },
                BatchEntry::Delete { key: b"a" },
            ]
        );
        assert_eq!((first.len(), second.len()), (4, 3));
        assert!(first.has_large() && first.has_merges());
    }

    #[test]
    fn a_batch_shows_how_much_it_holds() {
        let mut batch = WriteBatch::new();
        batch.put(b"k", &[7; 1000]);
        let shown = format!("{batch:?}");
        let bytes = batch.byte_len();
        assert_eq!(shown, format!("WriteBatch {{ len: 1, byte_len: {bytes} }}"));
    }
}
