//! Space that only the mutable memtable keeps an idle database from giving back.
//!
//! A tombstone, or a short value over a long one, makes nothing dead before it is in a table:
//! tables alone say what of a value file is alive. Under load the memtable is flushed soon anyway.
//! In an idle database it may stay for ever, and the large values of thousands of deleted keys with
//! it. So the worker looks up what its entries hide, in value files and in tables, and flushes it
//! where that would leave more than an idle database may have dead ([`Allowance`]). It does the
//! same where the memtable keeps much more of the log than the segment that is written.
//!
//! To flush every memtable of an idle database lost: an application that writes an entry a second
//! would make a table of each. To count tombstones lost, too: most delete short values, or nothing.
//!
//! Each entry is looked up once: what was seen stays noted ([`Hidden`]). The worker of an idle
//! database is woken by the next write, which costs that write a few hundred nanoseconds.

use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_format::value_file::Pointer;
use cairndb_mem::Memtable;

use crate::engine::background::Job;
use crate::engine::core::{Core, State};
use crate::jobs::census::{Allowance, Census};
use crate::jobs::relocation::Hidden;
use crate::read::get;
use crate::read::view::View;
use crate::state::context::ReadContext;
use crate::state::version::Version;

/// An idle database flushes a memtable that points to so large a share of a value file.
const VALUES_WHEN_IDLE_SHARE: u64 = 16;

/// An idle database flushes a memtable that keeps more of the log than this beside the segment that
/// is written. With less memory than 16 MB segments are shorter than this, and a memtable that
/// crosses from one into the next is no reason to write a table.
const LOG_WHEN_IDLE: u64 = 2 << 20;

/// How long closing gives space back that would be given back idle. What is left the next opening
/// sees.
const CLOSING: Duration = Duration::from_millis(200);

impl Core {
    /// How much may be dead in value files while the database is idle.
    pub(crate) fn allowance(&self) -> Allowance {
        let segment = self.settings.budget.segment;
        let earlier = if segment > LOG_WHEN_IDLE {
            0
        } else {
            LOG_WHEN_IDLE
        };
        let beside = segment + earlier + self.manifest.bytes();
        Allowance::new(self.regular_length(), beside)
    }

    /// Large values that the mutable memtable of an idle database may point to.
    pub(crate) fn values_when_idle_max(&self) -> u64 {
        (self.regular_length() / VALUES_WHEN_IDLE_SHARE).max(1)
    }

    /// Seals the mutable memtable of an idle database if it points to large values enough, hides
    /// too many, or keeps too much of the log; whether it did.
    pub(crate) fn seal_for_space(&self) -> bool {
        if self.health.check_write().is_err() || !self.keeps_space() {
            return false;
        }
        let mut commit = self.commit.lock();
        let may = !commit.closing && commit.awaiting_sync.is_empty();
        commit.look_again |= !commit.awaiting_sync.is_empty();
        if !may || commit.mutable.is_empty() || self.seal(&mut commit).is_some() {
            return false;
        }
        let segment = commit.segment.as_ref();
        if segment.is_some_and(|it| it.region.size() > self.settings.budget.segment) {
            // It was made for one long record.
            commit.leave_segment();
        }
        true
    }

    /// Whether flushing the mutable memtable would give back more than an idle database may keep.
    fn keeps_space(&self) -> bool {
        let (view, mem, written, in_parts, hidden, unmovable) = {
            let mut commit = self.commit.lock();
            // What waits for its sync is not published, and not looked at.
            commit.look_again |= !commit.awaiting_sync.is_empty();
            if commit.mutable.is_empty() {
                commit.wakes_worker = self.may_hide_much(&self.state.lock().version);
                return false;
            }
            if commit.keeps_long_log(self.settings.budget.segment, LOG_WHEN_IDLE)
                || self.reserve.is_near() && has_tombstones(&commit.mutable)
            {
                return true;
            }
            let state = self.state.lock();
            // Asked first: a write from here on makes the worker look again.
            commit.wakes_worker = self.may_hide_much(&state.version);
            if !commit.wakes_worker {
                return false;
            }
            let written = commit.value_bytes();
            let sealed: u64 = state.sealed.iter().map(|part| part.values.bytes).sum();
            let relocating = &state.relocating;
            (
                self.view.load_full(),
                Arc::clone(&commit.mutable),
                written,
                written + sealed,
                relocating.hidden,
                relocating.unmovable.clone(),
            )
        };
        if written >= self.values_when_idle_max() {
            return true;
        }
        let hidden = hidden_by(&mem, hidden, &view, &self.context, self.read_point().1);
        self.state.lock().relocating.hidden = hidden;
        let mut census = Census::of(&view.version);
        census.files.retain(|file| !unmovable.contains(&file.file));
        // Tables do not know of what memtables point to.
        let dead = census.dead().saturating_sub(in_parts) + hidden.bytes;
        let all = census.bytes() + view.version.bytes();
        let max = self.allowance().dead_max(all.saturating_sub(dead));
        dead > max && (hidden.bytes >= max / 8 || written > 0)
    }

