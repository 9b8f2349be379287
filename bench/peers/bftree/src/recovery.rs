//! Applying the log that a process left when it ended without closing the store.

use std::fs::OpenOptions;
use std::path::Path;

use bench_core::fault::Fault;
use bf_tree::{BfTree, LeafInsertResult, WalReader};

/// The operations of log records.
const INSERT: u8 = 0;
const DELETE: u8 = 1;

/// A record of the log: the lengths of key and value, the operation, then both.
struct Record<'l> {
    operation: u8,
    key: &'l [u8],
    value: &'l [u8],
}

impl<'l> Record<'l> {
    fn parse(bytes: &'l [u8]) -> Option<Record<'l>> {
        let (&[key0, key1, value0, value1, operation], rest) = bytes.split_first_chunk()?;
        let key_bytes = u16::from_le_bytes([key0, key1]);
        let value_bytes = u16::from_le_bytes([value0, value1]);
        let (key, value) = rest.split_at_checked(usize::from(key_bytes))?;
        (value.len() == usize::from(value_bytes)).then_some(Record {
            operation,
            key,
            value,
        })
    }
}

/// Applies all records of a log to a tree.
pub fn apply(tree: &BfTree, log: &Path, segment_bytes: usize) -> Result<(), Fault> {
    complete(log, segment_bytes)?;
    for segment in WalReader::new(log, segment_bytes).segment_iter() {
        for (_, bytes) in segment.entry_iter() {
            let damaged = || Fault::new("a record of the log is damaged".to_owned());
            let record = Record::parse(bytes).ok_or_else(damaged)?;
            match record.operation {
                INSERT => match tree.insert(record.key, record.value) {
                    LeafInsertResult::Success => {}
                    LeafInsertResult::InvalidKV(reason) => return Err(Fault::new(reason)),
                },
                DELETE => tree.delete(record.key),
                _ => return Err(damaged()),
            }
        }
    }
    Ok(())
}

/// Extends the file to whole segments: the store's reader ends the process at a shorter one.
fn complete(log: &Path, segment_bytes: usize) -> Result<(), Fault> {
    let fault = |error: std::io::Error| Fault::new(error.to_string());
    let file = OpenOptions::new().write(true).open(log).map_err(fault)?;
    let bytes = file.metadata().map_err(fault)?.len();
    file.set_len(bytes.next_multiple_of(segment_bytes as u64))
        .map_err(fault)
}
