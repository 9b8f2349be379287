//! The user's cursor over a view: newest visible version of each key, tombstones hidden, pointers
//! followed, operands folded; both directions at the same price.
//!
//! While one source owns the range and its page holds one version of each key (every page of a
//! compacted database without open snapshots), a step moves that source and nothing else: no key is
//! copied, nothing is compared. Otherwise the shown key is copied so that its older versions can be
//! skipped. The value is decoded when the cursor arrives, so that `value` cannot fail.
//!
//! Where many sources would have to be placed, a seek first asks for its very key as a get does. What
//! is found that way is where the cursor would come to rest: filters spare most of the sources, and
//! they are placed when the cursor is moved on. A seek to a key that exists then costs what a get does;
//! one to a key that does not costs the filters more, and so does a scan.
//!
//! A cursor pins its view: tables, and memtable parts even after their flush.

use cairndb_base::{Kind, Result, SEQ_MAX, SeqNo};

use crate::read::fold::{Fold, read_pointer, resolve};
use crate::read::get::{Newest, newest, sources};
use crate::read::held::HeldView;
use crate::read::merger::Merger;

/// Where the shown entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Nowhere: before the first or behind the last entry, or not yet placed.
    Nothing,
    /// The merger stands on it.
    InPlace,
    /// Key as the merger's, value in `value`; the merger stands on it.
    ValueCopied,
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

/// Sources from which on a seek asks for its very key first. With fewer, a scan that begins with the
/// seek would lose more than a seek alone gains.
const SOURCES_ASKED: usize = 4;

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
    merger: Merger,
    sourced: bool,
    shown: Shown,
    heading: Heading,
    key: Vec<u8>,
    value: Vec<u8>,
    fold: Fold,
}

impl ViewCursor {
    pub(crate) fn new(view: HeldView, seq: SeqNo) -> ViewCursor {
        let merger = Merger::new(Vec::new(), view.readers.context.order.clone());
        ViewCursor {
            view,
            seq,
            merger,
            sourced: false,
            shown: Shown::Nothing,
            heading: Heading::Forward,
            key: Vec::new(),
            value: Vec::new(),
            fold: Fold::default(),
        }
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
        self.shown = Shown::Nothing;
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self.shown {
            Shown::Nothing | Shown::Failed => &[],
            Shown::InPlace | Shown::ValueCopied => self.merger.key(),
            Shown::Copied | Shown::Apart => &self.key,
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match self.shown {
            Shown::Nothing | Shown::Failed => &[],
            Shown::InPlace => self.merger.value(),
            Shown::ValueCopied | Shown::Copied | Shown::Apart => &self.value,
        }
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.placed(|merger, _| merger.first(), Heading::Forward)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.placed(|merger, _| merger.last(), Heading::Backward)
    }

    /// The first entry whose key is not before `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        let sources = 1 + self.view.sealed.len() + self.view.version.runs.len();
        // Equal keys of another order may differ, and only a source can tell how one was written.
        if sources >= SOURCES_ASKED && self.view.context().order.can_hash() && self.found(key)? {
            return Ok(());
        }
        self.placed(|merger, seq| merger.seek(key, seq), Heading::Forward)
    }

