//! Sources of a merging iterator: a memtable, or a run of tables in key order.

pub(crate) mod hidden;

use std::cmp::Ordering;
use std::sync::Arc;

use cairndb_base::{HeadRule, Kind, Order, Result, SEQ_MAX, SeqNo};
use cairndb_format::table::{EntryIn, PageWindow, TableCursor, ValueIn};
use cairndb_mem::{MemCursor, Memtable};

use crate::state::version::Run;

/// A cursor over the tables of a run.
#[derive(Debug)]
pub(crate) struct RunCursor {
    run: Arc<Run>,
    order: Order,
    at: usize,
    table: Option<TableCursor>,
    /// Entries of the current table with larger sequence numbers do not count, and are passed over.
    /// Below the maximum, every entry is looked at singly.
    limit: SeqNo,
    /// Whether every page is verified when it is entered, even if it was verified before.
    recheck: bool,
}

impl RunCursor {
    pub(crate) fn new(run: Arc<Run>, order: Order) -> RunCursor {
        RunCursor {
            run,
            order,
            at: usize::MAX,
            table: None,
            limit: SEQ_MAX,
            recheck: false,
        }
    }

    /// Makes the cursor verify every page. Used by compactions: their output outlives this handle,
    /// so no page is trusted because it was verified once.
    pub(crate) fn rechecking(mut self) -> RunCursor {
        self.recheck = true;
        self
    }

    /// Makes table `index` current. Keeps its cursor if it already is.
    fn enter(&mut self, index: usize) -> Result<Option<&mut TableCursor>> {
        if index >= self.run.tables().len() {
            self.at = usize::MAX;
            self.table = None;
            return Ok(None);
        }
        if self.at != index || self.table.is_none() {
            let handle = &self.run.tables()[index];
            let table = handle.table()?;
            self.limit = handle.limit();
            match &mut self.table {
                Some(cursor) => cursor.change_table(table),
                None if self.recheck => self.table = Some(table.cursor().rechecking()),
                None => self.table = Some(table.cursor()),
            }
            self.at = index;
        }
        Ok(self.table.as_mut())
    }

    fn begin_seek(&mut self, key: &[u8], asks: bool) -> Result<()> {
        let index = self.run.find(&self.order, key);
        match self.enter(index)? {
            Some(table) => table.begin_seek(key, asks),
            None => Ok(()),
        }
    }

    fn end_seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        if let Some(table) = &mut self.table {
            table.end_seek(key, seq.min(self.limit))?;
        }
        self.settle_forward()
    }

    fn seek_for_prev(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let index = self
            .run
            .find(&self.order, key)
            .min(self.run.tables().len().wrapping_sub(1));
        if let Some(table) = self.enter(index)? {
            table.seek_for_prev(key, seq)?;
        }
        self.settle_backward()
    }

    fn first(&mut self) -> Result<()> {
        if let Some(table) = self.enter(0)? {
            table.first()?;
        }
        self.settle_forward()
    }

    fn last(&mut self) -> Result<()> {
        if let Some(table) = self.enter(self.run.tables().len().wrapping_sub(1))? {
            table.last()?;
        }
        self.settle_backward()
    }

    /// Returns whether the entries of the current table are looked at singly.
    #[inline]
    fn is_limited(&self) -> bool {
        self.limit < SEQ_MAX
    }

    /// Returns the current table's cursor if it has left the table, or is at an entry that does not
    /// count.
    #[inline]
    fn unsettled(&mut self) -> Option<&mut TableCursor> {
        let limit = self.limit;
        let table = self.table.as_mut();
        table.filter(|table| !table.valid() || table.seq() > limit)
    }

    fn settle_forward(&mut self) -> Result<()> {
        while let Some(table) = self.unsettled() {
            if table.valid() {
                table.next()?;
                continue;
            }
            let next = self.at + 1;
            if let Some(table) = self.enter(next)? {
                table.first()?;
            }
        }
        Ok(())
    }

    fn settle_backward(&mut self) -> Result<()> {
        while let Some(table) = self.unsettled() {
            if table.valid() {
                table.prev()?;
                continue;
            }
            let before = self.at.wrapping_sub(1);
            if let Some(table) = self.enter(before)? {
                table.last()?;
            }
        }
        Ok(())
    }
}

/// One source of a merging iterator.
#[derive(Debug)]
pub(crate) enum MergeSource {
    /// A memtable.
    Mem(MemCursor),
    /// A run of tables.
    Run(Box<RunCursor>),
}

