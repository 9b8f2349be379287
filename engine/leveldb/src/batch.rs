//! Write batches: the payload of a log record.
//!
//! A batch is the sequence number of its first operation, the number of operations, and the
//! operations: kind, key and, for a put, the value. Each operation has the sequence number after
//! that of the one before.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::{get_u32, get_u64, put_bytes};
use cairndb_base::{Error, Kind, Result, SEQ_MAX, SeqNo};

use crate::input::Input;
use crate::internal_key::kind_from;

/// Sequence number and count.
pub(crate) const HEADER_BYTES: usize = 12;

/// One operation of a batch.
///
/// ```
/// use cairndb_leveldb::{BatchWriter, Kind, WriteBatch};
/// let mut writer = BatchWriter::new(7);
/// writer.delete(b"pear");
/// let operation = WriteBatch::decode(writer.bytes())?.iter().next().transpose()?.unwrap();
/// assert_eq!((operation.seq, operation.kind, operation.key), (7, Kind::Delete, &b"pear"[..]));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation<'a> {
    /// Its sequence number.
    pub seq: SeqNo,
    /// `Put` or `Delete`.
    pub kind: Kind,
    /// The key.
    pub key: &'a [u8],
    /// The value; nothing for a delete.
    pub value: &'a [u8],
}

/// A batch, read in place.
///
/// ```
/// use cairndb_leveldb::{BatchWriter, WriteBatch};
/// let mut writer = BatchWriter::new(100);
/// writer.put(b"apple", b"red");
/// writer.delete(b"pear");
/// let batch = WriteBatch::decode(writer.bytes())?;
/// assert_eq!((batch.seq(), batch.count()), (100, 2));
/// let mut operations = batch.iter();
/// assert_eq!(operations.next().transpose()?.map(|first| first.key), Some(&b"apple"[..]));
/// assert_eq!(operations.next().transpose()?.map(|second| second.seq), Some(101));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WriteBatch<'a> {
    bytes: &'a [u8],
    seq: SeqNo,
    count: u32,
}

impl<'a> WriteBatch<'a> {
    /// Reads the header of a batch. The operations are examined by [`WriteBatch::iter`].
    ///
    /// # Errors
    /// `Corruption` if the header is cut, or if the sequence numbers would exceed [`SEQ_MAX`].
    pub fn decode(bytes: &'a [u8]) -> Result<WriteBatch<'a>> {
        let header = get_u64(bytes, 0).zip(get_u32(bytes, 8));
        let (seq, count) = header.ok_or_else(|| {
            Error::corruption("a batch is shorter than its header")
                .expected("12 bytes or more")
                .found(bytes.len())
        })?;
        let last = seq
            .checked_add(u64::from(count))
            .filter(|end| *end <= SEQ_MAX);
        if last.is_none() {
            return Err(
                Error::corruption("a batch's sequence numbers exceed the maximum")
                    .expected(format_args!("at most {SEQ_MAX}"))
                    .found(format_args!("{count} from {seq}")),
            );
        }
        Ok(WriteBatch { bytes, seq, count })
    }

    /// The sequence number of the first operation.
    pub fn seq(&self) -> SeqNo {
        self.seq
    }

    /// The number of operations, as the header states it.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The operations in their order. The iterator ends after the first error: `Corruption` if an
    /// operation is malformed or if there are more or fewer than the header states.
    pub fn iter(&self) -> BatchIter<'a> {
        let input = Input::at(self.bytes, HEADER_BYTES);
        BatchIter {
            input,
            seq: self.seq,
            left: self.count,
            failed: false,
        }
    }
}

impl<'a> IntoIterator for &WriteBatch<'a> {
    type Item = Result<Operation<'a>>;
    type IntoIter = BatchIter<'a>;

    fn into_iter(self) -> BatchIter<'a> {
        self.iter()
    }
}

/// The operations of a batch; see [`WriteBatch::iter`], and [`WriteBatch`] for an example.
#[derive(Clone, Debug)]
pub struct BatchIter<'a> {
    input: Input<'a>,
    seq: SeqNo,
    left: u32,
    failed: bool,
}

impl<'a> BatchIter<'a> {
    /// Where the next operation begins in the batch.
    pub(crate) fn position(&self) -> usize {
        self.input.position()
    }

    fn operation(&mut self) -> Result<Operation<'a>> {
        if self.left == 0 {
            return Err(self.input.error("the end of a batch, by its count"));
        }
        let (kind, key, value) = decode_operation(&mut self.input)?;
        let operation = Operation {
            seq: self.seq,
            kind,
            key,
            value,
        };
        self.seq = self.seq.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        Ok(operation)
    }
}

