//! The user's cursor over a view: newest visible version of each key, tombstones hidden, pointers
//! followed, operands folded; both directions at the same price.
//!
//! Up to where another source's next key would stand in a page that holds one version of each key (every page of a
//! compacted database without open snapshots), a step moves one source and nothing else: no key is
//! copied, nothing is compared; a scan is lent that piece of the page, and steps through it by itself.
//! Otherwise the shown key is copied so that its older versions can be
//! skipped. The value is decoded when the cursor arrives, so that `value` cannot fail.
//!
//! Where many sources would have to be placed a seek first asks for its very key as a get does, unless the last seek was
//! moved on. What is found that way is where the cursor would come to rest: filters spare most of the sources, and they
//! are placed when the cursor is moved on. A seek to a key that exists then costs what a get does; one to a key that does
//! not costs the filters more, and so does a scan. Where seeks were not moved on lately and there are sixteen runs at most,
//! the entry that is next is taken out of its page or its part, and no cursor is made over either before it is moved on.
//!
//! A cursor leaves its sources to the thread's next ([`spare`](crate::read::thread_cache)).
//!
//! Past stretches of tombstones that the thread knows of it does not go step by step
//! ([`dead_span`](crate::read::tombstone_spans)), nor past many versions of a key, if they are not operands.
//!
//! A cursor pins its view: tables, and memtable parts even after their flush.

mod arrival;
mod backward;
mod buffers;
mod shown_value;
mod skip;
mod sought;
mod turn;

use std::mem;

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_env::Mapping;
use cairndb_format::table::PageWindow;
use cairndb_format::value_file::Pointer;

use self::buffers::Buffers;
use self::shown_value::ShownValue;
use crate::read::fold::Fold;
use crate::read::get::sources;
use crate::read::merging_iter::MergingIter;
use crate::read::tombstone_spans::Place;
use crate::read::view_guard::HeldView;
use crate::state::context::ReadContext;

/// Where the shown entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Nowhere: before the first or behind the last entry, or not yet placed.
    Nothing,
    /// The merger stands on it.
    InPlace,
    /// In `window`, which the merger has lent.
    Window,
    /// Key as the merger's, value in `value`, whose file it points to; the merger stands on it.
    Pointed,
    /// Key and value are in `key` and `value`; the merger has moved on in its direction.
    Copied,
    /// Key and value are in `key` and `value`; the merger stands anywhere.
    Apart,
    /// Nothing is shown: the entry at `key` could not be folded. The merger has moved on in its
    /// direction, so that the cursor can too.
    Failed,
}

/// Where the merger was when the cursor left what it showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged {
    /// On that entry.
    There,
    /// Behind it, in the cursor's direction.
    Beyond,
    /// Anywhere.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heading {
    Forward,
    Backward,
}

/// A cursor at one sequence number over one view.
#[derive(Debug)]
pub(crate) struct ViewCursor {
    view: HeldView,
    seq: SeqNo,
    /// Without sources until it is to be placed.
    merger: MergingIter,
    sourced: bool,
    shown: Shown,
    heading: Heading,
    /// Where it is, a seek put it.
    sought: bool,
    /// It was moved since it was placed.
    moved: bool,
    /// Tombstones passed since it was placed.
    passed: usize,
    /// How often sources may still be placed anew in this call to go past something.
    searches_left: u32,
    window: PageWindow,
    key: Vec<u8>,
    /// The key that a run has led to, until it is known to be the nearest.
    other: Vec<u8>,
    value: ShownValue,
    fold: Fold,
}

