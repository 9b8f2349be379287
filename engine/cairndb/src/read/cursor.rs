//! Cursor over a view: the newest visible version of each key, with tombstones hidden, pointers
//! followed and operands folded. Both directions cost the same.
//!
//! Outline:
//! - A step usually moves only one source, up to the position of the next key of another source, in
//!   a page with one version of each key (every page of a compacted database without open
//!   snapshots). No key is copied or compared, and a scan steps through that part of the page, its
//!   *window*, without the merging iterator.
//! - Otherwise the current key is copied, so that its older versions can be skipped.
//! - The value is decoded when the cursor moves, so `value` cannot fail.
//! - With many sources, a seek first looks up its key as a get does, unless the last seek was
//!   followed by a move. Filters exclude most of the sources, which are positioned only when the
//!   cursor is moved. A seek to an existing key then costs as much as a get; a seek to an absent
//!   key, or a scan, additionally pays for the filters.
//! - If recent seeks were not followed by moves and there are at most sixteen runs, the next entry
//!   is read from its page or memtable, and no cursor over either is created before the first move.
//! - A dropped cursor leaves its sources to the thread's next cursor
//!   ([`thread_cache`](crate::read::hints::thread_cache)).
//! - Ranges of tombstones that a seek has encountered before are skipped in one step
//!   ([`tombstone_spans`](crate::read::hints::tombstone_spans)), as are many versions of a key,
//!   unless they are operands.
//!
//! A cursor pins its view: the tables, and the memtables even after their flush.
//!
//! # States
//!
//! [`CursorState`] says where the current entry is, and where the merging iterator is:
//!
//! ```text
//!  seek, first, last, seek_for_prev: from any state
//!              |
//!              v    found by `point_seek`
//!           Nowhere ----------------------> Copied(Anywhere)
//!              | ^                               |
//!      sources | | no entry left,                | next, prev:
//!   positioned | | or an error                   | sources positioned
//!              v |                               |
//!             show <-----------------------------'
//!              | ^
//!        finds | | next, prev: the merging iterator steps, turns or stays,
//!              v |             then passes the other versions of the key
//!           Merged             a put      <-----.
//!           Window(direction)  a put, in a scan-' the window ends
//!           Pointed            a pointer, going forward
//!           Copied(Beyond)     folded operands; going backward also a put or a pointer
//!           Failed             operands that could not be folded
//! ```
//!
//! A step within a window leaves the state as it is; in `Nowhere` a step does nothing.
//!
//! Invariants:
//! 1. In `Merged` and `Pointed` the merging iterator is on the current entry.
//! 2. In `Window` it moves in the direction of the window, and is moved to the current entry before
//!    its next use.
//! 3. In `Copied(Beyond)` and `Failed` it has left the versions of the key in `entry`.
//! 4. In `Nowhere` and `Copied(Anywhere)` it may be anywhere, and may have no sources.
//! 5. The direction of the cursor is that of its merging iterator.
//! 6. A cursor in `Window` was moved since it was positioned.

mod arrival;
mod copied_entry;
mod deleted_ranges;
mod entry_value;
mod merged_versions;
mod passed;
mod point_seek;
mod show;

use std::mem;

use cairndb_base::{Result, SeqNo};
use cairndb_env::Mapping;
use cairndb_format::table::PageWindow;

use self::arrival::Arrival;
use self::copied_entry::CopiedEntry;
use self::deleted_ranges::DeletedRanges;
use self::merged_versions::MergedVersions;
use self::passed::Passed;
use self::point_seek::point_seek;
use crate::read::hints::tombstone_spans::KeyBound;
use crate::read::hints::view_ref::ViewRef;
use crate::read::merging_iter::Direction;
use crate::read::view::View;
use crate::state::ranges::RangeMap;

/// Location of the current entry, which `key` and `value` return.
///
/// (Rejected: the window and the copied entry as data of their states. Their buffers outlive the
/// states, and would be moved with every change.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorState {
    /// No entry: before the first or after the last, or not positioned yet.
    Nowhere,
    /// In `window`, which the merging iterator has filled and which is stepped in this direction.
    Window(Direction),
    /// The entry of the merging iterator.
    Merged,
    /// The entry of the merging iterator, which has a pointer; `entry` has the value from the file.
    Pointed,
    /// In `entry`.
    Copied(MergerAt),
    /// No entry: the one at the key of `entry` could not be folded. The cursor can move.
    Failed,
}

/// Position of the merging iterator while the current entry is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergerAt {
    /// After that entry, in its direction.
    Beyond,
    Anywhere,
}