impl<'a> Iterator for BatchIter<'a> {
    type Item = Result<Operation<'a>>;

    fn next(&mut self) -> Option<Result<Operation<'a>>> {
        if self.failed || (self.left == 0 && self.input.is_empty()) {
            return None;
        }
        let operation = self.operation();
        self.failed = operation.is_err();
        Some(operation)
    }
}

/// Kind, key and value of the operation at the cursor.
pub(crate) fn decode_operation<'a>(input: &mut Input<'a>) -> Result<(Kind, &'a [u8], &'a [u8])> {
    let number = input.byte("an operation")?;
    let kind = kind_from(number).ok_or_else(|| {
        Error::corruption("an operation is of no kind that LevelDB writes")
            .expected("0 or 1")
            .found(number)
    })?;
    let key = input.bytes("a key")?;
    let value = if kind == Kind::Put {
        input.bytes("a value")?
    } else {
        &[]
    };
    Ok((kind, key, value))
}

/// Appends an operation.
pub(crate) fn encode_operation(out: &mut Vec<u8>, kind: Kind, key: &[u8], value: &[u8]) {
    debug_assert!(matches!(kind, Kind::Put | Kind::Delete));
    out.push(kind as u8);
    put_bytes(out, key);
    if kind == Kind::Put {
        put_bytes(out, value);
    }
}

/// Puts a batch together.
///
/// ```
/// use cairndb_leveldb::BatchWriter;
/// let mut writer = BatchWriter::new(7);
/// writer.put(b"k", b"v");
/// assert_eq!(writer.bytes(), [7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, b'k', 1, b'v']);
/// ```
#[derive(Clone, Debug)]
pub struct BatchWriter {
    bytes: Vec<u8>,
    count: u32,
}

impl BatchWriter {
    /// An empty batch whose first operation will have this sequence number.
    ///
    /// # Panics
    /// If the number is greater than [`SEQ_MAX`].
    pub fn new(seq: SeqNo) -> BatchWriter {
        assert!(seq <= SEQ_MAX, "a sequence number has 56 bits");
        let mut bytes = seq.to_le_bytes().to_vec();
        bytes.extend_from_slice(&0u32.to_le_bytes());
        BatchWriter { bytes, count: 0 }
    }

    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.add(Kind::Put, key, value);
    }

    /// Adds a delete.
    pub fn delete(&mut self, key: &[u8]) {
        self.add(Kind::Delete, key, b"");
    }

    fn add(&mut self, kind: Kind, key: &[u8], value: &[u8]) {
        encode_operation(&mut self.bytes, kind, key, value);
        self.count = self.count.saturating_add(1);
        if let Some(count) = self.bytes.get_mut(8..HEADER_BYTES) {
            count.copy_from_slice(&self.count.to_le_bytes());
        }
    }

    /// The encoded batch.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Owned = (SeqNo, Kind, Vec<u8>, Vec<u8>);

    fn collect(bytes: &[u8]) -> Result<Vec<Owned>> {
        let batch = WriteBatch::decode(bytes)?;
        let owned = |operation: Operation<'_>| {
            (
                operation.seq,
                operation.kind,
                operation.key.to_vec(),
                operation.value.to_vec(),
            )
        };
        batch.iter().map(|operation| operation.map(owned)).collect()
    }

    fn example() -> BatchWriter {
        let mut writer = BatchWriter::new(41);
        writer.put(b"", b"");
        writer.delete(b"gone");
        writer.put(b"key", &[7; 300]);
        writer
    }

    #[test]
    fn a_batch_comes_back() {
        let found = collect(example().bytes()).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], (41, Kind::Put, vec![], vec![]));
        assert_eq!(found[1], (42, Kind::Delete, b"gone".to_vec(), vec![]));
        assert_eq!(found[2].0, 43);
        assert_eq!(collect(BatchWriter::new(0).bytes()).unwrap(), []);
    }

    #[test]
    fn every_cut_and_every_wrong_count_is_noticed() {
        let bytes = example().bytes().to_vec();
        for len in 0..bytes.len() {
            assert!(collect(&bytes[..len]).is_err(), "cut at {len}");
        }
        for count in [0u32, 1, 2, 4, u32::MAX] {
            let mut wrong = bytes.clone();
            wrong[8..12].copy_from_slice(&count.to_le_bytes());
            assert!(collect(&wrong).is_err(), "count {count}");
        }
        let mut unknown = bytes.clone();
        unknown[HEADER_BYTES] = 2;
        assert!(collect(&unknown).is_err());
        let late = [&SEQ_MAX.to_le_bytes()[..], &bytes[8..]].concat();
        assert!(collect(&late).is_err());
    }
}
