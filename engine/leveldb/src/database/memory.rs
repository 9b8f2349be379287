//! Entries in memory: what is in the logs, sorted by position.
//!
//! The batches are kept as they were logged, one after the other. A slot of 16 bytes for each entry
//! says where it begins; slots are sorted once, after the last batch. Keys and values are never
//! copied apart.

use std::cmp::Ordering;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Order, Result};

use super::source::SortedSource;
use crate::batch::{WriteBatch, decode_operation, encode_operation};
use crate::input::Input;
use crate::internal_key::{self, tag};

/// Where an entry begins, and its tag.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: u64,
    tag: u64,
}

/// Collects entries.
#[derive(Debug)]
pub(crate) struct MemoryBuilder {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    bytes_max: usize,
}

impl MemoryBuilder {
    pub(crate) fn new(bytes_max: usize) -> MemoryBuilder {
        MemoryBuilder {
            bytes: Vec::new(),
            slots: Vec::new(),
            bytes_max,
        }
    }

    /// Adds the operations of a batch, all or none. Returns the last sequence number so far.
    ///
    /// # Errors
    /// `Corruption` if the batch is malformed; `NotSupported` if the limit is exceeded.
    pub(crate) fn add_batch(&mut self, payload: &[u8]) -> Result<u64> {
        let batch = WriteBatch::decode(payload)?;
        let (base, slots) = (self.bytes.len(), self.slots.len());
        let mut operations = batch.iter();
        loop {
            let at = (base + operations.position()) as u64;
            match operations.next() {
                Some(Ok(operation)) => {
                    let tag = tag(operation.seq, operation.kind);
                    self.slots.push(Slot { at, tag });
                }
                None => break,
                Some(Err(error)) => {
                    self.slots.truncate(slots);
                    return Err(error);
                }
            }
        }
        self.bytes.extend_from_slice(payload);
        self.check_limit()?;
        // A batch without operations has the number after the last one.
        Ok((batch.seq() + u64::from(batch.count())).saturating_sub(1))
    }

    /// Adds one entry.
    ///
    /// # Errors
    /// `NotSupported` if the limit is exceeded.
    pub(crate) fn add_entry(&mut self, key: &[u8], tag: u64, value: &[u8]) -> Result<()> {
        let at = self.bytes.len() as u64;
        let kind = internal_key::kind_of(tag)?;
        encode_operation(&mut self.bytes, kind, key, value);
        self.slots.push(Slot { at, tag });
        self.check_limit()
    }

    fn check_limit(&self) -> Result<()> {
        let needed = self.bytes.len() + self.slots.len() * size_of::<Slot>();
        if needed <= self.bytes_max {
            return Ok(());
        }
        let message =
            "the entries to be sorted need more memory than ReadOptions::memory_bytes_max";
        Err(Error::new(ErrorKind::NotSupported, message)
            .expected(format_args!("at most {} bytes", self.bytes_max))
            .found(format_args!("{needed} bytes or more")))
    }

    /// Sorts the entries. Of equal internal keys the one that was added last comes first.
    pub(crate) fn finish(mut self, order: Order) -> Memory {
        let (bytes, mut slots) = (std::mem::take(&mut self.bytes), self.slots);
        slots.sort_unstable_by(|a, b| {
            let (a_key, b_key) = (operation_at(&bytes, a.at).0, operation_at(&bytes, b.at).0);
            internal_key::compare(&order, (a_key, a.tag), (b_key, b.tag)).then(b.at.cmp(&a.at))
        });
        Memory {
            bytes,
            slots,
            order,
        }
    }
}

/// Sorted entries.
#[derive(Debug)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    order: Order,
}

impl Memory {
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn compare(&self, slot: Slot, key: &[u8], tag: u64) -> Ordering {
        let found = operation_at(&self.bytes, slot.at).0;
        internal_key::compare(&self.order, (found, slot.tag), (key, tag))
    }
}

/// Key and value of an entry, which was decoded before it was added.
fn operation_at(bytes: &[u8], at: u64) -> (&[u8], &[u8]) {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let operation = decode_operation(&mut Input::at(bytes, at));
    debug_assert!(operation.is_ok(), "it was decoded before");
    operation.map_or((&[], &[]), |(_, key, value)| (key, value))
}

