//! Seeks that place no source: what they lead to is looked up as a get would, and shown by a copy.

use cairndb_base::{Kind, Result};

use crate::read::cursor::{Shown, ViewCursor};
use crate::read::get::{Newest, newest};

impl ViewCursor {
    /// Shows the entry that a seek leads to, where one run is all there is, seeks are likely to be alone and
    /// what is found is a plain value.
    pub(super) fn found_in_run(&mut self, key: &[u8]) -> Result<bool> {
        let view = &*self.view;
        let one_run = view.version.runs.len() == 1 && view.sealed.is_empty();
        if !one_run || !view.mutable.is_empty() || !view.readers.stripes.mine().seeks.alone() {
            return Ok(false);
        }
        self.leave_sought();
        let (run, order) = (&self.view.version.runs[0], &self.view.context().order);
        let Some(table) = run.tables().get(run.find(order, key)) else {
            return Ok(false);
        };
        let table = table.table()?;
        self.view.note_read();
        let found = table.seek(key, self.seq, &mut self.key, &mut self.value)?;
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
    pub(super) fn found(&mut self, key: &[u8]) -> Result<bool> {
        self.leave_sought();
        self.value.clear();
        let newest = newest(
            &self.view,
            self.view.context(),
            key,
            self.seq,
            &mut self.value,
        )?;
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
