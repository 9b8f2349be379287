//! The commit of a transaction: the check of what it depends on, and the write of its batch.

use std::cell::Cell;

use cairndb_base::{Error, ErrorKind, Result, SeqNo};

use crate::api::access::consistent_read_point;
use crate::engine::core::Core;
use crate::log::commit::Commit;
use crate::read::conflicts::WrittenSince;
use crate::read::view::View;
use crate::state::batch::{BatchEntry, WriteBatch};
use crate::state::options::Durability;
use crate::transaction::read_set::ReadSet;

/// Number of keys that are checked under the commit lock only. With more, and with ranges, a check
/// without the lock comes first, so that other writers do not wait for it.
const KEYS_CHECKED_ONCE: usize = 64;

/// Maximum number of checks without the lock: after each, only what was written in the meantime is
/// left to check.
const PASSES_MAX: usize = 3;

/// What a transaction depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependencies<'a> {
    pub(crate) reads: &'a ReadSet,
    /// The batch, if the keys that it puts and deletes must not have changed either.
    pub(crate) written: Option<&'a WriteBatch>,
}

impl Dependencies<'_> {
    /// Returns whether checking takes a single search of a memtable, or a few.
    fn are_few(&self) -> bool {
        let written = self.written.map_or(0, WriteBatch::len);
        self.reads.key_count() + written <= KEYS_CHECKED_ONCE && self.reads.spans().is_empty()
    }

    /// Checks that nothing was written after `since`.
    ///
    /// # Errors
    /// `Conflict`, with the key; `Corruption`; `Io`.
    fn check(&self, view: &View, since: SeqNo) -> Result<()> {
        let (later, mut scratch) = (WrittenSince::new(view, since), Vec::new());
        let written = self.written.into_iter().flat_map(WriteBatch::iter);
        // An operand is applied to whatever is there, so it depends on nothing.
        let written = written.filter_map(|entry| match entry {
            BatchEntry::Put { key, .. } | BatchEntry::Delete { key } => Some(key),
            BatchEntry::Merge { .. } => None,
        });
        for key in self.reads.keys().chain(written) {
            if later.key(key, &mut scratch)? {
                return Err(conflict(key));
            }
        }
        for span in self.reads.spans() {
            if let Some(key) = later.key_in(span)? {
                return Err(conflict(&key));
            }
        }
        Ok(())
    }
}

#[cold]
fn conflict(key: &[u8]) -> Error {
    Error::new(
        ErrorKind::Conflict,
        "a key that the transaction depends on was written after it began; run the transaction \
         again",
    )
    .key(key)
}

/// Writes `batch` at `durability`, if nothing in `dependencies` was written after `since`, at which
/// there is an open snapshot.
///
/// # Errors
/// `Conflict`, with the key; the errors of [`Core::write_batch`]. After an error nothing is
/// written.
pub(crate) fn commit(
    core: &Core,
    batch: &WriteBatch,
    durability: Durability,
    since: SeqNo,
    dependencies: Dependencies<'_>,
) -> Result<()> {
    let mut checked = since;
    for _ in 0..PASSES_MAX {
        let (view, published) = consistent_read_point(core);
        let in_memtable = view.settled_seq() <= checked;
        if published == checked || dependencies.are_few() && in_memtable {
            break;
        }
        dependencies.check(&view, checked)?;
        checked = published;
    }
    let checked = Cell::new(checked);
    core.write_batch_if(batch, durability, &|commit: &Commit| {
        // Also entries that wait for their sync and are not published.
        if commit.last_seq == checked.get() {
            return Ok(());
        }
        dependencies.check(&core.base.versions.view(), checked.get())?;
        checked.set(commit.last_seq);
        Ok(())
    })
}
