//! Writes that never wait, for callers such as an event loop, which give a refused write to another
//! thread.
//!
//! Such a write is refused, and nothing is written, wherever [`Writer::write_one`] would wait for a
//! lock, a sync, a flush or a new log segment, or would write a value to a value file. What is left
//! takes a bounded number of copies into memory.

use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_base::{Kind, Result};

use crate::log::commit::Commit;
use crate::log::payload::Payload;
use crate::state::batch::WriteBatch;
use crate::state::options::Durability;
use crate::state::sections::StoredKey;
use crate::write::writer::{Precondition, Writer, needs_preparation};

impl Writer {
    /// Writes one entry. Returns `false` if it would have to wait.
    #[inline]
    pub(crate) fn try_write_one(
        &self,
        kind: Kind,
        key: StoredKey<'_>,
        value: &[u8],
        durability: Durability,
    ) -> Result<bool> {
        if value.len() >= LARGE_VALUE_BYTES_MIN {
            return Ok(false);
        }
        self.try_write_payload(&Payload::One { kind, key, value }, durability, None)
    }

    /// Writes a batch atomically. Returns `false` if it would have to wait.
    pub(crate) fn try_write_batch(
        &self,
        batch: &WriteBatch,
        durability: Durability,
    ) -> Result<bool> {
        batch.writer().check()?;
        if batch.has_large() {
            return Ok(false);
        }
        if batch.is_empty() {
            self.base.check_writable()?;
            return Ok(durability != Durability::Sync);
        }
        if batch.has_merges() {
            self.base.check_operands(batch)?;
        }
        let keyspaces = batch.keyspaces();
        self.base.check_ours(keyspaces)?;
        if batch.has_ranges() && self.base.check_ranges(batch)? {
            keyspaces.iter().try_for_each(|keyspace| keyspace.check())?;
            return Ok(durability != Durability::Sync);
        }
        let exist = |_: &Commit| keyspaces.iter().try_for_each(|keyspace| keyspace.check());
        let payload = Payload::Many(batch.writer());
        self.try_write_payload(&payload, durability, Some(&exist))
    }

    #[inline]
    fn try_write_payload(
        &self,
        payload: &Payload<'_>,
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<bool> {
        self.base.check_here()?;
        // A write at `None` may need a new segment for the record that states how much was not
        // logged.
        if durability != Durability::Os {
            return Ok(false);
        }
        let Some(commit) = self.disk.log.try_lock() else {
            return Ok(false);
        };
        self.base.check_writable()?;
        if let Some(holds) = precondition {
            holds(&commit)?;
        }
        let flush_max = self.base.settings.budget.flush_max;
        if !commit.awaiting_sync.is_empty()
            || needs_preparation(&commit, payload, durability, flush_max)
        {
            return Ok(false);
        }
        self.write_prepared(commit, payload, durability, None)?;
        Ok(true)
    }
}
