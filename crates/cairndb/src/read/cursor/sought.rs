//! Seeks that place no source: what they lead to is looked up as a get would, and shown by a copy.

use std::mem;

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_mem::MemPlace;

use crate::read::cursor::{Shown, ViewCursor};
use crate::read::get::{Newest, newest};
use crate::read::view::View;

/// Sources from which on a seek asks for its very key first, as a get does, unless the last one was moved on. With fewer, a
/// scan that begins with the seek would lose more than a seek alone gains.
const SOURCES_ASKED: usize = 4;
/// Runs that are asked which entry is next, at most; with more, cursors are placed.
const RUNS_MAX: usize = 16;
/// With more runs, to look into each is what a cursor costs, and writers are told so: else they would let twice as many
/// come.
const RUNS_FEW: usize = 2;

impl ViewCursor {
    /// Shows the entry that a seek leads to, where that can be expected to be found without placing a source.
    pub(super) fn found_first(&mut self, key: &[u8]) -> Result<bool> {
        let view = &*self.view;
        let (parts, runs) = (view.parts(), view.version.runs.len());
        let seeks = &view.readers.stripes.mine().seeks;
        let asked = parts + runs >= SOURCES_ASKED && !seeks.moved();
        // Equal keys of another order may differ, and only a source can tell how one was written.
        if asked && view.context().order.can_hash() && self.found(key)? {
            return Ok(true);
        }
        let view = &*self.view;
        let alone = (1..=RUNS_MAX).contains(&runs) && view.readers.stripes.mine().seeks.alone();
        Ok(alone && self.found_in_place(key)?)
    }

    /// Shows the entry that a seek leads to in the parts and runs there are, if what is found is a plain value: of a few, as a
    /// load leaves a small database, or `compact`, or as one is opened; and of many beside a writer, where the very key was
    /// not there.
    ///
    /// All runs are asked for their pages, then the parts are searched, then the pages. (A get of the very key, and a search
    /// of both where it is not there, took 468 ns a seek of a part and a run, of which a third were for missing keys; this
    /// takes 330.)
    fn found_in_place(&mut self, key: &[u8]) -> Result<bool> {
        self.leave_sought();
        let view = &*self.view;
        let order = &view.context().order;
        view.note_read();
        if view.version.runs.len() > RUNS_FEW {
            view.note_cursor();
        }
        if view.version.runs.len() > 1 {
            view.note_several();
        }
        let mut begun = [None; RUNS_MAX];
        for (begun, run) in begun.iter_mut().zip(&view.version.runs) {
            if let Some(handle) = run.tables().get(run.find(order, key)) {
                *begun = Some(handle.table()?.approach(key));
            }
        }
        let parts = view.mutable.has_begun() || !view.immutables.is_empty();
        let in_memory = parts
            .then(|| first_in_memtables(view, key, self.seq))
            .flatten();
        let mut nearest = None;
        // The oldest first, which has most: the nearest is likely to be there. Of equal keys the last one stays.
        for approach in begun.into_iter().flatten().rev() {
            let (best, any) = (&self.key, nearest.is_some());
            let nearer = |found: &[u8]| !any || order.compare(found, best).is_le();
            let value = self.value.own();
            let Some(mark) = approach.seek(key, self.seq, &mut self.other, value, nearer)? else {
                // What comes next in this run stands in its next table.
                return Ok(self.seek_was_vain());
            };
            if nearer(&self.other) {
                nearest = Some(mark);
                mem::swap(&mut self.key, &mut self.other);
            }
        }
        // Versions stand newest first: what everybody at this number sees comes before the rest of its key.
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
            return Ok(self.seek_was_vain());
        }
        self.shown = Shown::Apart;
        Ok(true)
    }

    /// A seek that was taken to be alone has found nothing that could be shown; `false`.
    #[cold]
    fn seek_was_vain(&self) -> bool {
        self.view.readers.stripes.mine().seeks.note_vain();
        false
    }

    /// Shows the entry of the very `key`, if that has a plain value.
    fn found(&mut self, key: &[u8]) -> Result<bool> {
        self.leave_sought();
        let value = self.value.own();
        value.clear();
        let newest = newest(&self.view, self.view.context(), key, self.seq, value)?;
        if !matches!(newest, Newest::Value) {
            return Ok(false);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.shown = Shown::Apart;
        Ok(true)
    }

    /// Shows nothing any more; a cursor that is placed by a second such seek may be kept for more.
    fn leave_sought(&mut self) {
        self.end_window();
        if self.shown == Shown::Apart {
            self.view.count();
        }
        self.shown = Shown::Nothing;
    }
}

/// The nearest entry visible at `seq` and not before `key` in a view's parts, the newest version of its key in them.
fn first_in_memtables<'v>(view: &'v View, key: &[u8], seq: SeqNo) -> Option<MemPlace<'v>> {
    let order = &view.context().order;
    let mut first: Option<MemPlace<'_>> = None;
    // Newest first: of equal keys the one that was found first stays.
    for part in std::iter::once(&view.mutable).chain(&view.immutables) {
        if let Some(found) = part.seek(key, seq)
            && first.is_none_or(|first| order.compare(found.key(), first.key()).is_lt())
        {
            first = Some(found);
        }
    }
    first
}