/// A position in entries in memory.
#[derive(Clone, Debug)]
pub(crate) struct MemoryCursor {
    memory: Arc<Memory>,
    at: Option<usize>,
}

impl MemoryCursor {
    pub(crate) fn new(memory: Arc<Memory>) -> MemoryCursor {
        MemoryCursor { memory, at: None }
    }

    fn stand_at(&mut self, at: Option<usize>) {
        self.at = at.filter(|at| *at < self.memory.slots.len());
    }

    fn operation(&self) -> (&[u8], &[u8]) {
        let slot = self.at.and_then(|at| self.memory.slots.get(at));
        slot.map_or((&[], &[]), |slot| operation_at(&self.memory.bytes, slot.at))
    }
}

impl SortedSource for MemoryCursor {
    fn valid(&self) -> bool {
        self.at.is_some()
    }

    fn key(&self) -> &[u8] {
        self.operation().0
    }

    fn tag(&self) -> u64 {
        let slot = self.at.and_then(|at| self.memory.slots.get(at));
        slot.map_or(tag(0, Kind::Delete), |slot| slot.tag)
    }

    fn value(&self) -> &[u8] {
        self.operation().1
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.stand_at(Some(0));
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.stand_at(self.memory.slots.len().checked_sub(1));
        Ok(())
    }

    fn seek(&mut self, key: &[u8], tag: u64) -> Result<()> {
        let before = |slot: &Slot| self.memory.compare(*slot, key, tag).is_lt();
        let at = self.memory.slots.partition_point(before);
        self.stand_at(Some(at));
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.stand_at(self.at.map(|at| at + 1));
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        self.stand_at(self.at.and_then(|at| at.checked_sub(1)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::BatchWriter;

    #[test]
    fn entries_are_sorted_by_key_and_from_the_newest() {
        let mut builder = MemoryBuilder::new(1 << 20);
        let mut batch = BatchWriter::new(10);
        batch.put(b"b", b"1");
        batch.put(b"a", b"2");
        batch.delete(b"b");
        assert_eq!(builder.add_batch(batch.bytes()).unwrap(), 12);
        assert_eq!(builder.add_batch(BatchWriter::new(13).bytes()).unwrap(), 12);
        builder.add_entry(b"", tag(3, Kind::Put), b"3").unwrap();
        let memory = Arc::new(builder.finish(Order::Bytewise));
        let mut cursor = MemoryCursor::new(memory);
        cursor.seek_to_first().unwrap();
        let mut found = Vec::new();
        while cursor.valid() {
            found.push((
                cursor.key().to_vec(),
                cursor.tag() >> 8,
                cursor.value().to_vec(),
            ));
            cursor.next().unwrap();
        }
        let expected: [(&[u8], u64, &[u8]); 4] = [
            (b"", 3, b"3"),
            (b"a", 11, b"2"),
            (b"b", 12, b""),
            (b"b", 10, b"1"),
        ];
        let expected = expected.map(|(key, seq, value)| (key.to_vec(), seq, value.to_vec()));
        assert_eq!(found, expected);
        cursor.seek(b"b", tag(11, Kind::Put)).unwrap();
        assert_eq!(cursor.value(), b"1");
        cursor.prev().unwrap();
        assert_eq!(cursor.tag(), tag(12, Kind::Delete));
    }

    #[test]
    fn a_malformed_batch_adds_nothing_and_the_limit_holds() {
        let mut builder = MemoryBuilder::new(100);
        let mut batch = BatchWriter::new(1);
        batch.put(b"key", b"value");
        let bytes = batch.bytes().to_vec();
        assert!(builder.add_batch(&bytes[..bytes.len() - 1]).is_err());
        assert!(builder.slots.is_empty());
        let error = builder
            .add_batch(&[&bytes[..], &[0; 200]].concat())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        builder.add_batch(&bytes).unwrap();
        builder.add_batch(&bytes).unwrap();
        let error = builder.add_batch(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported);
    }
}
