//! The commit of a transaction: the check of what it depends on, and the write of its batch.

use std::cell::Cell;
use std::ops::Bound;
use std::sync::Arc;

use arc_swap::Guard;
use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo};
use cairndb_format::batch::Entry;

use crate::api::access::consistent_read_point;
use crate::engine::core::Core;
use crate::log::commit::Commit;
use crate::read::conflicts::{Span, WrittenSince};
use crate::read::view::View;
use crate::state::batch::WriteBatch;
use crate::state::options::Durability;
use crate::state::sections::{Sections, StoredKey};
use crate::transaction::read_set::ReadSet;

/// Number of keys that are checked under the commit lock only. With more, and with ranges, a check
/// without the lock comes first, so that other writers do not wait for it.
const KEYS_CHECKED_ONCE: usize = 64;

/// Maximum number of checks without the lock: after each, only what was written in the meantime is
/// left to check.
const PASSES_MAX: usize = 3;

/// The views of all sections.
type Views = Sections<Option<Guard<Arc<View>>>>;

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
        self.reads.key_count() + written <= KEYS_CHECKED_ONCE
            && self.reads.spans().is_empty()
            && !self.written.is_some_and(WriteBatch::has_ranges)
    }

    /// Returns the deleted ranges of the batch.
    fn written_ranges(&self) -> impl Iterator<Item = Entry<'_>> {
        let written = self.written.into_iter();
        let written = written.filter(|batch| batch.has_ranges());
        let entries = written.flat_map(|batch| batch.writer().own_entries());
        entries.filter(|entry| entry.kind == Kind::RangeDelete)
    }

    /// Checks that nothing was written after `since`.
    ///
    /// # Errors
    /// `Conflict`, with the key; `Corruption`; `Io`.
    fn check(&self, views: &Views, since: SeqNo) -> Result<()> {
        let later = |section| {
            let view = views[section].as_ref();
            WrittenSince::new(view.expect("a keyspace's section has a view"), since)
        };
        let mut scratch = Vec::new();
        let written = self.written.into_iter();
        let written = written.flat_map(|batch| batch.writer().own_entries());
        // An operand is applied to whatever is there, so it depends on nothing.
        let written = written.filter(|entry| entry.kind != Kind::Merge);
        let written = written.map(|entry| StoredKey::of_entry(&entry));
        for keyspace in self.reads.keyspaces() {
            keyspace.check()?;
        }
        for entry in self.written_ranges() {
            let key = StoredKey::of_entry(&entry);
            let to = match entry.value {
                [] => Bound::Unbounded,
                end => Bound::Excluded(end.to_vec()),
            };
            let from = Bound::Included(key.bytes.to_vec());
            let section = key.section;
            if let Some(bytes) = later(section).key_in(&Span { section, from, to })? {
                let bytes = &bytes;
                return Err(conflict(StoredKey { section, bytes }));
            }
        }
        for key in self.reads.keys().chain(written) {
            if later(key.section).key(key.bytes, &mut scratch)? {
                return Err(conflict(key));
            }
        }
        for span in self.reads.spans() {
            let section = span.section;
            if let Some(key) = later(section).key_in(span)? {
                let bytes = &key;
                return Err(conflict(StoredKey { section, bytes }));
            }
        }
        Ok(())
    }
}

#[cold]
fn conflict(key: StoredKey<'_>) -> Error {
    Error::new(
        ErrorKind::Conflict,
        "a key that the transaction depends on was written after it began; run the transaction \
         again",
    )
    .key(key.users())
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
        let mut views = Views::default();
        let mut published = SeqNo::MAX;
        // Each view has everything up to the number that is loaded with it.
        for section in core.base.versions.sections() {
            let (view, seq) = consistent_read_point(core, section);
            published = published.min(seq);
            *views.get_mut(section) = Some(view);
        }
        let mut settled = views.iter().flatten().map(|view| view.settled_seq());
        let in_memtable = settled.all(|settled| settled <= checked);
        if published == checked || dependencies.are_few() && in_memtable {
            break;
        }
        dependencies.check(&views, checked)?;
        checked = published;
    }
    let checked = Cell::new(checked);
    core.write_batch_if(batch, durability, &|commit: &Commit| {
        // Also entries that wait for their sync and are not published.
        if commit.last_seq == checked.get() {
            return Ok(());
        }
        let mut views = Views::default();
        for section in core.base.versions.sections() {
            *views.get_mut(section) = Some(core.base.versions.view_of(section));
        }
        dependencies.check(&views, checked.get())?;
        checked.set(commit.last_seq);
        Ok(())
    })
}
