//! Writes to the target, in batches within its limits.

use cairndb_store::{Batch, ErrorKind, Limits};

use crate::failure::Result;
use crate::store::Opened;

/// Bytes of a batch, if the target accepts them.
const BATCH_BYTES: usize = 1 << 20;
/// Writes in a batch, if the target accepts them: short entries take more memory than their bytes.
const BATCH_OPS: usize = 8192;
/// How often a batch is sent whose outcome is unknown.
const ATTEMPTS_MAX: u32 = 5;

/// The next batch.
#[derive(Debug)]
pub(super) struct Batches<'a> {
    target: &'a Opened,
    limits: Limits,
    bytes_max: usize,
    batch: Batch,
    /// Bytes of keys and values, as limits count them.
    bytes: usize,
}

impl<'a> Batches<'a> {
    /// `most` is the size at which a batch is written at the latest.
    pub(super) fn new(target: &'a Opened, most: impl FnOnce(usize) -> usize) -> Batches<'a> {
        let limits = target.store.engine().limits;
        Batches {
            target,
            limits,
            bytes_max: most(BATCH_BYTES.min(limits.batch_bytes)),
            batch: Batch::new(),
            bytes: 0,
        }
    }

    /// Returns whether nothing waits to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Returns whether `bytes` more can be added. A write that is longer than a whole batch should
    /// be has one of its own.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let is_full = self.batch.len() >= BATCH_OPS.min(self.limits.batch_ops);
        self.batch.is_empty() || (!is_full && self.bytes + bytes <= self.bytes_max)
    }

    /// Adds a put.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let checked = self.limits.check_entry(key, value);
        checked.map_err(self.target.failure())?;
        self.bytes += key.len() + value.len();
        self.batch.put(key, value);
        Ok(())
    }

    /// Adds a delete.
    pub(super) fn delete(&mut self, key: &[u8]) {
        self.bytes += key.len();
        self.batch.delete(key);
    }

    /// Writes what was added. A batch of puts and deletes leaves the same if it is applied twice,
    /// so one whose outcome is unknown is sent again.
    pub(super) fn write(&mut self) -> Result<()> {
        let mut attempts = ATTEMPTS_MAX;
        while !self.batch.is_empty() {
            attempts -= 1;
            match self.target.store.write(&self.batch) {
                Err(error) if error.kind() == ErrorKind::OutcomeUnknown && attempts > 0 => {}
                Err(error) => return Err(self.target.failure()(error)),
                Ok(()) => self.batch.clear(),
            }
        }
        self.bytes = 0;
        Ok(())
    }
}
