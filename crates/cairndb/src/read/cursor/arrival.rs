//! Positioning of a cursor: all sources are repositioned, past known tombstone spans
//! ([`tombstone_spans`](crate::read::hints::tombstone_spans)).

use cairndb_base::{Result, SeqNo};

use super::{Direction, Location, ViewCursor};
use crate::read::hints::tombstone_spans::{
    KeyBound, ReadPoint, SPAN_TOMBSTONES_MIN, SpanUse, TombstoneSpan,
};
use crate::read::source::Source;
use crate::read::view::View;

impl ViewCursor {
    /// Returns the known tombstone span from `place` on.
    #[inline]
    pub(super) fn span_from(&self, place: KeyBound<'_>, forward: bool) -> Option<SpanUse> {
        let now = read_point(&self.view, self.seq);
        let spans = &self.view.readers.thread_caches.mine().spans;
        spans.take(now, place, forward)
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
                let start = |source: &Source| used.start(now, source);
                self.merger.start_forward(self.seq, start)?;
            }
            (None, KeyBound::At(key)) => self.merger.seek(key, self.seq)?,
            (None, KeyBound::First | KeyBound::End) => self.merger.first()?,
        }
        self.passed = 0;
        self.show_forward()?;
        if self.passed >= SPAN_TOMBSTONES_MIN || used.is_some() {
            self.note_span(place, true, used);
        }
        Ok(())
    }

    /// Moves to the last entry at or before `place`.
    pub(super) fn arrive_backward(&mut self, place: KeyBound<'_>) -> Result<()> {
        let used = self.span_from(place, false);
        self.leave_for(Direction::Backward);
        match (&used, place) {
            (Some(used), _) => {
                let now = read_point(&self.view, self.seq);
                let start = |source: &Source| used.start(now, source);
                self.merger.start_backward(start)?;
            }
            (None, KeyBound::At(key)) => self.merger.seek_for_prev(key, 0)?,
            (None, KeyBound::First | KeyBound::End) => self.merger.last()?,
        }
        self.passed = 0;
        self.show_backward()?;
        if self.passed >= SPAN_TOMBSTONES_MIN || used.is_some() {
            self.note_span(place, false, used);
        }
        Ok(())
    }

    /// Keeps the span that was used, and records another if the seek passed many tombstones
    /// nevertheless.
    #[cold]
    fn note_span(&self, place: KeyBound<'_>, forward: bool, used: Option<SpanUse>) {
        let (spans, order) = (
            &self.view.readers.thread_caches.mine().spans,
            &self.view.context().order,
        );
        let used = used.map(|used| used.span);
        let mut noted = None;
        if self.passed >= SPAN_TOMBSTONES_MIN {
            let now = read_point(&self.view, self.seq);
            let end = if forward {
                KeyBound::End
            } else {
                KeyBound::First
            };
            let ends = (place, self.place().map_or(end, KeyBound::At));
            let settled = self.view.settled_seq();
            noted = TombstoneSpan::new(now, settled, ends, forward, used.as_ref());
        }
        let used = used.filter(|used| {
            let whole = noted.as_ref();
            !whole.is_some_and(|noted| noted.contains(used, order))
        });
        for span in used.into_iter().chain(noted) {
            spans.keep(span, order);
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
        view: view.number,
        mutable: &view.mutable,
        order: &view.context().order,
        seq,
    }
}
