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

mod arrival;
mod backward;
mod entry_value;
mod passed;
mod point_seek;
mod skip;
mod turn;

use std::mem;

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_env::Mapping;
use cairndb_format::table::PageWindow;
use cairndb_format::value_file::Pointer;

use self::entry_value::EntryValue;
use self::passed::Passed;
use crate::read::fold::Fold;
use crate::read::get::sources;
use crate::read::hints::buffers::Buffers;
use crate::read::hints::tombstone_spans::KeyBound;
use crate::read::hints::view_ref::ViewRef;
use crate::read::merging_iter::{Direction, MergingIter};
use crate::read::view::View;

/// Location of the current entry, which `key` and `value` return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    /// No entry: before the first or after the last, or not positioned yet.
    Nothing,
    /// The entry of the merging iterator.
    InPlace,
    /// In `window`, which the merging iterator has filled.
    Window,
    /// The entry of the merging iterator, which has a pointer; `value` holds the value from the
    /// file.
    Pointer,
    /// In `key` and `value`; the merging iterator has moved on in its direction.
    Copied,
    /// In `key` and `value`; the merging iterator may be anywhere.
    Apart,
    /// No entry: the one at `key` could not be folded. The merging iterator has moved on in its
    /// direction, so the cursor can also move.
    Failed,
}

/// Position of the merging iterator when the cursor leaves its current entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergerPosition {
    /// On that entry.
    There,
    /// After it, in the direction of the cursor.
    Beyond,
    /// Anywhere.
    Elsewhere,
}

/// A cursor at one sequence number over one view.
#[derive(Debug)]
pub(crate) struct ViewCursor {
    view: ViewRef,
    seq: SeqNo,
    /// Without sources until it is first positioned.
    merger: MergingIter,
    sourced: bool,
    location: Location,
    direction: Direction,
    /// Whether the cursor was positioned by a seek.
    sought: bool,
    /// Whether the cursor was moved since it was positioned.
    moved: bool,
    /// Dead entries passed.
    passed: Passed,
    /// Number of times that sources may still be repositioned in this call to skip entries.
    searches_left: u32,
    window: PageWindow,
    key: Vec<u8>,
    /// A candidate key of a seek, until it is known to be the nearest.
    other: Vec<u8>,
    value: EntryValue,
    fold: Fold,
}

impl Drop for ViewCursor {
    fn drop(&mut self) {
        if self.sourced {
            self.end_window();
            let merger = mem::take(&mut self.merger);
            let view = &self.view;
            view.readers.thread_caches.mine().keep(view.number, merger);
        }
        self.end_seek();
        let buffers = Buffers {
            key: mem::take(&mut self.key),
            other: mem::take(&mut self.other),
            value: mem::take(&mut self.value).into_buffer(),
        };
        buffers.keep();
    }
}

impl ViewCursor {
    pub(crate) fn new(view: ViewRef, seq: SeqNo) -> ViewCursor {
        let Buffers { key, other, value } = Buffers::take();
        ViewCursor {
            view,
            seq,
            merger: MergingIter::default(),
            sourced: false,
            location: Location::Nothing,
            direction: Direction::Forward,
            sought: false,
            moved: false,
            passed: Passed::default(),
            searches_left: 0,
            window: PageWindow::default(),
            key,
            other,
            value: EntryValue::with_buffer(value),
            fold: Fold::default(),
        }
    }

    /// Returns the sequence number that the cursor reads at.
    pub(crate) fn seq(&self) -> SeqNo {
        self.seq
    }

    /// Returns another cursor over the same view at the same sequence number.
    pub(crate) fn fork(&self) -> ViewCursor {
        ViewCursor::new(self.view.fork(), self.seq)
    }

