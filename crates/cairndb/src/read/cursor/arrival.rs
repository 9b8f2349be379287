//! How a cursor comes to a place: all sources are placed anew, but for what is known to be dead
//! ([`dead_span`](crate::read::dead_span)).

use cairndb_base::{Result, SeqNo};

use super::{Heading, Shown, ViewCursor};
use crate::read::dead_span::{DEAD_NOTED, DeadSpan, Moment, Place};
use crate::read::merger::Merger;
use crate::read::source::Source;
use crate::read::view::View;

impl ViewCursor {
    /// The first entry from `place` on.
    pub(super) fn arrive_forward(&mut self, place: Place<'_>) -> Result<()> {
        self.leave_for(Heading::Forward);
        let now = moment(&self.view, self.seq);
        let used = self.view.readers.stripes.mine().dead.take(now, place);
        match (&used, place) {
            (Some(span), _) => {
                let start = |source: &Source| span.start(now, source, place);
                self.merger.start(self.seq, start)?;
            }
            (None, Place::At(key)) => self.merger.seek(key, self.seq)?,
            (None, _) => self.merger.first()?,
        }
        self.passed = 0;
        self.show_forward()?;
        if self.passed >= DEAD_NOTED || used.is_some() {
            self.note_dead(place, used);
        }
        Ok(())
    }

    /// Keeps the span that was used, or another where the seek has passed many tombstones nevertheless.
    #[cold]
    fn note_dead(&self, place: Place<'_>, used: Option<DeadSpan>) {
        let mut noted = None;
        if self.passed >= DEAD_NOTED {
            let now = moment(&self.view, self.seq);
            let to = self.place().map_or(Place::End, Place::At);
            noted = DeadSpan::new(now, self.view.settled_seq(), place, to);
        }
        if let Some(span) = noted.or(used) {
            self.view.readers.stripes.mine().dead.keep(span);
        }
    }

    /// Where `place` puts the merger, or the next entry before.
    pub(super) fn arrive_backward(
        &mut self,
        place: impl FnOnce(&mut Merger) -> Result<()>,
    ) -> Result<()> {
        self.leave_for(Heading::Backward);
        place(&mut self.merger)?;
        self.show_backward()
    }

    /// Shows nothing, and has sources to place.
    fn leave_for(&mut self, heading: Heading) {
        self.end_window();
        self.shown = Shown::Nothing;
        self.heading = heading;
        self.view.note_read();
        self.gather_sources();
    }
}

/// What spans need of a view and a number.
fn moment(view: &View, seq: SeqNo) -> Moment<'_> {
    Moment {
        view: view.number,
        mutable: &view.mutable,
        order: &view.context().order,
        seq,
    }
}
