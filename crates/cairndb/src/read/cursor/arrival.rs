//! Positions a cursor: all sources are repositioned, past known tombstone spans
//! ([`tombstone_spans`](crate::read::tombstone_spans)).

use cairndb_base::{Result, SeqNo};

use super::{Heading, Shown, ViewCursor};
use crate::read::source::Source;
use crate::read::tombstone_spans::{DEAD_NOTED, DeadSpan, Moment, Place, SpanUse};
use crate::read::view::View;

impl ViewCursor {
    /// Returns the known tombstone span from `place` on.
    #[inline]
    pub(super) fn dead_from(&self, place: Place<'_>, forward: bool) -> Option<SpanUse> {
        let now = moment(&self.view, self.seq);
        let spans = &self.view.readers.stripes.mine().dead;
        spans.take(now, place, forward)
    }

    /// Moves to the first entry at or after `place`; `used` is the known tombstone span there.
    pub(super) fn arrive_forward(&mut self, place: Place<'_>, used: Option<SpanUse>) -> Result<()> {
        self.leave_for(Heading::Forward);
        match (&used, place) {
            (Some(used), _) => {
                let now = moment(&self.view, self.seq);
                let start = |source: &Source| used.start(now, source);
                self.merger.start_forward(self.seq, start)?;
            }
            (None, Place::At(key)) => self.merger.seek(key, self.seq)?,
            (None, Place::First | Place::End) => self.merger.first()?,
        }
        self.passed = 0;
        self.show_forward()?;
        if self.passed >= DEAD_NOTED || used.is_some() {
            self.note_dead(place, true, used);
        }
        Ok(())
    }

    /// Moves to the last entry at or before `place`.
    pub(super) fn arrive_backward(&mut self, place: Place<'_>) -> Result<()> {
        let used = self.dead_from(place, false);
        self.leave_for(Heading::Backward);
        match (&used, place) {
            (Some(used), _) => {
                let now = moment(&self.view, self.seq);
                let start = |source: &Source| used.start(now, source);
                self.merger.start_backward(start)?;
            }
            (None, Place::At(key)) => self.merger.seek_for_prev(key, 0)?,
            (None, Place::First | Place::End) => self.merger.last()?,
        }
        self.passed = 0;
        self.show_backward()?;
        if self.passed >= DEAD_NOTED || used.is_some() {
            self.note_dead(place, false, used);
        }
        Ok(())
    }

    /// Keeps the used span, and another if the seek passed many tombstones nevertheless.
    #[cold]
    fn note_dead(&self, place: Place<'_>, forward: bool, used: Option<SpanUse>) {
        let (spans, order) = (
            &self.view.readers.stripes.mine().dead,
            &self.view.context().order,
        );
        let used = used.map(|used| used.span);
        let mut noted = None;
        if self.passed >= DEAD_NOTED {
            let now = moment(&self.view, self.seq);
            let end = if forward { Place::End } else { Place::First };
            let ends = (place, self.place().map_or(end, Place::At));
            let settled = self.view.settled_seq();
            noted = DeadSpan::new(now, settled, ends, forward, used.as_ref());
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
    fn leave_for(&mut self, heading: Heading) {
        self.begin_call();
        self.end_window();
        self.shown = Shown::Nothing;
        self.heading = heading;
        self.view.note_read();
        self.gather_sources();
    }
}

/// Returns what tombstone spans need of a view and a sequence number.
fn moment(view: &View, seq: SeqNo) -> Moment<'_> {
    Moment {
        view: view.number,
        mutable: &view.mutable,
        order: &view.context().order,
        seq,
    }
}