impl Drop for ViewCursor {
    fn drop(&mut self) {
        if self.sourced {
            self.end_window();
            let merger = mem::replace(&mut self.merger, MergingIter::none());
            let view = &self.view;
            view.readers.stripes.mine().keep(view.number, merger);
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
    pub(crate) fn new(view: HeldView, seq: SeqNo) -> ViewCursor {
        let merger = MergingIter::none();
        let Buffers { key, other, value } = Buffers::take();
        ViewCursor {
            view,
            seq,
            merger,
            sourced: false,
            shown: Shown::Nothing,
            heading: Heading::Forward,
            sought: false,
            moved: false,
            passed: 0,
            searches_left: 0,
            window: PageWindow::default(),
            key,
            other,
            value: ShownValue::with_buffer(value),
            fold: Fold::default(),
        }
    }

    /// What it reads with.
    pub(crate) fn context(&self) -> &ReadContext {
        self.view.context()
    }

    /// Another cursor over the same view and number.
    pub(crate) fn fork(&self) -> ViewCursor {
        ViewCursor::new(self.view.fork(), self.seq)
    }

    /// `Ok` while the database is open, else `Closed`.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        self.view.readers.health.check_read()
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        !matches!(self.shown, Shown::Nothing | Shown::Failed)
    }

    /// The key the cursor is at: that of the entry shown, or of one that could not be folded.
    pub(crate) fn place(&self) -> Option<&[u8]> {
        match self.shown {
            Shown::Nothing => None,
            Shown::Failed => Some(&self.key),
            _ => Some(self.key()),
        }
    }

    /// Leaves the cursor nowhere.
    #[cold]
    pub(crate) fn unplace(&mut self) {
        self.end_window();
        self.shown = Shown::Nothing;
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        if self.shown == Shown::Window {
            return self.window.key();
        }
        self.key_elsewhere()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        if self.shown == Shown::Window {
            return self.window.value();
        }
        self.value_elsewhere()
    }

    /// What keeps the bytes of `value`, where they are lent by its file and not by the cursor.
    pub(crate) fn lent_value(&self) -> Option<&Mapping> {
        let apart = matches!(self.shown, Shown::Pointed | Shown::Copied | Shown::Apart);
        self.value.lent().filter(|_| apart)
    }

    /// As `key`, where no window is shown: apart, so that a scan has the window's few instructions in its loop.
    #[inline(never)]
    fn key_elsewhere(&self) -> &[u8] {
        match self.shown {
            Shown::Nothing | Shown::Failed => &[],
            Shown::Window => self.window.key(),
            Shown::InPlace | Shown::Pointed => self.merger.key(),
            Shown::Copied | Shown::Apart => &self.key,
        }
    }

    /// As `value`, likewise.
    #[inline(never)]
    fn value_elsewhere(&self) -> &[u8] {
        match self.shown {
            Shown::Nothing | Shown::Failed => &[],
            Shown::Window => self.window.value(),
            Shown::InPlace => self.merger.value(),
            Shown::Pointed | Shown::Copied | Shown::Apart => self.value.bytes(),
        }
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.end_seek();
        let dead = self.dead_from(Place::First, true);
        self.arrive_forward(Place::First, dead)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.end_seek();
        self.arrive_backward(Place::End)
    }

    /// The first entry whose key is not before `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.end_seek();
        self.sought = true;
        let place = Place::At(key);
        let dead = self.dead_from(place, true);
        // What is known to be dead is not asked for.
        if dead.is_none() && self.found_first(key)? {
            return Ok(());
        }
        self.arrive_forward(place, dead)
    }

    /// What the last seek led to is over: the cursor is dropped or placed anew.
    fn end_seek(&mut self) {
        if self.sought && !self.moved {
            self.view.readers.stripes.mine().seeks.note_alone();
        }
        self.sought = false;
        self.moved = false;
    }

