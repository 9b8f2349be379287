//! Seeks that place no source: what they lead to is looked up as a get would, and shown by a copy.

use cairndb_base::{Kind, Result};

use crate::read::cursor::{Shown, ViewCursor};
use crate::read::get::{Newest, newest};

/// Sources from which on a seek always asks for its very key first. With fewer, a scan that begins with
/// the seek would lose more than a seek alone gains.
const SOURCES_ASKED: usize = 4;

/// The same where seeks are expected to be alone: a memtable and a run, as a load leaves a small database. (With 3 a
/// seek there took 616 ns, with 2 it takes 519.) A lone run is placed for the price of a get.
const SOURCES_ASKED_ALONE: usize = 2;

impl ViewCursor {
    /// Shows the entry that a seek leads to, where that can be expected to be found without placing a source.
    pub(super) fn found_first(&mut self, key: &[u8]) -> Result<bool> {
        let view = &*self.view;
        let (parts, runs) = (view.parts(), view.version.runs.len());
        let alone = || view.readers.stripes.mine().seeks.alone();
        if runs == 1 && parts == 1 && !view.mutable.has_begun() {
            return Ok(alone() && self.found_in_run(key)?);
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

    /// Shows the entry that a seek leads to in the one run there is, if what is found is a plain value.
    fn found_in_run(&mut self, key: &[u8]) -> Result<bool> {
        self.leave_sought();
        let (run, order) = (&self.view.version.runs[0], &self.view.context().order);
        let Some(table) = run.tables().get(run.find(order, key)) else {
            return Ok(false);
        };
        let table = table.table()?;
        self.view.note_read();
        let found = table.seek(key, self.seq, &mut self.key, self.value.own())?;
        // Versions stand newest first: what everybody at this number sees comes before the rest of its key.
        let shows = found.is_some_and(|found| found.kind == Kind::Put && found.seq <= self.seq);
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
