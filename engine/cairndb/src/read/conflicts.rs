//! Conflicts of a transaction: whether a key or a range that it depends on was written after its
//! snapshot.
//!
//! A version that is newer than an open snapshot keeps its sequence number, and the newest version
//! of a key is not dropped before that snapshot is released (`jobs/rules.rs`), not even a
//! tombstone. So a key was written after the snapshot if and only if its newest version has a
//! larger sequence number, and memtables and tables without such numbers need not be searched:
//! usually all but the mutable memtable. One exception: a version that was put after the snapshot,
//! and whose range was deleted after that, may be gone. The key is then absent before and after.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use cairndb_base::{Order, Result, SEQ_MAX, SeqNo};
use cairndb_mem::Memtable;

use crate::read::view::View;
use crate::state::keyspaces::KeyspaceState;
use crate::state::ranges::Deleted;
use crate::state::sections::Section;
use crate::state::version::{Run, TableHandle};

/// Both ends of a range of keys of one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) section: Section,
    pub(crate) from: Bound<Vec<u8>>,
    pub(crate) to: Bound<Vec<u8>>,
}

impl Span {
    /// Returns the range of all keys.
    pub(crate) fn all() -> Span {
        Span {
            section: Section::Default,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
        }
    }

    /// Returns the stored form of a range of a keyspace's keys.
    pub(crate) fn stored_in(self, keyspace: &KeyspaceState) -> Span {
        let stored = |bound: Bound<Vec<u8>>, end: &[u8]| match bound {
            Bound::Unbounded => Bound::Excluded(end.to_vec()),
            bound => bound.map(|key| [&keyspace.prefix(), &*key].concat()),
        };
        let (before, after) = keyspace.ends();
        Span {
            section: keyspace.section(),
            from: stored(self.from, &before),
            to: stored(self.to, &after),
        }
    }

    /// Returns how `key` compares with the range: `Less` if it comes before it.
    pub(crate) fn locate(&self, order: &Order, key: &[u8]) -> Ordering {
        let before = match &self.from {
            Bound::Unbounded => false,
            Bound::Included(from) => order.compare(key, from).is_lt(),
            Bound::Excluded(from) => order.compare(key, from).is_le(),
        };
        let after = match &self.to {
            Bound::Unbounded => false,
            Bound::Included(to) => order.compare(key, to).is_gt(),
            Bound::Excluded(to) => order.compare(key, to).is_ge(),
        };
        match (before, after) {
            (true, _) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => Ordering::Equal,
        }
    }

    /// Returns the part of the range that is in `limits`.
    pub(crate) fn clamped(self, order: &Order, limits: &Span) -> Span {
        Span {
            section: self.section,
            from: tighter(order, self.from, &limits.from, Ordering::Less),
            to: tighter(order, self.to, &limits.to, Ordering::Greater),
        }
    }

    /// Returns the key at which a search for the first key of the range starts, or `None` if it
    /// starts at the first key of all.
    fn start(&self) -> Option<&[u8]> {
        match &self.from {
            Bound::Unbounded => None,
            Bound::Included(from) | Bound::Excluded(from) => Some(from),
        }
    }
}

/// Returns `bound`, or `limit` if `bound` is beyond it or includes it.
fn tighter(
    order: &Order,
    bound: Bound<Vec<u8>>,
    limit: &Bound<Vec<u8>>,
    beyond: Ordering,
) -> Bound<Vec<u8>> {
    let (Bound::Included(end) | Bound::Excluded(end)) = limit else {
        return bound;
    };
    match &bound {
        Bound::Included(key) | Bound::Excluded(key) => {
            let ordering = order.compare(key, end);
            if ordering == beyond || ordering.is_eq() {
                limit.clone()
            } else {
                bound
            }
        }
        Bound::Unbounded => limit.clone(),
    }
}

/// What was written after a sequence number, in one view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenSince<'a> {
    view: &'a View,
    since: SeqNo,
}

impl<'a> WrittenSince<'a> {
    /// Returns what was written after `since`. There must be an open snapshot at `since` or before.
    pub(crate) fn new(view: &'a View, since: SeqNo) -> WrittenSince<'a> {
        WrittenSince { view, since }
    }

    fn order(&self) -> &'a Order {
        &self.view.context().order
    }

