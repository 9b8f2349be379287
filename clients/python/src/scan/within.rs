//! The entries that a transaction sees, in chunks.
//!
//! A cursor of the store borrows its transaction, and Python may use both in any order, so a new
//! one is placed for each chunk. The first chunk has one entry, because a serialisable transaction
//! depends on all that was fetched, not only on what the program has taken.

use std::ops::Bound;
use std::sync::Arc;

use cairndb::{Keyspace, Result};

use crate::handle::transaction::OpenTransaction;
use crate::scan::bounds::Bounds;
use crate::scan::chunk::Chunk;

/// What is left of a range of a transaction.
#[derive(Debug)]
pub(crate) struct Rest {
    transaction: Arc<OpenTransaction>,
    keyspace: Keyspace,
    start: Bound<Vec<u8>>,
    stop: Bound<Vec<u8>>,
    /// The prefix, if the order is a custom one.
    prefix: Option<Vec<u8>>,
    reverse: bool,
    left: Option<u64>,
    /// Whether an entry was taken.
    begun: bool,
    /// Number of changes of the transaction when the last chunk was fetched.
    changes: u64,
}

impl Rest {
    pub(crate) fn new(
        transaction: &Arc<OpenTransaction>,
        keyspace: &Keyspace,
        bounds: Bounds,
    ) -> Rest {
        Rest {
            transaction: Arc::clone(transaction),
            keyspace: keyspace.clone(),
            start: bounds.start.map_or(Bound::Unbounded, Bound::Included),
            stop: bounds.stop.map_or(Bound::Unbounded, Bound::Excluded),
            prefix: bounds.prefix,
            reverse: bounds.reverse,
            left: bounds.left,
            begun: false,
            changes: transaction.changes(),
        }
    }

    /// Returns whether the transaction has written since the last chunk was fetched, so that what
    /// is left of it may be wrong.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.transaction.changes() != self.changes
    }

    /// Continues after the entries that were taken of `chunk`.
    pub(crate) fn pass(&mut self, chunk: &Chunk) {
        let Some(key) = chunk.last_taken() else {
            return;
        };
        let passed = Bound::Excluded(key.to_vec());
        if self.reverse {
            self.stop = passed;
        } else {
            self.start = passed;
        }
        self.begun = true;
        let taken = u64::try_from(chunk.taken()).unwrap_or(u64::MAX);
        self.left = self.left.map(|left| left.saturating_sub(taken));
    }

    /// Fetches up to `entries` entries into `chunk`, which is empty.
    ///
    /// # Errors
    /// Those of the transaction's iterator; the entries before the error are in `chunk`.
    pub(crate) fn fetch(
        &mut self,
        chunk: &mut Chunk,
        entries: usize,
        bytes_max: usize,
    ) -> Result<()> {
        let left = self.left.and_then(|left| usize::try_from(left).ok());
        let entries = left.map_or(entries, |left| left.min(entries));
        let transaction = Arc::clone(&self.transaction);
        transaction.with(|transaction| {
            self.changes = self.transaction.changes();
            let range = (self.start.clone(), self.stop.clone());
            let mut iter = match &self.prefix {
                // In a custom order, only the store finds the first and the last key of a prefix.
                Some(prefix) if !self.begun => transaction.prefix_in(&self.keyspace, prefix)?,
                _ => transaction.range_in(&self.keyspace, range)?,
            }
            .lending();
            while chunk.len() < entries && chunk.bytes() < bytes_max {
                let entry = if self.reverse {
                    iter.next_back()?
                } else {
                    iter.next()?
                };
                let Some((key, value)) = entry else { break };
                let prefix = self.prefix.as_deref().unwrap_or_default();
                if !key.starts_with(prefix) {
                    break;
                }
                chunk.push(key, value);
            }
            Ok(())
        })
    }
}