impl MergeSource {
    /// Returns the prefix that all keys of the source share.
    pub(crate) fn prefix(&self) -> &[u8] {
        match self {
            MergeSource::Mem(cursor) => cursor.table().common_prefix(),
            MergeSource::Run(run) => run.run.prefix(),
        }
    }

    /// Returns whether the source is a cursor over `memtable`.
    #[inline]
    pub(crate) fn is(&self, memtable: &Arc<Memtable>) -> bool {
        matches!(self, MergeSource::Mem(cursor) if Arc::ptr_eq(cursor.table(), memtable))
    }

    /// Leaves the source unpositioned, without a page. It must be positioned before any other call.
    pub(crate) fn release(&mut self) {
        if let MergeSource::Run(run) = self
            && let Some(table) = &mut run.table
        {
            table.release();
        }
    }

    /// Returns the number of heap bytes that the source owns.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            MergeSource::Mem(_) => 0,
            MergeSource::Run(run) => {
                let table = run.table.as_ref().map_or(0, TableCursor::memory_bytes);
                size_of::<RunCursor>() + table
            }
        }
    }

    /// Returns the prefix after which a memtable takes its heads.
    pub(crate) fn hint(&self) -> Option<&[u8]> {
        match self {
            MergeSource::Mem(cursor) => Some(cursor.table().prefix_hint()),
            MergeSource::Run(_) => None,
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        match self {
            MergeSource::Mem(cursor) => cursor.valid(),
            MergeSource::Run(run) => run.table.is_some(),
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            MergeSource::Mem(cursor) => cursor.key(),
            MergeSource::Run(run) => run.table.as_ref().map_or(&[], TableCursor::key),
        }
    }

    #[inline]
    pub(crate) fn seq(&self) -> SeqNo {
        match self {
            MergeSource::Mem(cursor) => cursor.seq(),
            MergeSource::Run(run) => run.table.as_ref().map_or(SEQ_MAX, TableCursor::seq),
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        match self {
            MergeSource::Mem(cursor) => cursor.kind(),
            MergeSource::Run(run) => run.table.as_ref().map_or(Kind::Delete, TableCursor::kind),
        }
    }

    /// Returns the head that a memtable keeps of the current key. Different heads belong to
    /// different keys.
    #[inline]
    pub(crate) fn kept_head(&self) -> Option<u64> {
        match self {
            MergeSource::Mem(cursor) => cursor.valid().then(|| cursor.head()),
            MergeSource::Run(_) => None,
        }
    }

    /// Loads the value of the current entry for [`Source::value`].
    #[inline]
    pub(crate) fn load_value(&mut self) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => cursor.check_value(),
            MergeSource::Run(run) => run.table.as_mut().map_or(Ok(()), TableCursor::load_value),
        }
    }

    /// Returns the value loaded by [`Source::load_value`].
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match self {
            MergeSource::Mem(cursor) => cursor.value(),
            MergeSource::Run(run) => run.table.as_ref().map_or(&[], TableCursor::loaded),
        }
    }

    /// Returns the entry for a compaction, with its value as stored if it can be copied verbatim.
    #[inline]
    pub(crate) fn entry(&mut self) -> Result<EntryIn<'_>> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.check_value()?;
                Ok(EntryIn {
                    key: cursor.key(),
                    seq: cursor.seq(),
                    kind: cursor.kind(),
                    value: ValueIn::Raw(cursor.value()),
                })
            }
            MergeSource::Run(run) => match run.table.as_mut() {
                Some(table) => table.entry(),
                None => Ok(EntryIn::default()),
            },
        }
    }

    /// Writes to `out` the heads, by `rule`, of the current key and of as many following keys as
    /// are known without a step, at most `most`. There must be a current entry. Returns what
    /// [`CursorPage::heads_ahead`](cairndb_format::table::CursorPage::heads_ahead) returns.
    pub(crate) fn heads_ahead(&self, rule: &HeadRule, most: usize, out: &mut Vec<u64>) -> usize {
        match self {
            MergeSource::Run(run)
                if let Some(table) = &run.table
                    && !run.is_limited() =>
            {
                table.page().heads_ahead(rule, most, out)
            }
            _ => {
                out.clear();
                out.push(rule.head(self.key()));
                0
            }
        }
    }

    /// Returns the head that a memtable keeps of the key after the current one.
    #[inline]
    pub(crate) fn next_kept_head(&self) -> Option<u64> {
        match self {
            MergeSource::Mem(cursor) => cursor.next_head(),
            MergeSource::Run(_) => None,
        }
    }

    /// Compares the key after the current one, whose head is known, with `key`.
    pub(crate) fn compare_next(&self, key: &[u8]) -> Ordering {
        match self {
            MergeSource::Mem(cursor) => cursor.compare_next(key),
            MergeSource::Run(run) => {
                let table = run.table.as_ref();
                table.map_or(Ordering::Greater, |table| table.page().compare_next(key))
            }
        }
    }

    /// Returns whether the current entry is known to be the only one of this source with its key.
    #[inline]
    pub(crate) fn unique(&self) -> bool {
        match self {
            MergeSource::Mem(_) => false,
            MergeSource::Run(run) => run
                .table
                .as_ref()
                .is_some_and(|table| table.page().unique()),
        }
    }

    /// Fills `window` with the entries that follow, like [`TableCursor::borrow_window`].
    #[inline]
    pub(crate) fn lend(&mut self, window: &mut PageWindow, steps: usize, forward: bool) -> bool {
        match self {
            MergeSource::Mem(_) => false,
            MergeSource::Run(run) => {
                let whole = !run.is_limited();
                let table = run.table.as_mut().filter(|_| whole);
                table.is_some_and(|table| table.borrow_window(window, steps, forward))
            }
        }
    }

    /// Moves to the position that `window`, filled by `lend`, has reached.
    pub(crate) fn take_back(&mut self, window: &mut PageWindow) {
        if let MergeSource::Run(run) = self
            && let Some(table) = run.table.as_mut()
        {
            table.return_window(window);
        }
    }

    /// Returns whether a run of tables has just entered its page, or a range of it with decoded
    /// keys.
    #[inline]
    pub(crate) fn begins_stretch(&self, forward: bool) -> bool {
        match self {
            MergeSource::Mem(_) => false,
            MergeSource::Run(run) => {
                let table = run.table.as_ref();
                table.is_some_and(|table| table.page().begins_key_window(forward))
            }
        }
    }

    /// Returns a lower bound on the steps that stay before `bound`, within a page of a run.
    pub(crate) fn steps_before(&self, bound: &[u8], forward: bool) -> usize {
        match self {
            MergeSource::Mem(_) => 0,
            MergeSource::Run(run) => {
                let table = run.table.as_ref().filter(|_| !run.is_limited());
                table.map_or(0, |table| table.page().steps_before(bound, forward))
            }
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.next();
                Ok(())
            }
            MergeSource::Run(run) => {
                let Some(table) = run.table.as_mut() else {
                    return Ok(());
                };
                table.next()?;
                if table.valid() && run.limit == SEQ_MAX {
                    Ok(())
                } else {
                    run.settle_forward()
                }
            }
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.prev();
                Ok(())
            }
            MergeSource::Run(run) => {
                let Some(table) = run.table.as_mut() else {
                    return Ok(());
                };
                table.prev()?;
                if table.valid() && run.limit == SEQ_MAX {
                    Ok(())
                } else {
                    run.settle_backward()
                }
            }
        }
    }

    /// Seeks to the first entry at or after `(key, seq)`; newer versions come first.
    pub(crate) fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.begin_seek(key, false)?;
        self.end_seek(key, seq)
    }

    /// Starts a seek that [`Source::end_seek`] completes, by prefetching the data that it reads;
    /// with `asks`, what may have to come from the disk is requested. No other method may be called
    /// in between.
    #[inline]
    pub(crate) fn begin_seek(&mut self, key: &[u8], asks: bool) -> Result<()> {
        match self {
            MergeSource::Mem(_) => Ok(()),
            MergeSource::Run(run) => run.begin_seek(key, asks),
        }
    }

    /// Completes a seek started by [`Source::begin_seek`] with the same key.
    #[inline]
    pub(crate) fn end_seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.seek(key, seq);
                Ok(())
            }
            MergeSource::Run(run) => run.end_seek(key, seq),
        }
    }

    /// Seeks to the last entry at or before `(key, seq)`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.seek_for_prev(key, seq);
                Ok(())
            }
            MergeSource::Run(run) => run.seek_for_prev(key, seq),
        }
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.seek_to_first();
                Ok(())
            }
            MergeSource::Run(run) => run.first(),
        }
    }

    /// Leaves the source unpositioned: after its last entry, or before its first.
    pub(crate) fn leave(&mut self) {
        match self {
            MergeSource::Mem(cursor) => cursor.leave(),
            MergeSource::Run(run) => {
                run.table = None;
                run.at = usize::MAX;
            }
        }
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        match self {
            MergeSource::Mem(cursor) => {
                cursor.seek_to_last();
                Ok(())
            }
            MergeSource::Run(run) => run.last(),
        }
    }
}
