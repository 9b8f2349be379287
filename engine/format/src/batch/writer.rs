//! Batch writer: collects entries in encoded form.

use cairndb_base::coding::{keyspace_prefix, put_bytes, put_varint, varint_len};
use cairndb_base::limits::{BATCH_BYTES_MAX, KEY_BYTES_MAX, LONG_VALUE_BYTES_MIN, VALUE_BYTES_MAX};
use cairndb_base::{Error, Kind, Result};
use cairndb_kernel::append_parts;

use crate::batch::IN_KEYSPACE;
use crate::batch::frame::Short;
use crate::batch::read::{BatchIter, OwnEntries};
use crate::value_file::Pointer;

/// Lengths below this are encoded as one-byte varints.
const SHORT_BYTES: usize = 128;
/// Kind and two lengths take at most 1 + 4 + 5 bytes.
const LENGTHS_BYTES_MAX: usize = 10;

/// The entries of one batch, encoded as they are added.
///
/// Adding cannot fail: an entry that exceeds a limit is omitted and recorded, and
/// [`BatchWriter::check`] reports it before anything is written. Memory use is the size of the
/// encoded entries. [`BatchWriter::count_prefix`] followed by [`BatchWriter::entries`] is the
/// payload; several batches are joined under one count.
#[derive(Clone, Debug, Default)]
pub struct BatchWriter {
    entries: Vec<u8>,
    count: u64,
    long_value_bytes: usize,
    /// Whether an entry of a keyspace was ever added.
    in_keyspaces: bool,
    excess: Option<Excess>,
}

/// The contents of a batch at one moment, to which [`BatchWriter::truncate`] returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchMark {
    bytes: usize,
    count: u64,
    long_value_bytes: usize,
    excess: Option<Excess>,
}

impl BatchMark {
    /// Returns the offset in [`BatchWriter::entries`] of the entry that was added next.
    pub fn offset(&self) -> usize {
        self.bytes
    }
}

/// The first entry that did not fit.
#[derive(Clone, Copy, Debug)]
struct Excess {
    what: &'static str,
    bytes: usize,
    bytes_max: usize,
}

impl BatchWriter {
    /// Returns an empty batch.
    pub fn new() -> BatchWriter {
        BatchWriter::default()
    }

    /// Returns an empty batch with room for `bytes` of encoded entries.
    pub fn with_capacity(bytes: usize) -> BatchWriter {
        BatchWriter {
            entries: Vec::with_capacity(bytes),
            ..BatchWriter::default()
        }
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.add(Kind::Put, key, value);
    }

