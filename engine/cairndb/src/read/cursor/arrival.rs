//! An arrival: where the sources of a cursor are positioned, and the tombstone span
//! ([`tombstone_spans`](crate::read::hints::tombstone_spans)) that is used or found on the way to
//! the nearest visible entry.

use cairndb_base::{Result, SeqNo};

use crate::read::hints::tombstone_spans::{KeyBound, ReadPoint, SpanUse, TombstoneSpan};
use crate::read::merging_iter::{Direction, MergingIter};
use crate::read::source::MergeSource;
use crate::read::view::View;

/// A bound, and the direction from it to the nearest visible entry.
#[derive(Debug)]
pub(super) struct Arrival<'k> {
    from: KeyBound<'k>,
    pub(super) direction: Direction,
    /// The known tombstone span from `from` on.
    pub(super) span: Option<SpanUse>,
}

impl<'k> Arrival<'k> {
    #[inline]
    pub(super) fn new(
        view: &View,
        seq: SeqNo,
        direction: Direction,
        from: KeyBound<'k>,
    ) -> Arrival<'k> {
        let spans = &view.readers.spans;
        let span = if spans.any() {
            let forward = direction == Direction::Forward;
            spans.find(span_read_point(view, seq), from, forward)
        } else {
            None
        };
        Arrival {
            from,
            direction,
            span,
        }
    }

    /// Returns whether entries within the known span had to be read, so that what is found now
    /// extends it.
    #[inline]
    pub(super) fn extends_span(&self) -> bool {
        self.span.as_ref().is_some_and(|used| used.partial)
    }

    /// Positions all sources.
    #[inline]
    pub(super) fn position(&self, view: &View, seq: SeqNo, merger: &mut MergingIter) -> Result<()> {
        if let Some(span) = &self.span {
            return self.pass(span, view, seq, merger);
        }
        match (self.direction, self.from) {
            (Direction::Forward, KeyBound::At(key)) => merger.seek(key, seq),
            (Direction::Forward, _) => merger.first(),
            (Direction::Backward, KeyBound::At(key)) => merger.seek_for_prev(key, 0),
            (Direction::Backward, _) => merger.last(),
        }
    }

    /// Positions all sources past `span`, as far as it allows for each.
    #[cold]
    pub(super) fn pass(
        &self,
        span: &SpanUse,
        view: &View,
        seq: SeqNo,
        merger: &mut MergingIter,
    ) -> Result<()> {
        let now = span_read_point(view, seq);
        let start = |source: &MergeSource, older| span.start(now, self.from, source, older);
        merger.start(self.direction, seq, start)
    }

    /// Records that no entry is visible before `reached`, where the cursor has arrived, or up to
    /// the end.
    #[cold]
    pub(super) fn record(&self, view: &View, seq: SeqNo, reached: Option<&[u8]>) {
        let now = span_read_point(view, seq);
        let forward = self.direction == Direction::Forward;
        let end = if forward {
            KeyBound::End
        } else {
            KeyBound::First
        };
        let ends = (self.from, reached.map_or(end, KeyBound::At));
        let used = self.span.as_ref().map(|used| &*used.span);
        if let Some(span) = TombstoneSpan::new(now, ends, forward, used) {
            view.readers.spans.keep(span, now.order);
        }
    }
}

/// Returns the parts of a view and sequence number that tombstone spans need.
fn span_read_point(view: &View, seq: SeqNo) -> ReadPoint<'_> {
    ReadPoint {
        mutable: &view.mutable,
        immutables: &view.immutables,
        version: &view.version,
        settled: view.settled_seq(),
        order: &view.context().order,
        seq,
    }
}
