//! Seeks that position no source: the target is looked up as by a get, and copied.

use std::mem;

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_mem::MemPlace;

use crate::read::cursor::{Location, ViewCursor};
use crate::read::get::{Newest, newest};
use crate::read::view::View;

/// Minimum number of sources at which a seek first looks up its key as a get does, unless the last
/// seek was followed by a move. With fewer sources, a scan that starts with the seek would lose
/// more than a single seek gains.
const SOURCES_ASKED: usize = 4;
/// Maximum number of runs that are searched for the next entry; with more, cursors are positioned.
const RUNS_MAX: usize = 16;
/// Number of runs above which searching each costs as much as a cursor, and is recorded as one:
/// otherwise writers would allow twice as many runs.
const RUNS_FEW: usize = 2;

impl ViewCursor {
    /// Moves to the target of a seek, if it is likely to be found without positioning a source.
    pub(super) fn point_seek(&mut self, key: &[u8]) -> Result<bool> {
        let view = &*self.view;
        let (parts, runs) = (view.memtables(), view.version.runs.len());
        let seeks = &view.readers.thread_caches.mine().seeks;
        let looks_up = parts + runs >= SOURCES_ASKED && !seeks.moved();
        // Keys that compare equal in a custom order may differ in bytes, and only a source has the
        // stored bytes.
        if looks_up && view.context().order.can_hash() && self.found(key)? {
            return Ok(true);
        }
        let view = &*self.view;
        let alone =
            (1..=RUNS_MAX).contains(&runs) && view.readers.thread_caches.mine().seeks.alone();
        Ok(alone && self.found_in_place(key)?)
    }

    /// Moves to the target of a seek in the memtables and runs, if it is a plain value. Used with
    /// few runs (a small database after a load, after a compaction, or just opened), and with many
    /// during writes if the key itself was absent.
    ///
    /// First the pages of all runs are prefetched, then the memtables are searched, then the pages.
    /// (Rejected: a get of the key, followed by this search if it is absent, because it was slower
    /// over all seeks.)
    fn found_in_place(&mut self, key: &[u8]) -> Result<bool> {
        self.clear_entry();
        let view = &*self.view;
        let order = &view.context().order;
        view.note_read();
        if view.version.runs.len() > RUNS_FEW {
            view.note_cursor();
        }
        if view.version.runs.len() > 1 {
            view.note_several();
        }
        let mut approaches = [None; RUNS_MAX];
        for (approach, run) in approaches.iter_mut().zip(&view.version.runs) {
            if let Some(handle) = run.tables().get(run.find(order, key)) {
                *approach = Some(handle.table()?.approach(key));
            }
        }
        let parts = view.mutable.has_begun() || !view.immutables.is_empty();
        let in_memory = parts
            .then(|| first_in_memtables(view, key, self.seq))
            .flatten();
        let mut nearest = None;
        // Starts at the oldest run, which is the largest and likely to have the nearest key. Of
        // equal keys, the last one found wins.
        for approach in approaches.into_iter().flatten().rev() {
            let (best, any) = (&self.key, nearest.is_some());
            let nearer = |found: &[u8]| !any || order.compare(found, best).is_le();
            let value = self.value.own();
            let Some(mark) = approach.seek(key, self.seq, &mut self.other, value, nearer)? else {
                // The next entry of this run is in its next table.
                return Ok(self.note_miss());
            };
            if nearer(&self.other) {
                nearest = Some(mark);
                mem::swap(&mut self.key, &mut self.other);
            }
        }
        // Versions are ordered newest first: if this one is visible, it is the newest visible one
        // of its key.
        let mut shows = nearest.is_some_and(|mark| mark.kind == Kind::Put && mark.seq <= self.seq);
        if let Some(first) = in_memory
            && (nearest.is_none() || order.compare(first.key(), &self.key).is_le())
        {
            let entry = first.entry()?;
            shows = entry.kind == Kind::Put;
            self.key.clear();
            self.key.extend_from_slice(first.key());
            let value = self.value.own();
            value.clear();
            value.extend_from_slice(entry.value);
        }
        if !shows {
            return Ok(self.note_miss());
        }
        self.location = Location::Apart;
        Ok(true)
    }

    /// Records that a seek predicted to be alone found no plain value; returns `false`.
    #[cold]
    fn note_miss(&self) -> bool {
        self.view.readers.thread_caches.mine().seeks.note_miss();
        false
    }

    /// Moves to the entry with exactly this `key`, if it is a plain value.
    fn found(&mut self, key: &[u8]) -> Result<bool> {
        self.clear_entry();
        let value = self.value.own();
        value.clear();
        let newest = newest(&self.view, self.view.context(), key, self.seq, value)?;
        if !matches!(newest, Newest::Value) {
            return Ok(false);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.location = Location::Apart;
        Ok(true)
    }

    /// Clears the current entry. A cursor that makes a second such seek may be long-lived, so it
    /// takes a counted reference to its view.
    fn clear_entry(&mut self) {
        self.end_window();
        if self.location == Location::Apart {
            self.view.count();
        }
        self.location = Location::Nothing;
    }
}

/// Finds the nearest entry at or after `key` that is visible at `seq` in the memtables of a view,
/// and returns the newest version of its key in them.
fn first_in_memtables<'v>(view: &'v View, key: &[u8], seq: SeqNo) -> Option<MemPlace<'v>> {
    let order = &view.context().order;
    let mut first: Option<MemPlace<'_>> = None;
    // Newest first: of equal keys, the first one found wins.
    for part in std::iter::once(&view.mutable).chain(&view.immutables) {
        if let Some(found) = part.seek(key, seq)
            && first.is_none_or(|first| order.compare(found.key(), first.key()).is_lt())
        {
            first = Some(found);
        }
    }
    first
}