    /// Whether more than may be dead in an idle database is there to be deleted at all.
    fn may_hide_much(&self, version: &Version) -> bool {
        let bytes = Census::of(version).bytes() + version.bytes();
        bytes > self.allowance().dead_max(0)
    }

    /// Whether an idle database would give back space with its tables as they are: too much of its
    /// value files is dead, or newer runs may hide values of older ones.
    pub(crate) fn space_wanted(&self, state: &State) -> bool {
        let version = &state.version;
        if version.values.is_empty() {
            return false;
        }
        let (allowance, mut census) = (self.allowance(), Census::of(version));
        let unmovable = &state.relocating.unmovable;
        census.files.retain(|file| !unmovable.contains(&file.file));
        let (dead, bytes) = (census.dead(), census.bytes());
        if allowance.is_much(dead, bytes) {
            return true;
        }
        let hidden = may_be_hidden(version, &self.context);
        dead + hidden > allowance.dead_max(bytes.saturating_sub(dead + hidden))
            && self.merge_wanted(state, true).is_some()
    }

    /// Gives back, before closing, what an idle database would, as far as that takes no longer than
    /// 200 ms. What goes wrong is no failure of closing: everything is as it was.
    pub(crate) fn give_back_before_close(&self) {
        if !self.space_wanted(&self.state.lock()) {
            return;
        }
        let end = self.env.now_ns().saturating_add(nanos(CLOSING));
        if self.stepped() {
            let _ = self.step_for_space(end);
            return;
        }
        if self.start_threads().is_err() {
            return;
        }
        let mut state = self.state.lock();
        state.hurrying += 1;
        state.rest.disturb();
        self.work.notify_all();
        while self.space_wanted(&state)
            && !state.rest.is_quiet()
            && !self.health.is_poisoned()
            && self.health.background().is_none()
        {
            let left = end.saturating_sub(self.env.now_ns());
            if left == 0 {
                break;
            }
            self.changed
                .wait_for(&mut state, Duration::from_nanos(left));
        }
        state.hurrying -= 1;
    }

    fn step_for_space(&self, end: u64) -> Result<()> {
        let jobs = [Job::IdleMerge, Job::Persist, Job::DropValues, Job::Reap];
        let mut more = true;
        while more && self.space_wanted(&self.state.lock()) && self.env.now_ns() < end {
            more = false;
            for job in jobs {
                more |= self.step(job)?;
            }
        }
        Ok(())
    }
}

/// A duration on the environment's clock.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// At most so many bytes of large values that tables point to may be hidden by newer tables.
fn may_be_hidden(version: &Version, context: &ReadContext) -> u64 {
    let mut hidden: u64 = 0;
    for (at, run) in version.runs.iter().enumerate().skip(1) {
        for table in run.tables() {
            let record = &table.record;
            let refs: u64 = record.value_refs.iter().map(|(_, bytes)| *bytes).sum();
            let overlaps = |newer: &Arc<crate::state::version::Run>| {
                let (smallest, largest) = (&record.smallest, &record.largest);
                !newer
                    .overlapping(&context.order, smallest, largest)
                    .is_empty()
            };
            if refs > 0 && version.runs[..at].iter().any(overlaps) {
                hidden = hidden.saturating_add(refs);
            }
        }
    }
    hidden
}

/// What the entries of `mem` up to `published` hide of large values, in it and below; `before` is
/// what was found when this was asked last. What a snapshot still sees counts as hidden: a flush in
/// vain is made up for when it is gone.
fn hidden_by(
    mem: &Arc<Memtable>,
    before: Hidden,
    view: &View,
    context: &ReadContext,
    published: SeqNo,
) -> Hidden {
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
    let below = memtable.saturating_sub(1);
    let (mut key, mut scratch) = (Vec::new(), Vec::new());
    let mut cursor = mem.cursor();
    cursor.seek_to_first();
    while cursor.valid() {
        key.clear();
        key.extend_from_slice(cursor.key());
        // The version that hides those after it: the oldest so far, operands apart.
        let mut hider: Option<SeqNo> = None;
        while cursor.valid() && context.order.compare(cursor.key(), &key).is_eq() {
            let (seq, kind) = (cursor.seq(), cursor.kind());
            if seq <= published && kind != Kind::Merge {
                if kind == Kind::Pointer && hider.is_some_and(|hider| hider > seen) {
                    hidden.bytes += Pointer::decode(cursor.value()).map_or(0, stored);
                }
                hider = Some(seq);
            }
            cursor.next();
        }
        if hider.is_some_and(|hider| hider > seen) {
            // One that cannot be read is not known to be large.
            let found = get::stored_at(view, context, &key, below, &mut scratch);
            hidden.bytes += found.unwrap_or(0);
        }
    }
    hidden
}

/// On a nearly full disk each deletion is flushed, once the database is idle.
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