    /// The last entry whose key is not behind `key`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.end_seek();
        self.arrive_backward(Place::At(key))
    }

    /// Gives the merger its sources; called before it is placed.
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
            let spare = view.readers.stripes.mine().take(view.number, |merger| {
                view.mutable.is_empty() || merger.begins_with(&view.mutable)
            });
            self.merger = spare.unwrap_or_else(|| {
                let sources = sources(view, view.context());
                MergingIter::new(sources, view.context().order.clone())
            });
        }
    }

    /// The next entry; on an invalid cursor, nothing.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.shown == Shown::Window
            && self.heading == Heading::Forward
            && self.window.step_forward()
        {
            return Ok(());
        }
        self.next_out()
    }

    /// As `next`, where no window goes on.
    #[inline(never)]
    fn next_out(&mut self) -> Result<()> {
        self.begin_call();
        self.end_window();
        if self.moved
            && self.shown == Shown::InPlace
            && self.heading == Heading::Forward
            && self.merger.alone()
        {
            self.shown = Shown::Nothing;
            self.merger.step()?;
            return self.show_forward();
        }
        self.next_slow()
    }

    /// Shows nothing any more, with the key that was shown in `self.key`; where the merger is. `None`
    /// when nothing was shown.
    fn leave(&mut self) -> Option<Merged> {
        self.end_window();
        self.view.count();
        if self.sought && !self.moved {
            self.view.readers.stripes.mine().seeks.note_moved();
        }
        self.moved = true;
        let merged = match self.shown {
            Shown::Nothing => return None,
            Shown::InPlace | Shown::Pointed | Shown::Window => {
                self.key.clear();
                self.key.extend_from_slice(self.merger.key());
                Merged::There
            }
            Shown::Copied | Shown::Failed => Merged::Beyond,
            Shown::Apart => Merged::Elsewhere,
        };
        self.shown = Shown::Nothing;
        Some(merged)
    }

    fn next_slow(&mut self) -> Result<()> {
        let Some(merged) = self.leave() else {
            return Ok(());
        };
        let turns = mem::replace(&mut self.heading, Heading::Forward) == Heading::Backward;
        // All versions of the shown key are skipped below.
        match merged {
            Merged::Elsewhere => {
                self.gather_sources();
                self.merger.seek(&self.key, 0)?;
            }
            _ if turns => self.turn()?,
            Merged::There => self.merger.step()?,
            Merged::Beyond => {}
        }
        self.skip_key()?;
        self.show_forward()
    }

    /// The merger heads forward and stands on the newest version not yet considered.
    #[inline]
    fn show_forward(&mut self) -> Result<()> {
        while self.merger.valid() {
            if self.merger.seq() > self.seq {
                self.skip_newer()?;
                continue;
            }
            match self.merger.kind() {
                Kind::Put => return self.show_put(),
                Kind::Delete => {
                    self.passed += 1;
                    self.key.clear();
                    self.key.extend_from_slice(self.merger.key());
                    self.merger.step()?;
                    self.skip_key()?;
                }
                Kind::Pointer => {
                    self.merger.load_value()?;
                    self.value.follow(
                        &self.view.context().order,
                        &self.view.version.values,
                        self.merger.key(),
                        Pointer::decode(self.merger.value())?,
                    )?;
                    self.shown = Shown::Pointed;
                    return Ok(());
                }
                Kind::Merge => return self.fold_forward(),
            }
        }
        Ok(())
    }

    /// Shows the put that the merger stands on; in a scan with what comes behind it, if it can be lent.
    #[inline]
    fn show_put(&mut self) -> Result<()> {
        self.merger.load_value()?;
        self.shown = if self.moved && self.merger.lend(&mut self.window) {
            Shown::Window
        } else {
            Shown::InPlace
        };
        Ok(())
    }

    /// Has the merger where the window is.
    #[inline]
    fn end_window(&mut self) {
        if self.shown == Shown::Window {
            self.merger.take_back(&mut self.window);
            self.shown = Shown::InPlace;
        }
    }

    fn fold_forward(&mut self) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(self.merger.key());
        self.fold.clear();
        // The first is taken whatever the order says of it and itself.
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

    /// Folds what was gathered for `self.key`; the merger has moved on.
    fn fold_gathered(&mut self) -> Result<()> {
        self.shown = Shown::Failed;
        *self.value.own() = self.fold.finish(self.view.context(), &self.key)?;
        self.shown = Shown::Copied;
        Ok(())
    }

    /// The entry before; on an invalid cursor, nothing.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        if self.shown == Shown::Window
            && self.heading == Heading::Backward
            && self.window.step_backward()
        {
            return Ok(());
        }
        self.prev_out()
    }

    /// As `prev`, where no window goes on.
    #[inline(never)]
    fn prev_out(&mut self) -> Result<()> {
        self.begin_call();
        self.end_window();
        if self.moved
            && self.shown == Shown::InPlace
            && self.heading == Heading::Backward
            && self.merger.alone()
        {
            self.shown = Shown::Nothing;
            self.merger.step()?;
            return self.show_backward();
        }
        self.prev_slow()
    }
}
