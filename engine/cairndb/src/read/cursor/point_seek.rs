//! Seeks that position no source: the target is looked up as by a get, and copied. A point seek
//! knows the view, not the cursor.

use std::mem;

use cairndb_base::{Kind, Result, SEQ_MAX, SeqNo};
use cairndb_mem::MemPlace;

use super::copied_entry::CopiedEntry;
use crate::read::get::{Newest, ReadAt, newest};
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

/// Looks for the target of a seek, if it is likely to be found without positioning a source.
/// Returns whether `entry` is the target; otherwise its contents are unspecified.
pub(super) fn point_seek(
    view: &View,
    (seq, ranges): ReadAt<'_>,
    key: &[u8],
    entry: &mut CopiedEntry,
) -> Result<bool> {
    let (parts, runs) = (view.memtable_count(), view.version.runs.len());
    let seeks = &view.readers.thread_caches.mine().seeks;
    let looks_up = parts + runs >= SOURCES_ASKED && !seeks.moved();
    // Keys that compare equal in a custom order may differ in bytes, and only a source has the
    // stored bytes.
    if looks_up && view.context().order.can_hash() && found(view, (seq, ranges), key, entry)? {
        return Ok(true);
    }
    if !(1..=RUNS_MAX).contains(&runs) || !seeks.alone() {
        return Ok(false);
    }
    let order = &view.context().order;
    let found = found_nearest(view, seq, key, entry)?
        && (ranges.is_empty() || ranges.covering(order, &entry.key).is_none());
    if !found {
        seeks.note_miss();
    }
    Ok(found)
}

/// Returns whether there is an entry with exactly this `key`, and it is a plain value.
fn found(view: &View, at: ReadAt<'_>, key: &[u8], entry: &mut CopiedEntry) -> Result<bool> {
    let value = entry.value.own();
    value.clear();
    let newest = newest(view, view.context(), key, at, value)?;
    if !matches!(newest, Newest::Value) {
        return Ok(false);
    }
    key.clone_into(&mut entry.key);
    Ok(true)
}

/// Returns whether the next entry in the memtables and runs is a plain value. Used with few runs (a
/// small database after a load, after a compaction, or just opened), and with many during writes if
/// the key itself was absent.
///
/// First the pages of all runs are prefetched, then the memtables are searched, then the pages.
/// (Rejected: a get of the key, followed by this search if it is absent, because it was slower over
/// all seeks.)
fn found_nearest(view: &View, seq: SeqNo, key: &[u8], entry: &mut CopiedEntry) -> Result<bool> {
    let order = &view.context().order;
    view.note_read();
    if view.version.runs.len() > RUNS_FEW {
        view.note_cursor();
    }
    let several = view.version.runs.len() > 1;
    if several {
        view.note_several();
    }
    let mut approaches = [None; RUNS_MAX];
    for (approach, run) in approaches.iter_mut().zip(&view.version.runs) {
        if let Some(handle) = run.tables().get(run.find(order, key)) {
            if handle.limit() < SEQ_MAX {
                return Ok(false);
            }
            *approach = Some(handle.table()?.approach(key, several));
        }
    }
    let parts = view.mutable.has_begun() || !view.immutables.is_empty();
    let in_memory = parts.then(|| first_in_memtables(view, key, seq)).flatten();
    let mut nearest = None;
    // Starts at the oldest run, which is the largest and likely to have the nearest key. Of equal
    // keys, the last one found wins.
    for approach in approaches.into_iter().flatten().rev() {
        let (best, any) = (&entry.key, nearest.is_some());
        let nearer = |found: &[u8]| !any || order.compare(found, best).is_le();
        let value = entry.value.own();
        let Some(mark) = approach.seek(key, seq, &mut entry.other, value, nearer)? else {
            // The next entry of this run is in its next table.
            return Ok(false);
        };
        if nearer(&entry.other) {
            nearest = Some(mark);
            mem::swap(&mut entry.key, &mut entry.other);
        }
    }
    if let Some(first) = in_memory
        && (nearest.is_none() || order.compare(first.key(), &entry.key).is_le())
    {
        let found = first.entry()?;
        first.key().clone_into(&mut entry.key);
        found.value.clone_into(entry.value.own());
        return Ok(found.kind == Kind::Put);
    }
    // Versions are ordered newest first: if this one is visible, it is the newest visible one of
    // its key.
    Ok(nearest.is_some_and(|mark| mark.kind == Kind::Put && mark.seq <= seq))
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