    /// Returns the memtables with entries written since.
    fn memtables(self) -> impl Iterator<Item = &'a Arc<Memtable>> {
        let parts = std::iter::once(&self.view.mutable).chain(&self.view.immutables);
        parts.filter(move |part| part.seq_max() > self.since)
    }

    /// Returns the runs with entries written since.
    fn runs(self) -> impl Iterator<Item = &'a Arc<Run>> {
        let runs = self.view.version.runs.iter();
        runs.filter(move |run| run.newest() > self.since)
    }

    /// Returns whether `key` was written. Costs a lookup in each memtable and run with entries
    /// written since, up to the newest version; `scratch` is a buffer for lookups in tables.
    ///
    /// # Errors
    /// `Corruption`, with file and offset; `Io`.
    pub(crate) fn key(self, key: &[u8], scratch: &mut Vec<u8>) -> Result<bool> {
        let hash = self.order().hash(key);
        let ranges = &self.view.readers.ranges;
        if ranges.any() && ranges.newest_covering(self.order(), key) > self.since {
            return Ok(true);
        }
        for part in self.memtables() {
            if let Some(newest) = part.newest_seq(key, hash) {
                return Ok(newest > self.since);
            }
        }
        for run in self.runs() {
            let Some(table) = run.tables().get(run.find(self.order(), key)) else {
                continue;
            };
            if table.newest() <= self.since {
                continue;
            }
            scratch.clear();
            if let Some(found) = table.table()?.get(key, hash, SEQ_MAX, scratch)? {
                return Ok(found.seq() > self.since);
            }
        }
        Ok(false)
    }

    /// Returns a key in `span` that was written, if there is one. Costs a step for each entry that
    /// memtables and tables with entries written since have in the range.
    ///
    /// # Errors
    /// `Corruption`, with file and offset; `Io`.
    pub(crate) fn key_in(self, span: &Span) -> Result<Option<Vec<u8>>> {
        let ranges = &self.view.readers.ranges;
        if ranges.any()
            && let Some(key) = ranges.newest().iter().find_map(|it| self.key_of(it, span))
        {
            return Ok(Some(key));
        }
        for part in self.memtables() {
            if let Some(key) = self.key_in_memtable(part, span) {
                return Ok(Some(key));
            }
        }
        for run in self.runs() {
            let start = span.start();
            let first = start.map_or(0, |start| run.find(self.order(), start));
            for table in run.tables().get(first..).unwrap_or_default() {
                if span.locate(self.order(), &table.record.smallest).is_gt() {
                    break;
                }
                if table.newest() > self.since
                    && let Some(key) = self.key_in_table(table, span)?
                {
                    return Ok(Some(key));
                }
            }
        }
        Ok(None)
    }

    /// Returns the first key in `span` of a range deleted since.
    fn key_of(self, range: &Deleted, span: &Span) -> Option<Vec<u8>> {
        let overlaps = match span.locate(self.order(), &range.start) {
            Ordering::Greater => false,
            Ordering::Equal => true,
            Ordering::Less => {
                let from = span.start();
                from.is_none_or(|from| range.reaches(self.order(), from))
            }
        };
        (overlaps && range.seq > self.since).then(|| range.start.to_vec())
    }

    fn key_in_memtable(self, part: &Arc<Memtable>, span: &Span) -> Option<Vec<u8>> {
        let mut cursor = part.cursor();
        match span.start() {
            Some(start) => cursor.seek(start, SEQ_MAX),
            None => cursor.seek_to_first(),
        }
        while cursor.valid() {
            let place = span.locate(self.order(), cursor.key());
            if place.is_gt() {
                return None;
            }
            if place.is_eq() && cursor.seq() > self.since {
                return Some(cursor.key().to_vec());
            }
            cursor.next();
        }
        None
    }

    fn key_in_table(self, table: &TableHandle, span: &Span) -> Result<Option<Vec<u8>>> {
        let mut cursor = table.table()?.cursor();
        match span.start() {
            Some(start) => cursor.seek(start, SEQ_MAX)?,
            None => cursor.first()?,
        }
        while cursor.valid() {
            let place = span.locate(self.order(), cursor.key());
            if place.is_gt() {
                return Ok(None);
            }
            if place.is_eq() && cursor.seq() > self.since {
                return Ok(Some(cursor.key().to_vec()));
            }
            cursor.next()?;
        }
        Ok(None)
    }
}