/// How a cursor came to its place, from which the next seek is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorHistory {
    /// It has never been positioned.
    New,
    /// By `first`, `last` or `seek_for_prev`.
    Placed,
    /// By a seek.
    Sought,
    /// By a move since then.
    Moved,
}

/// A cursor at one sequence number over one view.
#[derive(Debug)]
pub(crate) struct ViewCursor {
    view: ViewRef,
    seq: SeqNo,
    versions: MergedVersions,
    state: CursorState,
    history: CursorHistory,
    /// Dead entries passed.
    passed: Passed,
    window: PageWindow,
    entry: CopiedEntry,
    ranges: DeletedRanges,
}

impl Drop for ViewCursor {
    fn drop(&mut self) {
        self.end_window();
        self.versions.release(&self.view);
        self.end_seek();
    }
}

impl ViewCursor {
    /// Returns a cursor that sees `ranges` as deleted.
    pub(crate) fn new(view: ViewRef, seq: SeqNo, ranges: RangeMap) -> ViewCursor {
        ViewCursor {
            view,
            seq,
            versions: MergedVersions::default(),
            state: CursorState::Nowhere,
            history: CursorHistory::New,
            passed: Passed::default(),
            window: PageWindow::default(),
            entry: CopiedEntry::default(),
            ranges: DeletedRanges::new(ranges),
        }
    }

    /// Returns the sequence number that the cursor reads at.
    pub(crate) fn seq(&self) -> SeqNo {
        self.seq
    }

    /// Returns another cursor over the same view at the same sequence number.
    pub(crate) fn fork(&self) -> ViewCursor {
        ViewCursor::new(self.view.fork(), self.seq, self.ranges.map().clone())
    }

