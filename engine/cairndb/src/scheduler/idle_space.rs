//! Flushes a memtable that prevents an idle database from freeing space.
//!
//! A tombstone, or a short value that overwrites a long one, makes nothing dead until it is in a
//! table, because only tables record which parts of a value file are live. Under load the memtable
//! is flushed soon. In an idle database it may stay forever, and with it the large values of
//! thousands of deleted keys. The worker therefore looks up the values that its entries hide, in
//! value files and in tables, and flushes it if more would be dead than an idle database may have
//! ([`Allowance`](crate::value_gc::pick::Allowance)). It also flushes a memtable that keeps much
//! more of the log than the current segment.
//!
//! Rejected: flushing every memtable of an idle database, because an application that writes one
//! entry per second would make a table of each; counting tombstones, because most delete short
//! values or nothing.
//!
//! Each entry is looked up once, and the result is kept ([`Hidden`]). The next write wakes the idle
//! worker, which costs that write a signal.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arc_swap::Guard;
use cairndb_base::{Kind, SeqNo};
use cairndb_format::value_file::Pointer;
use cairndb_mem::Memtable;

use crate::jobs::relocation::Hidden;
use crate::log::commit::Commit;
use crate::read::get;
use crate::read::view::View;
use crate::scheduler::runner::Runner;
use crate::state::memtables::Memtables;
use crate::state::sections::Section;
use crate::state::version::census::Census;
use crate::versions::base::LOG_WHEN_IDLE;

/// Returns the number of bytes of large values that entries of `mem` up to `published` hide, in it
/// and below. `before` is the result of the last call. Values that a snapshot still sees count as
/// hidden: a flush that frees nothing now pays off once the snapshot is dropped.
fn hidden_by(mem: &Memtables, before: Hidden, views: &[Arc<View>], published: SeqNo) -> Hidden {
    let memtable = mem.seq_min();
    let mut hidden = Hidden {
        memtable,
        seen: published,
        bytes: 0,
    };
    let seen = if before.memtable == memtable {
        hidden.bytes = before.bytes;
        before.seen
    } else {
        0
    };
    if seen >= published {
        return hidden;
    }
    for view in views {
        if let Some(part) = mem.part(view.context().section) {
            let below = memtable.saturating_sub(1);
            hidden.bytes += hidden_by_part(part, view, seen..=published, below);
        }
    }
    hidden
}

/// Returns the bytes that the entries of one section hide whose numbers are in `seqs`, except for
/// the first. `below` is the number before all of the memtables.
fn hidden_by_part(
    part: &Arc<Memtable>,
    view: &View,
    seqs: RangeInclusive<SeqNo>,
    below: SeqNo,
) -> u64 {
    let (context, seen, published) = (view.context(), *seqs.start(), *seqs.end());
    let (mut key, mut scratch, mut bytes) = (Vec::new(), Vec::new(), 0);
    let ranges = view.readers.ranges.newest();
    let mut cursor = part.cursor();
    cursor.seek_to_first();
    while cursor.valid() {
        key.clear();
        key.extend_from_slice(cursor.key());
        // The last version visited that is not an operand; it hides the older versions that follow.
        let mut hider: Option<SeqNo> = None;
        while cursor.valid() && context.order.compare(cursor.key(), &key).is_eq() {
            let (seq, kind) = (cursor.seq(), cursor.kind());
            if seq <= published && kind != Kind::Merge {
                if kind == Kind::Pointer && hider.is_some_and(|hider| hider > seen) {
                    bytes += Pointer::decode(cursor.value()).map_or(0, stored);
                }
                hider = Some(seq);
            }
            cursor.next();
        }
        if hider.is_some_and(|hider| hider > seen) {
            // A value that cannot be read is not known to be large.
            let found = get::stored_at(view, context, &key, (below, &ranges), &mut scratch);
            bytes += found.unwrap_or(0);
        }
    }
    bytes
}