    /// Deletes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        self.add(Kind::Delete, key, &[]);
    }

    /// Adds a merge operand to `key`.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        self.add(Kind::Merge, key, operand);
    }

    /// Sets `key` to a value in a value file.
    pub fn pointer(&mut self, key: &[u8], pointer: &Pointer) {
        self.add(Kind::Pointer, key, &pointer.encode());
    }

    /// Adds an entry of any kind; `value` is ignored for a deletion.
    pub fn add(&mut self, kind: Kind, key: &[u8], value: &[u8]) {
        self.add_entry(kind, |key_len| [kind as u8, key_len], key, value);
    }

    /// Like [`BatchWriter::add`], to the keyspace with this number, which is not 0.
    pub fn add_in(&mut self, kind: Kind, number: u32, key: &[u8], value: &[u8]) {
        debug_assert!(number > 0, "0 is the default keyspace");
        self.in_keyspaces = true;
        let [a, b, c, d] = keyspace_prefix(number);
        let head = |key_len| [kind as u8 | IN_KEYSPACE, key_len, a, b, c, d];
        self.add_entry(kind, head, key, value);
    }

    /// Returns whether entries of keyspaces were added since the batch was last cleared.
    #[inline]
    pub fn has_keyspaces(&self) -> bool {
        self.in_keyspaces
    }

    /// Adds an entry that begins with what `head` returns: the number of its kind, the given length
    /// of a short key, and the number of its keyspace, if it is in one.
    #[inline]
    fn add_entry<const N: usize>(
        &mut self,
        kind: Kind,
        head: impl FnOnce(u8) -> [u8; N],
        key: &[u8],
        value: &[u8],
    ) {
        let number = N - 2;
        let value = if kind == Kind::Delete { &[] } else { value };
        // Nearly all entries are far below every limit and have lengths of one byte.
        let short = key.len() < SHORT_BYTES - number && value.len() < SHORT_BYTES;
        let short = short && self.entries.len() <= BATCH_BYTES_MAX - 3 * SHORT_BYTES;
        if !short && let Some(excess) = self.excess_of(number, key.len(), value.len()) {
            self.excess.get_or_insert(excess);
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "not used from 128 on")]
        let [key_len, value_len] = [number + key.len(), value.len()].map(|len| len as u8);
        let head = head(key_len);
        if short {
            // Like the general path below, but without reserving room byte by byte: 30 fewer
            // instructions per entry.
            if kind == Kind::Delete {
                append_parts(&mut self.entries, [&head, key]);
            } else {
                append_parts(&mut self.entries, [&head, key, &[value_len], value]);
            }
        } else {
            self.entries
                .reserve(number + key.len() + value.len() + LENGTHS_BYTES_MAX);
            self.entries.push(head[0]);
            put_varint(&mut self.entries, (number + key.len()) as u64);
            self.entries.extend_from_slice(&head[2..]);
            self.entries.extend_from_slice(key);
            if kind != Kind::Delete {
                put_bytes(&mut self.entries, value);
            }
        }
        if value.len() >= LONG_VALUE_BYTES_MIN {
            self.long_value_bytes += value.len();
        }
        self.count += 1;
    }

    #[cold]
    fn excess_of(&self, number: usize, key_len: usize, value_len: usize) -> Option<Excess> {
        let bytes = (self.entries.len() + number)
            .saturating_add(key_len)
            .saturating_add(value_len);
        [
            ("key", key_len, KEY_BYTES_MAX),
            ("value", value_len, VALUE_BYTES_MAX),
            (
                "batch",
                bytes.saturating_add(LENGTHS_BYTES_MAX),
                BATCH_BYTES_MAX,
            ),
        ]
        .into_iter()
        .find(|&(_, bytes, bytes_max)| bytes > bytes_max)
        .map(|(what, bytes, bytes_max)| Excess {
            what,
            bytes,
            bytes_max,
        })
    }

    /// Appends the entries of `other`.
    pub fn append(&mut self, other: &BatchWriter) {
        let bytes = self.entries.len().saturating_add(other.entries.len());
        if bytes > BATCH_BYTES_MAX {
            let bytes_max = BATCH_BYTES_MAX;
            self.excess.get_or_insert(Excess {
                what: "batch",
                bytes,
                bytes_max,
            });
            return;
        }
        self.entries.extend_from_slice(&other.entries);
        self.count += other.count;
        self.long_value_bytes += other.long_value_bytes;
        self.in_keyspaces |= other.in_keyspaces;
        self.excess = self.excess.or(other.excess);
    }

    /// Checks that every added entry is within the limits.
    ///
    /// # Errors
    /// `InvalidArgument` with the limit that an entry exceeds.
    pub fn check(&self) -> Result<()> {
        match self.excess {
            None => Ok(()),
            Some(Excess {
                what,
                bytes,
                bytes_max,
            }) => Err(Error::invalid(format!("{what} is too large; split it"))
                .expected(format_args!("at most {bytes_max} bytes"))
                .found(bytes)),
        }
    }

    /// Removes all entries and forgets any exceeded limit; keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.count = 0;
        self.long_value_bytes = 0;
        self.in_keyspaces = false;
        self.excess = None;
    }

    /// Returns a mark of the current contents.
    #[inline]
    pub fn mark(&self) -> BatchMark {
        BatchMark {
            bytes: self.entries.len(),
            count: self.count,
            long_value_bytes: self.long_value_bytes,
            excess: self.excess,
        }
    }

    /// Removes everything that was added since `mark` was taken of this batch.
    ///
    /// # Panics
    /// If the batch has been cleared or truncated to less since then.
    pub fn truncate(&mut self, mark: &BatchMark) {
        assert!(
            mark.bytes <= self.entries.len() && mark.count <= self.count,
            "the mark is of an earlier state of this batch"
        );
        self.entries.truncate(mark.bytes);
        self.count = mark.count;
        self.long_value_bytes = mark.long_value_bytes;
        self.excess = mark.excess;
    }

    /// Returns the entries from `offset` on, which is the offset of a [`BatchMark`].
    #[inline]
    pub fn entries_from(&self, offset: usize) -> OwnEntries<'_> {
        OwnEntries::over(self.entries.get(offset..).unwrap_or_default())
    }

    /// Returns the number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the total bytes of all values that are at least [`LONG_VALUE_BYTES_MIN`] long.
    pub fn long_value_bytes(&self) -> usize {
        self.long_value_bytes
    }

    /// Returns the first part of the payload: the count.
    pub fn count_prefix(&self) -> Short {
        Short::varint(self.count)
    }

    /// Returns the first part of a joint payload of several batches, which together hold `count`
    /// entries.
    pub fn joined_prefix(count: u64) -> Short {
        Short::varint(count)
    }

    /// Returns the second part of the payload.
    pub fn entries(&self) -> &[u8] {
        &self.entries
    }

    /// Returns the entries in order, without the checks that bytes from disk need.
    pub fn own_entries(&self) -> OwnEntries<'_> {
        OwnEntries::over(&self.entries)
    }

    /// Returns the length of the whole payload.
    pub fn payload_len(&self) -> u64 {
        (varint_len(self.count) + self.entries.len()) as u64
    }

    /// Returns the payload in one piece.
    pub fn to_payload(&self) -> Vec<u8> {
        [self.count_prefix().as_slice(), &self.entries].concat()
    }

    /// Returns the entries in the order they were added.
    pub fn iter(&self) -> BatchIter<'_> {
        BatchIter::over(&self.entries, self.count)
    }
}

impl<'a> IntoIterator for &'a BatchWriter {
    type Item = <BatchIter<'a> as Iterator>::Item;
    type IntoIter = BatchIter<'a>;

    fn into_iter(self) -> BatchIter<'a> {
        self.iter()
    }
}