    /// Returns the view that the cursor reads.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        !matches!(self.state, CursorState::Nowhere | CursorState::Failed)
    }

    /// Returns the key of the current entry, or of the entry that could not be folded.
    #[inline]
    pub(crate) fn place(&self) -> Option<&[u8]> {
        match self.state {
            CursorState::Nowhere => None,
            CursorState::Failed => Some(&self.entry.key),
            _ => Some(self.key()),
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        if let CursorState::Window(_) = self.state {
            return self.window.key();
        }
        self.key_elsewhere()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        if let CursorState::Window(_) = self.state {
            return self.window.value();
        }
        self.value_elsewhere()
    }

    /// Returns the mapping that holds the bytes of `value`, if it is borrowed from a value file.
    pub(crate) fn borrowed_value(&self) -> Option<&Mapping> {
        match self.state {
            CursorState::Pointed | CursorState::Copied(_) => self.entry.value.borrowed(),
            _ => None,
        }
    }

    /// Like `key`, but outside a window. A separate function, so that the loop of a scan contains
    /// only the few instructions for a window.
    #[inline(never)]
    fn key_elsewhere(&self) -> &[u8] {
        match self.state {
            CursorState::Nowhere | CursorState::Failed => &[],
            CursorState::Window(_) => self.window.key(),
            CursorState::Merged | CursorState::Pointed => self.versions.merger.key(),
            CursorState::Copied(_) => &self.entry.key,
        }
    }

    /// Like `value`, but outside a window.
    #[inline(never)]
    fn value_elsewhere(&self) -> &[u8] {
        match self.state {
            CursorState::Nowhere | CursorState::Failed => &[],
            CursorState::Window(_) => self.window.value(),
            CursorState::Merged => self.versions.merger.value(),
            CursorState::Pointed | CursorState::Copied(_) => self.entry.value.bytes(),
        }
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.depart(CursorHistory::Placed);
        let arrival = Arrival::new(&self.view, self.seq, Direction::Forward, KeyBound::First);
        self.arrive(&arrival)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.depart(CursorHistory::Placed);
        let arrival = Arrival::new(&self.view, self.seq, Direction::Backward, KeyBound::End);
        self.arrive(&arrival)
    }

    /// Seeks to the last entry whose key is at or before `key`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.depart(CursorHistory::Placed);
        let arrival = Arrival::new(&self.view, self.seq, Direction::Backward, KeyBound::At(key));
        self.arrive(&arrival)
    }

    /// Seeks to the first entry whose key is at or after `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.depart(CursorHistory::Sought);
        let from = KeyBound::At(key);
        let arrival = Arrival::new(&self.view, self.seq, Direction::Forward, from);
        // A key in a known tombstone span is not looked up.
        let at = (self.seq, self.ranges.map());
        if arrival.span.is_none() && point_seek(&self.view, at, key, &mut self.entry)? {
            debug_assert!(!self.view.context().order.is_bytewise() || *key <= *self.entry.key);
            self.state = CursorState::Copied(MergerAt::Anywhere);
            return Ok(());
        }
        self.arrive(&arrival)
    }

    /// Leaves the cursor without an entry.
    pub(crate) fn unplace(&mut self) {
        self.end_window();
        self.state = CursorState::Nowhere;
    }

    /// Leaves the cursor without an entry, and ends the last seek, before the cursor is positioned.
    /// A cursor that is positioned again may be long-lived, so it takes a counted reference to its
    /// view.
    fn depart(&mut self, history: CursorHistory) {
        self.end_seek();
        if self.history != CursorHistory::New {
            self.view.count();
        }
        self.unplace();
        self.ranges.leave();
        self.history = history;
    }

    /// Ends the last seek: the cursor is dropped or repositioned.
    fn end_seek(&mut self) {
        if self.history == CursorHistory::Sought {
            self.view.readers.thread_caches.mine().seeks.note_alone();
        }
        self.view.readers.spans.note_passed(self.passed.take());
    }

    /// Positions the sources and shows the nearest entry. The cursor must have departed.
    fn arrive(&mut self, arrival: &Arrival<'_>) -> Result<()> {
        self.versions.begin_call();
        self.view.note_read();
        self.versions.gather(&self.view);
        arrival.position(&self.view, self.seq, &mut self.versions.merger)?;
        self.show(arrival.direction)?;
        if self.passed.are_many() || arrival.extends_span() {
            arrival.record(&self.view, self.seq, self.place());
        }
        self.view.readers.spans.note_passed(self.passed.take());
        Ok(())
    }

    /// Moves to the next entry; does nothing on an invalid cursor.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.state == CursorState::Window(Direction::Forward) && self.window.step_forward() {
            return Ok(());
        }
        self.step(Direction::Forward)
    }

    /// Moves to the previous entry; does nothing on an invalid cursor.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        if self.state == CursorState::Window(Direction::Backward) && self.window.step_backward() {
            return Ok(());
        }
        self.step(Direction::Backward)
    }

    /// Moves to the nearest entry in `direction` when no window continues.
    #[inline(never)]
    fn step(&mut self, direction: Direction) -> Result<()> {
        self.versions.begin_call();
        self.passed.begin_call();
        self.end_window();
        let merger = &mut self.versions.merger;
        if self.history == CursorHistory::Moved
            && self.state == CursorState::Merged
            && merger.direction() == direction
            && merger.alone()
        {
            self.state = CursorState::Nowhere;
            merger.step()?;
            return self.show(direction);
        }
        self.step_over(direction)
    }

    /// Moves to the nearest entry in `direction`, past other versions of the current key.
    fn step_over(&mut self, direction: Direction) -> Result<()> {
        if self.history != CursorHistory::Moved {
            self.view.count();
            if self.history == CursorHistory::Sought {
                self.view.readers.thread_caches.mine().seeks.note_moved();
            }
            self.history = CursorHistory::Moved;
        }
        let (versions, key) = (&mut self.versions, &mut self.entry.key);
        match mem::replace(&mut self.state, CursorState::Nowhere) {
            CursorState::Nowhere => return Ok(()),
            CursorState::Merged | CursorState::Pointed | CursorState::Window(_) => {
                debug_assert!(versions.merger.valid());
                versions.merger.key().clone_into(key);
                if versions.merger.direction() == direction {
                    versions.merger.step()?;
                } else {
                    versions.turn(key)?;
                }
            }
            CursorState::Copied(MergerAt::Beyond) | CursorState::Failed => {
                debug_assert!(versions.has_left(key));
                if versions.merger.direction() != direction {
                    versions.turn(key)?;
                }
            }
            CursorState::Copied(MergerAt::Anywhere) => {
                versions.gather(&self.view);
                versions.seek_beyond(key, direction)?;
            }
        }
        versions.skip_key(key)?;
        self.show(direction)
    }

    /// Moves the merging iterator to the position of the window.
    #[inline]
    fn end_window(&mut self) {
        if let CursorState::Window(direction) = self.state {
            debug_assert_eq!(self.versions.merger.direction(), direction);
            debug_assert_eq!(self.history, CursorHistory::Moved);
            self.versions.merger.take_back(&mut self.window);
            self.state = CursorState::Merged;
        }
    }
}