    /// The last entry whose key is not behind `key`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.placed(|merger, _| merger.seek_for_prev(key, 0), Heading::Backward)
    }

    /// Shows the entry of the very `key`, if that has a plain value.
    fn found(&mut self, key: &[u8]) -> Result<bool> {
        if self.shown == Shown::Apart {
            self.view.count();
        }
        self.shown = Shown::Nothing;
        self.value.clear();
        let newest = newest(
            &self.view,
            self.view.context(),
            key,
            self.seq,
            &mut self.value,
        )?;
        if !matches!(newest, Newest::Is(Kind::Put)) {
            return Ok(false);
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.shown = Shown::Apart;
        Ok(true)
    }

    /// Gives the merger its sources; called before it is placed.
    fn gather_sources(&mut self) {
        if self.sourced {
            self.view.count();
        } else {
            self.sourced = true;
            let sources = sources(&self.view, self.view.context());
            self.merger = Merger::new(sources, self.view.context().order.clone());
        }
    }

    fn placed(
        &mut self,
        place: impl FnOnce(&mut Merger, SeqNo) -> Result<()>,
        heading: Heading,
    ) -> Result<()> {
        self.shown = Shown::Nothing;
        self.heading = heading;
        self.view.note_read();
        self.gather_sources();
        place(&mut self.merger, self.seq)?;
        match heading {
            Heading::Forward => self.show_forward(),
            Heading::Backward => self.show_backward(),
        }
    }

    /// The next entry; on an invalid cursor, nothing.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.view.counted()
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
        self.view.count();
        let merged = match self.shown {
            Shown::Nothing => return None,
            Shown::InPlace | Shown::ValueCopied => {
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
        if self.heading == Heading::Backward || merged == Merged::Elsewhere {
            self.heading = Heading::Forward;
            // All versions of the shown key are skipped below.
            self.gather_sources();
            self.merger.seek(&self.key, 0)?;
        } else if merged == Merged::There {
            self.merger.step()?;
        }
        self.skip_key()?;
        self.show_forward()
    }

    /// Moves the merger off every entry whose key is `self.key`.
    fn skip_key(&mut self) -> Result<()> {
        while self.merger.valid()
            && self
                .view
                .context()
                .order
                .compare(self.merger.key(), &self.key)
                .is_eq()
        {
            self.merger.step()?;
        }
        Ok(())
    }

    /// The merger heads forward and stands on the newest version not yet considered.
    #[inline]
    fn show_forward(&mut self) -> Result<()> {
        while self.merger.valid() {
            if self.merger.seq() > self.seq {
                self.merger.step()?;
                continue;
            }
            match self.merger.kind() {
                Kind::Put => {
                    self.merger.load_value()?;
                    self.shown = Shown::InPlace;
                    return Ok(());
                }
                Kind::Delete => {
                    self.key.clear();
                    self.key.extend_from_slice(self.merger.key());
                    self.merger.step()?;
                    self.skip_key()?;
                }
                Kind::Pointer => {
                    self.merger.load_value()?;
                    let values = &self.view.version.values;
                    self.value.clear();
                    read_pointer(
                        &self.view.context().order,
                        values,
                        self.merger.key(),
                        self.merger.value(),
                        &mut self.value,
                    )?;
                    self.shown = Shown::ValueCopied;
                    return Ok(());
                }
                Kind::Merge => return self.fold_forward(),
            }
        }
        Ok(())
    }

    fn fold_forward(&mut self) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(self.merger.key());
        self.fold.clear();
        while self.merger.valid()
            && self
                .view
                .context()
                .order
                .compare(self.merger.key(), &self.key)
                .is_eq()
        {
            self.merger.load_value()?;
            match self.merger.kind() {
                Kind::Merge => self.fold.push_operand(self.merger.value()),
                Kind::Delete => break,
                kind @ (Kind::Put | Kind::Pointer) => {
                    let mut base = Vec::new();
                    let values = &self.view.version.values;
                    resolve(
                        &self.view.context().order,
                        values,
                        &self.key,
                        kind,
                        self.merger.value(),
                        &mut base,
                    )?;
                    self.fold.set_base(Some(base));
                    break;
                }
            }
            self.merger.step()?;
        }
        self.skip_key()?;
        self.fold.reverse();
        self.fold_gathered()
    }

    /// Folds what was gathered for `self.key`; the merger has moved on.
    fn fold_gathered(&mut self) -> Result<()> {
        self.shown = Shown::Failed;
        self.value = self.fold.finish(self.view.context(), &self.key)?;
        self.shown = Shown::Copied;
        Ok(())
    }

    /// The entry before; on an invalid cursor, nothing.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        if self.view.counted()
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

    fn prev_slow(&mut self) -> Result<()> {
        let Some(merged) = self.leave() else {
            return Ok(());
        };
        if self.heading == Heading::Forward || merged == Merged::Elsewhere {
            self.heading = Heading::Backward;
            // Before every version of the shown key.
            self.gather_sources();
            self.merger.seek_for_prev(&self.key, SEQ_MAX)?;
        } else if merged == Merged::There {
            self.merger.step()?;
        }
        self.skip_key()?;
        self.show_backward()
    }

    /// The merger heads backward and stands on the oldest version of a key not yet considered.
    #[inline]
    fn show_backward(&mut self) -> Result<()> {
        while self.merger.valid() {
            if self.merger.alone() && self.merger.seq() <= self.seq {
                match self.merger.kind() {
                    Kind::Put => {
                        self.merger.load_value()?;
                        self.shown = Shown::InPlace;
                        return Ok(());
                    }
                    Kind::Delete => {
                        self.merger.step()?;
                        continue;
                    }
                    Kind::Pointer | Kind::Merge => {}
                }
            }
            if self.gather_backward()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Walks one key from its oldest to its newest visible version; whether it has a value.
    fn gather_backward(&mut self) -> Result<bool> {
        self.key.clear();
        self.key.extend_from_slice(self.merger.key());
        self.fold.clear();
        let mut newest = None;
        while self.merger.valid()
            && self
                .view
                .context()
                .order
                .compare(self.merger.key(), &self.key)
                .is_eq()
        {
            if self.merger.seq() <= self.seq {
                self.merger.load_value()?;
                let kind = self.merger.kind();
                if kind == Kind::Merge {
                    if !self.fold.has_operands() {
                        self.base_below_operands(newest)?;
                    }
                    self.fold.push_operand(self.merger.value());
                } else {
                    self.fold.clear();
                    self.value.clear();
                    self.value.extend_from_slice(self.merger.value());
                }
                newest = Some(kind);
                if !self.view.context().order.can_hash() {
                    // Equal keys may differ; the one shown is the newest, as in the other direction.
                    self.key.clear();
                    self.key.extend_from_slice(self.merger.key());
                }
            }
            self.merger.step()?;
        }
        let Some(kind) = newest else { return Ok(false) };
        match kind {
            Kind::Delete => return Ok(false),
            Kind::Put => {}
            Kind::Pointer => {
                let pointer = std::mem::take(&mut self.value);
                let values = &self.view.version.values;
                read_pointer(
                    &self.view.context().order,
                    values,
                    &self.key,
                    &pointer,
                    &mut self.value,
                )?;
            }
            Kind::Merge => self.fold_gathered()?,
        }
        self.shown = Shown::Copied;
        Ok(true)
    }

    /// Makes what was gathered so far the base of the operands that follow.
    fn base_below_operands(&mut self, below: Option<Kind>) -> Result<()> {
        let base = match below {
            Some(kind @ (Kind::Put | Kind::Pointer)) => {
                let mut base = Vec::new();
                let values = &self.view.version.values;
                resolve(
                    &self.view.context().order,
                    values,
                    &self.key,
                    kind,
                    &self.value,
                    &mut base,
                )?;
                Some(base)
            }
            _ => None,
        };
        self.fold.set_base(base);
        Ok(())
    }
}