    /// Returns the view that the cursor reads.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// Returns `Ok` while the database is open, otherwise `Closed`.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        self.view.readers.health.check_read()
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        !matches!(self.location, Location::Nothing | Location::Failed)
    }

    /// Returns the key of the current entry, or of the entry that could not be folded.
    #[inline]
    pub(crate) fn place(&self) -> Option<&[u8]> {
        match self.location {
            Location::Window => Some(self.window.key()),
            Location::Nothing => None,
            Location::Failed => Some(&self.key),
            _ => Some(self.key()),
        }
    }

    /// Leaves the cursor unpositioned.
    #[cold]
    pub(crate) fn unplace(&mut self) {
        self.end_window();
        self.location = Location::Nothing;
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        if self.location == Location::Window {
            return self.window.key();
        }
        self.key_elsewhere()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        if self.location == Location::Window {
            return self.window.value();
        }
        self.value_elsewhere()
    }

    /// Returns the mapping that holds the bytes of `value`, if it is borrowed from a value file.
    pub(crate) fn borrowed_value(&self) -> Option<&Mapping> {
        let apart = matches!(
            self.location,
            Location::Pointer | Location::Copied | Location::Apart
        );
        self.value.borrowed().filter(|_| apart)
    }

    /// Like `key`, but outside a window. A separate function, so that the loop of a scan contains
    /// only the few instructions for a window.
    #[inline(never)]
    fn key_elsewhere(&self) -> &[u8] {
        match self.location {
            Location::Nothing | Location::Failed => &[],
            Location::Window => self.window.key(),
            Location::InPlace | Location::Pointer => self.merger.key(),
            Location::Copied | Location::Apart => &self.key,
        }
    }

    /// Like `value`, but outside a window.
    #[inline(never)]
    fn value_elsewhere(&self) -> &[u8] {
        match self.location {
            Location::Nothing | Location::Failed => &[],
            Location::Window => self.window.value(),
            Location::InPlace => self.merger.value(),
            Location::Pointer | Location::Copied | Location::Apart => self.value.bytes(),
        }
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.end_seek();
        let dead = self.span_from(KeyBound::First, true);
        self.arrive_forward(KeyBound::First, dead)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.end_seek();
        self.arrive_backward(KeyBound::End)
    }

    /// Seeks to the first entry whose key is at or after `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.end_seek();
        self.sought = true;
        let place = KeyBound::At(key);
        let dead = self.span_from(place, true);
        // A key in a known tombstone span is not looked up.
        if dead.is_none() && self.point_seek(key)? {
            return Ok(());
        }
        self.arrive_forward(place, dead)
    }

    /// Seeks to the last entry whose key is at or before `key`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.end_seek();
        self.arrive_backward(KeyBound::At(key))
    }

    /// Gives the merging iterator its sources. Called before it is positioned.
    fn gather_sources(&mut self) {
        self.view.note_cursor();
        if self.view.version.runs.len() > 1 {
            self.view.note_several();
        }
        if self.sourced {
            self.view.count();
        } else {
            self.sourced = true;
            let view = &self.view;
            let spare = view
                .readers
                .thread_caches
                .mine()
                .take(view.number, |merger| {
                    view.mutable.is_empty() || merger.begins_with(&view.mutable)
                });
            self.merger = spare.unwrap_or_else(|| {
                let sources = sources(view, view.context());
                MergingIter::new(sources, view.context().order.clone())
            });
        }
    }

    /// Moves to the next entry; does nothing on an invalid cursor.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.location == Location::Window
            && self.direction == Direction::Forward
            && self.window.step_forward()
        {
            return Ok(());
        }
        self.next_out()
    }

    /// Like `next`, but when no window continues.
    #[inline(never)]
    fn next_out(&mut self) -> Result<()> {
        self.begin_call();
        self.end_window();
        if self.moved
            && self.location == Location::InPlace
            && self.direction == Direction::Forward
            && self.merger.alone()
        {
            self.location = Location::Nothing;
            self.merger.step()?;
            return self.show_forward();
        }
        self.next_slow()
    }

    /// Clears the current entry, copies its key to `self.key`, and returns the position of the
    /// merging iterator. Returns `None` if there was no current entry.
    fn leave(&mut self) -> Option<MergerPosition> {
        self.end_window();
        self.view.count();
        if self.sought && !self.moved {
            self.view.readers.thread_caches.mine().seeks.note_moved();
        }
        self.moved = true;
        let merged = match self.location {
            Location::Nothing => return None,
            Location::InPlace | Location::Pointer | Location::Window => {
                self.key.clear();
                self.key.extend_from_slice(self.merger.key());
                MergerPosition::There
            }
            Location::Copied | Location::Failed => MergerPosition::Beyond,
            Location::Apart => MergerPosition::Elsewhere,
        };
        self.location = Location::Nothing;
        Some(merged)
    }

    fn next_slow(&mut self) -> Result<()> {
        let Some(merged) = self.leave() else {
            return Ok(());
        };
        let turns = mem::replace(&mut self.direction, Direction::Forward) == Direction::Backward;
        // All versions of the previous key are skipped below.
        match merged {
            MergerPosition::Elsewhere => {
                self.gather_sources();
                self.merger.seek(&self.key, 0)?;
            }
            _ if turns => self.turn()?,
            MergerPosition::There => self.merger.step()?,
            MergerPosition::Beyond => {}
        }
        self.skip_key()?;
        self.show_forward()
    }

    /// Finds the next visible entry. The merging iterator must be moving forward and be positioned
    /// at the newest version not yet considered.
    #[inline]
    fn show_forward(&mut self) -> Result<()> {
        while self.merger.valid() {
            if self.moved && self.passed.are_many() {
                return self.leap();
            }
            if self.merger.seq() > self.seq {
                self.skip_newer()?;
                continue;
            }
            match self.merger.kind() {
                Kind::Put => return self.show_put(),
                Kind::Delete => {
                    self.key.clear();
                    self.key.extend_from_slice(self.merger.key());
                    self.merger.step()?;
                    let below = self.skip_key()?;
                    self.passed.add(1 + below);
                }
                Kind::Pointer => {
                    self.merger.load_value()?;
                    self.value.follow(
                        &self.view.context().order,
                        &self.view.version.values,
                        self.merger.key(),
                        Pointer::decode(self.merger.value())?,
                    )?;
                    self.location = Location::Pointer;
                    return Ok(());
                }
                Kind::Merge => return self.fold_forward(),
            }
        }
        Ok(())
    }

    /// Makes the put at the merging iterator current; in a scan, together with the following
    /// entries if they fit a window.
    #[inline]
    fn show_put(&mut self) -> Result<()> {
        self.merger.load_value()?;
        self.location = if self.moved && self.merger.lend(&mut self.window) {
            Location::Window
        } else {
            Location::InPlace
        };
        Ok(())
    }

    /// Moves the merging iterator to the position of the window.
    #[inline]
    fn end_window(&mut self) {
        if self.location == Location::Window {
            self.merger.take_back(&mut self.window);
            self.location = Location::InPlace;
        }
    }

    fn fold_forward(&mut self) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(self.merger.key());
        self.fold.clear();
        // The first version is taken even if the comparator finds its key unequal to itself.
        loop {
            self.merger.load_value()?;
            match self.merger.kind() {
                Kind::Merge => {
                    let limits = &self.view.context().fold_limits;
                    if self.fold.push_operand(limits, self.merger.value()) {
                        break;
                    }
                }
                kind @ (Kind::Delete | Kind::Put | Kind::Pointer) => {
                    let (order, values) = (&self.view.context().order, &self.view.version.values);
                    self.fold
                        .set_base(order, values, &self.key, kind, self.merger.value())?;
                    break;
                }
            }
            self.merger.step()?;
            if !self.is_at_key() {
                break;
            }
        }
        self.skip_key()?;
        self.fold.reverse();
        self.fold_gathered()
    }

    /// Folds the operands gathered for `self.key`; the merging iterator has moved on.
    fn fold_gathered(&mut self) -> Result<()> {
        self.location = Location::Failed;
        *self.value.own() = self.fold.finish(self.view.context(), &self.key)?;
        self.location = Location::Copied;
        Ok(())
    }

    /// Moves to the previous entry; does nothing on an invalid cursor.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        if self.location == Location::Window
            && self.direction == Direction::Backward
            && self.window.step_backward()
        {
            return Ok(());
        }
        self.prev_out()
    }

    /// Like `prev`, but when no window continues.
    #[inline(never)]
    fn prev_out(&mut self) -> Result<()> {
        self.begin_call();
        self.end_window();
        if self.moved
            && self.location == Location::InPlace
            && self.direction == Direction::Backward
            && self.merger.alone()
        {
            self.location = Location::Nothing;
            self.merger.step()?;
            return self.show_backward();
        }
        self.prev_slow()
    }
}