/// Returns whether `mem` has tombstones. On a nearly full disk an idle database flushes every such
/// memtable.
fn has_tombstones(mem: &Arc<Memtable>) -> bool {
    let mut cursor = mem.cursor();
    cursor.seek_to_first();
    while cursor.valid() {
        if cursor.kind() == Kind::Delete {
            return true;
        }
        cursor.next();
    }
    false
}

fn stored(pointer: Pointer) -> u64 {
    u64::from(pointer.len)
}

impl Runner {
    /// Seals the mutable memtable of an idle database if it points to many large values, hides too
    /// many, or keeps too much of the log. Returns whether it did.
    pub(crate) fn seal_for_space(&self) -> bool {
        if self.base.health.check_write().is_err() || !self.keeps_space() {
            return false;
        }
        let mut commit = self.disk.log.lock();
        let may = !commit.closing && commit.awaiting_sync.is_empty();
        commit.look_again |= !commit.awaiting_sync.is_empty();
        if !may || commit.mutable.is_empty() || self.writer.sealer.seal(&mut commit).is_some() {
            return false;
        }
        let segment = commit.segment.as_ref();
        if segment.is_some_and(|it| it.region.size() > self.base.settings.budget.segment) {
            // The segment was created for one long record.
            commit.leave_segment();
        }
        true
    }

    /// Returns whether the mutable memtable has deleted ranges that hide entries of tables.
    fn deletes_ranges(&self, commit: &Commit) -> bool {
        if commit.memtable_ranges().is_empty() {
            return false;
        }
        let version = self.base.versions.version();
        let orders = &self.base.opener.orders;
        commit.memtable_ranges().iter().any(|(section, range)| {
            let mut tables = version.tables_in(orders, *section, range);
            tables.any(|table| table.has_hidden_by(range.seq))
        })
    }

    /// Returns whether a flush of the mutable memtable would free more than an idle database may
    /// keep.
    fn keeps_space(&self) -> bool {
        let (views, version, mem, written, in_memtables, hidden, unmovable) = {
            let mut commit = self.disk.log.lock();
            // Entries that wait for a sync are not published yet, so they are not examined now.
            commit.look_again |= !commit.awaiting_sync.is_empty();
            if commit.mutable.is_empty() {
                commit.wakes_worker = self
                    .space
                    .value_gc()
                    .may_hide_much(&self.base.versions.lock().version);
                return false;
            }
            if commit.keeps_long_log(self.base.settings.budget.segment, LOG_WHEN_IDLE)
                || self.disk.reserve.is_near() && commit.mutable.parts().any(has_tombstones)
                || self.deletes_ranges(&commit)
            {
                return true;
            }
            let state = self.base.versions.lock();
            // Set first, so that a write from here on makes the worker look again.
            commit.wakes_worker = self.space.value_gc().may_hide_much(&state.version);
            if !commit.wakes_worker {
                return false;
            }
            let written = commit.value_bytes();
            let sealed: u64 = state.immutables.iter().map(|part| part.values.bytes).sum();
            let value_gc = &state.value_gc;
            (
                self.base
                    .versions
                    .views()
                    .map(Guard::into_inner)
                    .collect::<Vec<_>>(),
                Arc::clone(&state.version),
                commit.mutable.clone(),
                written,
                written + sealed,
                value_gc.hidden,
                value_gc.unmovable.clone(),
            )
        };
        if written >= self.base.values_when_idle_max() {
            return true;
        }
        let published = self.base.versions.read_point(Section::Default).1;
        let hidden = hidden_by(&mem, hidden, &views, published);
        self.base.versions.lock().value_gc.hidden = hidden;
        let mut census = Census::of(&version);
        census.files.retain(|file| !unmovable.contains(&file.file));
        // The counts of tables do not include values that memtables point to.
        let dead = census.dead().saturating_sub(in_memtables) + hidden.bytes;
        let all = census.bytes() + version.bytes();
        let max = self
            .space
            .value_gc()
            .allowance()
            .dead_max(all.saturating_sub(dead));
        dead > max && (hidden.bytes >= max / 8 || written > 0)
    }
}
