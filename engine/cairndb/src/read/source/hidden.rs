//! Entries of a source that the deletion of their range hides, and how a source passes them.

use std::sync::Arc;

use cairndb_base::{Result, SEQ_MAX, SeqNo};
use cairndb_mem::MemCursor;

use crate::read::source::{MergeSource, RunCursor};
use crate::state::ranges::Deleted;
use crate::state::version::TableHandle;
use crate::state::version::deleted::number_or;

/// Returns the sequence number up to which deletions of ranges have been applied to the entries of
/// the current table.
pub(crate) fn ranges_applied(source: &MergeSource) -> SeqNo {
    match source {
        MergeSource::Mem(_) => 0,
        MergeSource::Run(run) => {
            let table = run.run.tables().get(run.at);
            table.map_or(0, |table| table.record.ranges_applied)
        }
    }
}

/// Returns whether the current entry is older than a deletion of its range at `deleted`.
pub(crate) fn deleted_before(source: &MergeSource, deleted: SeqNo) -> bool {
    number_or(source.seq(), || ranges_applied(source)) < deleted
}

/// Where a source may continue after entries that a deleted range hides.
#[derive(Debug)]
pub(crate) struct HiddenEnd {
    /// `None` if nothing follows.
    key: Option<Vec<u8>>,
    /// Sequence number to seek with: the key itself is skipped if it is the maximum going backward.
    seq: SeqNo,
}

impl HiddenEnd {
    /// Returns the end of `range`.
    fn of(range: &Deleted, forward: bool) -> HiddenEnd {
        let end = if forward {
            range.end.as_ref()
        } else {
            Some(&range.start)
        };
        HiddenEnd {
            key: end.map(|key| key.to_vec()),
            seq: SEQ_MAX,
        }
    }

    /// Returns the end at `key`, which is not skipped.
    fn at(key: &[u8], forward: bool) -> HiddenEnd {
        HiddenEnd {
            key: Some(key.to_vec()),
            seq: if forward { SEQ_MAX } else { 0 },
        }
    }
}

/// See [`end_of_hidden`]. Entries inserted since the deletion are reported by the
/// memtable, or were appended after all others.
fn end_in_memtable(cursor: &MemCursor, range: &Deleted, forward: bool) -> Option<HiddenEnd> {
    let (table, order, place) = (cursor.table(), cursor.table().order(), cursor.key());
    if table.seq_max() <= range.seq {
        return Some(HiddenEnd::of(range, forward));
    }
    let is_ahead = |key: &[u8]| order.compare(key, place).is_gt() == forward;
    let mut nearest = None;
    if forward {
        nearest = Some(table.key_near_end(range.seq).filter(|key| is_ahead(key))?);
    } else if !table.ends_as_at(range.seq) {
        return None;
    }
    let mut is_here = false;
    let all = table.inserted_between(range.seq, |key| {
        let is_nearer = |than: &[u8]| order.compare(key, than).is_lt() == forward;
        if order.compare(key, place).is_eq() {
            // Going backward, the newer versions of a key come last.
            is_here = !forward;
        } else if is_ahead(key) && nearest.is_none_or(is_nearer) {
            nearest = Some(key);
        }
    });
    let is_within =
        |key: &&[u8]| order.compare(key, &range.start).is_ge() && range.reaches(order, key);
    let end = match nearest.filter(is_within) {
        Some(key) => HiddenEnd::at(key, forward),
        None => HiddenEnd::of(range, forward),
    };
    (all && !is_here).then_some(end)
}

/// See [`end_of_hidden`].
fn end_in_run(run: &RunCursor, range: &Deleted, forward: bool) -> Option<HiddenEnd> {
    let (tables, order) = (run.run.tables(), &run.order);
    let is_within = |table: &Arc<TableHandle>| {
        if forward {
            range.reaches(order, &table.record.smallest)
        } else {
            order.compare(&table.record.largest, &range.start).is_ge()
        }
    };
    let (before, ahead) = tables.split_at(if forward { run.at } else { run.at + 1 });
    let mut ahead: Box<dyn Iterator<Item = &Arc<TableHandle>>> = if forward {
        Box::new(ahead.iter())
    } else {
        Box::new(before.iter().rev())
    };
    if ahead.next()?.has_newer_than(range.seq) {
        return None;
    }
    let newer = ahead
        .take_while(|table| is_within(table))
        .find(|table| table.has_newer_than(range.seq));
    Some(match newer {
        Some(table) if forward => HiddenEnd::at(&table.record.smallest, true),
        Some(table) => HiddenEnd::at(&table.record.largest, false),
        None => HiddenEnd::of(range, forward),
    })
}

/// Returns where a source may continue, past its current entry, which the deletion of `range`
/// hides: forward the first key, backward the first version after it, up to the end of the range.
/// Returns `None` if the next entry may be newer than the deletion.
pub(crate) fn end_of_hidden(
    source: &MergeSource,
    range: &Deleted,
    forward: bool,
) -> Option<HiddenEnd> {
    match source {
        MergeSource::Mem(cursor) => end_in_memtable(cursor, range, forward),
        MergeSource::Run(run) => end_in_run(run, range, forward),
    }
}

/// Moves a source to the position that [`end_of_hidden`] has returned.
pub(crate) fn pass_hidden(source: &mut MergeSource, end: &HiddenEnd, forward: bool) -> Result<()> {
    match &end.key {
        Some(key) if forward => source.seek(key, end.seq),
        Some(key) => source.seek_for_prev(key, end.seq),
        None => {
            source.leave();
            Ok(())
        }
    }
}
