//! Positioning of a cursor: all sources are repositioned, past known tombstone spans
//! ([`tombstone_spans`](crate::read::hints::tombstone_spans)).

use cairndb_base::{Result, SeqNo};

use super::{Location, ViewCursor};
use crate::read::hints::tombstone_spans::{KeyBound, ReadPoint, SpanUse, TombstoneSpan};
use crate::read::merging_iter::Direction;
use crate::read::source::Source;
use crate::read::view::View;

impl ViewCursor {
    /// Ends the last seek: the cursor is dropped or repositioned.
    pub(super) fn end_seek(&mut self) {
        if self.sought && !self.moved {
            self.view.readers.thread_caches.mine().seeks.note_alone();
        }
        self.sought = false;
        self.moved = false;
        self.view.readers.spans.note_passed(self.passed.take());
    }

    /// Returns the known tombstone span from `place` on.
    #[inline]
    pub(super) fn span_from(&self, place: KeyBound<'_>, forward: bool) -> Option<SpanUse> {
        let spans = &self.view.readers.spans;
        if !spans.any() {
            return None;
        }
        spans.find(read_point(&self.view, self.seq), place, forward)
    }

    /// Moves to the first entry at or after `place`; `used` is the known tombstone span there.
    pub(super) fn arrive_forward(
        &mut self,
        place: KeyBound<'_>,
        used: Option<SpanUse>,
    ) -> Result<()> {
        self.leave_for(Direction::Forward);
        match (&used, place) {
            (Some(used), _) => {
                let now = read_point(&self.view, self.seq);
                let start = |source: &Source, older| used.start(now, place, source, older);
                self.merger.start(Direction::Forward, self.seq, start)?;
            }
            (None, KeyBound::At(key)) => self.merger.seek(key, self.seq)?,
            (None, KeyBound::First | KeyBound::End) => self.merger.first()?,
        }
        self.show_forward()?;
        if self.passed.are_many() || used.as_ref().is_some_and(|used| used.partial) {
            self.note_span(place, true, used.as_ref());
        }
        self.view.readers.spans.note_passed(self.passed.take());
        Ok(())
    }

    /// Moves to the last entry at or before `place`.
    pub(super) fn arrive_backward(&mut self, place: KeyBound<'_>) -> Result<()> {
        let used = self.span_from(place, false);
        self.leave_for(Direction::Backward);
        match (&used, place) {
            (Some(used), _) => {
                let now = read_point(&self.view, self.seq);
                let start = |source: &Source, older| used.start(now, place, source, older);
                self.merger.start(Direction::Backward, self.seq, start)?;
            }
            (None, KeyBound::At(key)) => self.merger.seek_for_prev(key, 0)?,
            (None, KeyBound::First | KeyBound::End) => self.merger.last()?,
        }
        self.show_backward()?;
        if self.passed.are_many() || used.as_ref().is_some_and(|used| used.partial) {
            self.note_span(place, false, used.as_ref());
        }
        self.view.readers.spans.note_passed(self.passed.take());
        Ok(())
    }

    /// Continues a step that has passed many dead entries, from the entry of the merging iterator,
    /// which has not been considered yet: past the tombstone span there, or recording one.
    #[cold]
    pub(super) fn leap(&mut self) -> Result<()> {
        // A step that has moved would leap again.
        self.moved = false;
        let leapt = self.leap_on();
        self.moved = true;
        leapt
    }

    fn leap_on(&mut self) -> Result<()> {
        let forward = self.direction == Direction::Forward;
        let place = KeyBound::At(self.merger.key());
        let is_long = place.is_long();
        let used = self
            .span_from(place, forward)
            .filter(|_| !is_long && self.may_search());
        let key = if is_long {
            Vec::new()
        } else {
            self.merger.key().to_vec()
        };
        let place = KeyBound::At(&key);
        if let Some(used) = &used {
            let now = read_point(&self.view, self.seq);
            let start = |source: &Source, older| used.start(now, place, source, older);
            self.merger.start(self.direction, self.seq, start)?;
        }
        self.passed.begin_call();
        if forward {
            self.show_forward()?;
        } else {
            self.show_backward()?;
        }
        let found =
            self.passed.are_worth_a_leap() || used.as_ref().is_some_and(|used| used.partial);
        if found && !is_long {
            self.note_span(place, forward, used.as_ref());
        }
        Ok(())
    }

    /// Records the span that the seek has found.
    #[cold]
    fn note_span(&self, place: KeyBound<'_>, forward: bool, used: Option<&SpanUse>) {
        let now = read_point(&self.view, self.seq);
        let end = if forward {
            KeyBound::End
        } else {
            KeyBound::First
        };
        let ends = (place, self.place().map_or(end, KeyBound::At));
        let used = used.map(|used| &*used.span);
        if let Some(span) = TombstoneSpan::new(now, ends, forward, used) {
            self.view.readers.spans.keep(span, now.order);
        }
    }

    /// Clears the current entry and prepares the sources for positioning.
    fn leave_for(&mut self, direction: Direction) {
        self.begin_call();
        self.end_window();
        self.location = Location::Nothing;
        self.direction = direction;
        self.view.note_read();
        self.gather_sources();
    }
}

/// Returns the parts of a view and sequence number that tombstone spans need.
fn read_point(view: &View, seq: SeqNo) -> ReadPoint<'_> {
    ReadPoint {
        mutable: &view.mutable,
        immutables: &view.immutables,
        version: &view.version,
        settled: view.settled_seq(),
        order: &view.context().order,
        seq,
    }
}
