//! Seeks that place no source: what they lead to is looked up as a get would, and shown by a copy.

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_mem::MemPlace;

use crate::read::cursor::{Shown, ViewCursor};
use crate::read::get::{Newest, newest};
use crate::read::view::View;

/// Sources from which on a seek always asks for its very key first. With fewer, a scan that begins with
/// the seek would lose more than a seek alone gains.
const SOURCES_ASKED: usize = 4;

/// The same where seeks are expected to be alone.
const SOURCES_ASKED_ALONE: usize = 2;

impl ViewCursor {
    /// Shows the entry that a seek leads to, where that can be expected to be found without placing a source.
    pub(super) fn found_first(&mut self, key: &[u8]) -> Result<bool> {
        let view = &*self.view;
        let (parts, runs) = (view.parts(), view.version.runs.len());
        let alone = || view.readers.stripes.mine().seeks.alone();
        if runs == 1 && parts + runs < SOURCES_ASKED {
            return Ok(alone() && self.found_in_place(key)?);
        }
        let asked = parts + runs >= SOURCES_ASKED || parts + runs >= SOURCES_ASKED_ALONE && alone();
        // Equal keys of another order may differ, and only a source can tell how one was written.
        if !asked || !view.context().order.can_hash() {
            return Ok(false);
        }
        let found = self.found(key)?;
        if !found && parts + runs < SOURCES_ASKED {
            self.view.readers.stripes.mine().seeks.note_vain();
        }
        Ok(found)
    }

    /// Shows the entry that a seek leads to in the few parts and the one run there are, if what is found is a plain value:
    /// as a load leaves a small database, or `compact`.
    ///
    /// The run is asked for its page before the parts are searched. (A get of the very key, and a search of both where it
    /// is not there, took 468 ns a seek of which a third were for missing keys; this takes 385.)
    fn found_in_place(&mut self, key: &[u8]) -> Result<bool> {
        self.leave_sought();
        let view = &*self.view;
        let (run, order) = (&view.version.runs[0], &view.context().order);
        let Some(table) = run.tables().get(run.find(order, key)) else {
            return Ok(false);
        };
        let table = table.table()?;
        view.note_read();
        let in_memory = if view.mutable.has_begun() || !view.sealed.is_empty() {
            table.request_seek(key);
            first_in_parts(view, key, self.seq)
        } else {
            None
        };
        let found = table.seek(key, self.seq, &mut self.key, self.value.own())?;
        let shows = match (found, in_memory) {
            // What comes next in the run stands in its next table.
            (None, _) => false,
            (Some(_), Some(first)) if order.compare(first.key(), &self.key).is_le() => {
                let entry = first.entry()?;
                self.key.clear();
                self.key.extend_from_slice(first.key());
                let value = self.value.own();
                value.clear();
                value.extend_from_slice(entry.value);
                entry.kind == Kind::Put
            }
            // Versions stand newest first: what everybody at this number sees comes before the rest of its key.
            (Some(found), _) => found.kind == Kind::Put && found.seq <= self.seq,
        };
        if shows {
            self.shown = Shown::Apart;
        } else {
            self.view.readers.stripes.mine().seeks.note_vain();
        }
        Ok(shows)
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
fn first_in_parts<'v>(view: &'v View, key: &[u8], seq: SeqNo) -> Option<MemPlace<'v>> {
    let order = &view.context().order;
    let mut first: Option<MemPlace<'_>> = None;
    // Newest first: of equal keys the one that was found first stays.
    for part in std::iter::once(&view.mutable).chain(&view.sealed) {
        if let Some(found) = part.seek(key, seq)
            && first.is_none_or(|first| order.compare(found.key(), first.key()).is_lt())
        {
            first = Some(found);
        }
    }
    first
}
