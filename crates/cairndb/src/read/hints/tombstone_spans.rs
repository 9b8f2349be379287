//! Key ranges in which a seek found nothing but tombstones, so that the next seek need not step
//! over them.
//!
//! A queue is the typical case: append at the tail, seek to the first entry, delete it. Every seek
//! would step over the tombstones of all entries removed since the last compaction that reached the
//! last run, and so would every seek in an empty queue. The same holds in the other direction for a
//! stack, or a queue whose tail is its smallest key.
//!
//! Invariants:
//! 1. Between `low` and `high` no key was visible at `seq`, except entries of the mutable memtable
//!    after `resume`. The bound where the seek started was not visible either; the bound where it
//!    stopped was. A span is used for one view, by cursors at `seq` or later. Any other entry in
//!    the span that such a cursor may see was inserted after `seq`.
//! 2. The view's immutable memtables and runs have nothing newer than `seq`: all of them may start
//!    at the far end of the span.
//! 3. `resume` is not after `high`, and not after the last key that the mutable memtable had at
//!    `seq`. An entry inserted since then that is not a tombstone was either inserted after all
//!    others, and so is after `resume`, or is one of the entries that the memtable reports.
//!    Forward, the memtable may start at `resume`, or at the first reported entry before that. If
//!    there are too many entries to report, it starts at the key of the seek.
//! 4. Backward, the memtable may start at `low`, or at the last reported entry, provided that
//!    nothing was inserted after all others since `end_seq`, a number at which invariant 1 held
//!    without exception.
//!
//! Skipping part of the mutable memtable is safe because every source starts at the same far end:
//! no tombstone is skipped while an entry that it hides is still visited.
//!
//! The alternative is to count tombstones in memtables and tables, and to flush and compact earlier
//! if there are many, as RocksDB's collectors do. This bounds the steps of a seek but writes more.
//! Spans write nothing, and the next seek steps over only the tombstones added since, as long as no
//! memtable was sealed and no flush or compaction was installed.
//! `cargo bench -p cairndb --bench engine -- queue` measures this.
//!
//! Threads: each thread has its own spans, alongside the other state of its cursors
//! ([`thread_cache`](crate::read::hints::thread_cache)).

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use cairndb_base::{Order, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_mem::Memtable;

use crate::read::source::Source;

/// Number of tombstones that a seek has to step over before a span is recorded: stepping over fewer
/// costs less than finding a span.
pub(crate) const SPAN_TOMBSTONES_MIN: usize = 32;
/// Maximum number of spans of a thread, and so of queues in which it seeks alternately.
const SPANS: usize = 64;
/// Number of spans examined, starting with the last that starts before the key of a seek: a longer
/// span may start before a shorter one.
const SPANS_ASKED: usize = 4;
/// Maximum length of a recorded key.
const KEY_BYTES_MAX: usize = 128;

/// The read point of a cursor: a view at a sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadPoint<'a> {
    /// Number of the view.
    pub(crate) view: u64,
    /// Mutable memtable of the view.
    pub(crate) mutable: &'a Arc<Memtable>,
    pub(crate) order: &'a Order,
    pub(crate) seq: SeqNo,
}

/// A key, or the position before or after every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyBound<'a> {
    First,
    At(&'a [u8]),
    End,
}

impl<'a> KeyBound<'a> {
    fn compare(self, other: KeyBound<'a>, order: &Order) -> Ordering {
        match (self, other) {
            (KeyBound::At(a), KeyBound::At(b)) => order.compare(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn nearer(self, other: KeyBound<'a>, order: &Order) -> KeyBound<'a> {
        if self.compare(other, order).is_lt() {
            self
        } else {
            other
        }
    }

    fn farther(self, other: KeyBound<'a>, order: &Order) -> KeyBound<'a> {
        if self.compare(other, order).is_lt() {
            other
        } else {
            self
        }
    }

    fn rank(self) -> u8 {
        match self {
            KeyBound::First => 0,
            KeyBound::At(_) => 1,
            KeyBound::End => 2,
        }
    }

    fn is_before(self, other: KeyBound<'a>, order: &Order) -> bool {
        self.compare(other, order).is_lt()
    }

    fn is_long(self) -> bool {
        matches!(self, KeyBound::At(key) if key.len() > KEY_BYTES_MAX)
    }
}

/// A [`KeyBound`] that owns its key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnedBound {
    First,
    At(Box<[u8]>),
    End,
}

impl OwnedBound {
    fn place(&self) -> KeyBound<'_> {
        match self {
            OwnedBound::First => KeyBound::First,
            OwnedBound::At(key) => KeyBound::At(key),
            OwnedBound::End => KeyBound::End,
        }
    }

    fn of(place: KeyBound<'_>) -> OwnedBound {
        match place {
            KeyBound::First => OwnedBound::First,
            KeyBound::At(key) => OwnedBound::At(key.into()),
            KeyBound::End => OwnedBound::End,
        }
    }
}

/// A key range in which no key was visible.
#[derive(Debug)]
pub(crate) struct TombstoneSpan {
    view: u64,
    seq: SeqNo,
    low: OwnedBound,
    high: OwnedBound,
    /// Whether the seek that found it went from `low` to `high`.
    forward: bool,
    /// `None` if the mutable memtable was empty at `seq`; then nothing of it may be skipped.
    resume: Option<OwnedBound>,
    end_seq: SeqNo,
}

impl TombstoneSpan {
    /// Returns the span found by a seek that started at `from`, stopped at `to` and used the span
    /// `used`. `settled` is the largest sequence number outside the view's mutable memtable.
    /// Returns `None` if `settled` is newer than the cursor, or for long keys.
    pub(crate) fn new(
        now: ReadPoint<'_>,
        settled: SeqNo,
        (from, to): (KeyBound<'_>, KeyBound<'_>),
        forward: bool,
        used: Option<&TombstoneSpan>,
    ) -> Option<TombstoneSpan> {
        let (low, high) = if forward { (from, to) } else { (to, from) };
        // An inconsistent comparator may lead anywhere.
        let ordered = low.is_before(high, now.order);
        if !ordered || low.is_long() || high.is_long() || settled > now.seq {
            return None;
        }
        // If too many entries were inserted at the end since then, the `resume` of the used span is
        // still correct, because it is not farther.
        let near_end = now.mutable.key_near_end(now.seq).map(KeyBound::At);
        let before = used
            .and_then(|used| used.resume.as_ref())
            .map(OwnedBound::place);
        let resume = near_end.or(before).map(|end| end.nearer(high, now.order));
        Some(TombstoneSpan {
            view: now.view,
            seq: now.seq,
            low: OwnedBound::of(low),
            high: OwnedBound::of(high),
            forward,
            resume: resume
                .filter(|resume| !resume.is_long())
                .map(OwnedBound::of),
            end_seq: now.seq,
        })
    }

    /// Returns whether `other` is entirely within this span.
    pub(crate) fn contains(&self, other: &TombstoneSpan, order: &Order) -> bool {
        let (low, high) = (other.low.place(), other.high.place());
        !low.is_before(self.low.place(), order) && !self.high.place().is_before(high, order)
    }

    /// Returns whether this span may be used for a seek to `place`.
    fn covers(&self, now: ReadPoint<'_>, place: KeyBound<'_>, forward: bool) -> bool {
        let (low, high) = (
            place.compare(self.low.place(), now.order),
            place.compare(self.high.place(), now.order),
        );
        let within = if forward {
            high.is_lt() && (low.is_gt() || low.is_eq() && self.forward)
        } else {
            low.is_gt() && (high.is_lt() || high.is_eq() && !self.forward)
        };
        within && self.view == now.view && self.seq <= now.seq
    }

    /// Returns the position at which the mutable memtable may start instead of `place`, which the
    /// span covers. If no insertion within the span was reported, the span is advanced to the
    /// current sequence number.
    fn start_of_mutable(
        &mut self,
        now: ReadPoint<'_>,
        place: KeyBound<'_>,
        forward: bool,
    ) -> OwnedBound {
        let Some(resume) = &self.resume else {
            return OwnedBound::of(place);
        };
        let order = now.order;
        let (low, high, resume) = (self.low.place(), self.high.place(), resume.place());
        let ended = now.mutable.ends_as_at(self.end_seq);
        let mut begin = if forward { resume } else { low };
        let mut inserted = false;
        let all = now.mutable.inserted_between(self.seq, |key| {
            let key = KeyBound::At(key);
            if key.is_before(low, order) || high.is_before(key, order) {
                return;
            }
            inserted = true;
            if forward && !key.is_before(place, order) {
                begin = key.nearer(begin, order);
            } else if !forward && !place.is_before(key, order) {
                begin = key.farther(begin, order);
            }
        });
        if !all || !(forward || ended) || begin.is_long() {
            return OwnedBound::of(place);
        }
        let begin = OwnedBound::of(if forward {
            begin.farther(place, order)
        } else {
            begin.nearer(place, order)
        });
        if !inserted {
            self.seq = now.seq;
            if ended {
                self.end_seq = now.seq;
            }
        }
        begin
    }
}

/// A span that a seek uses.
#[derive(Debug)]
pub(crate) struct SpanUse {
    pub(crate) span: TombstoneSpan,
    /// Start position in the mutable memtable.
    mutable: OwnedBound,
    forward: bool,
}

impl SpanUse {
    /// Returns the position at which `source`, a source of the view, may start.
    pub(crate) fn start(&self, now: ReadPoint<'_>, source: &Source) -> KeyBound<'_> {
        debug_assert!(self.span.view == now.view && self.span.seq <= now.seq);
        if source.is(now.mutable) {
            self.mutable.place()
        } else if self.forward {
            self.span.high.place()
        } else {
            self.span.low.place()
        }
    }
}

/// The spans of a thread.
#[derive(Debug, Default)]
pub(crate) struct TombstoneSpans {
    /// Whether there are spans; the only check of a seek while nothing is deleted.
    any: AtomicBool,
    /// Spans ordered by their lower bounds, which differ.
    spans: Mutex<Vec<TombstoneSpan>>,
}

impl TombstoneSpans {
    /// Takes the span that a cursor may use for a seek to `place`. The caller returns it to `keep`.
    #[inline]
    pub(crate) fn take(
        &self,
        now: ReadPoint<'_>,
        place: KeyBound<'_>,
        forward: bool,
    ) -> Option<SpanUse> {
        // Relaxed: a hint. Spans are read under the lock.
        if !self.any.load(Memory::Relaxed) {
            return None;
        }
        self.find(now, place, forward)
    }

    #[cold]
    fn find(&self, now: ReadPoint<'_>, place: KeyBound<'_>, forward: bool) -> Option<SpanUse> {
        let mut span = {
            // As with spare sources, a reader that does not get the lock uses no span.
            let mut spans = self.spans.try_lock()?;
            spans.retain(|span| span.view >= now.view);
            self.any.store(!spans.is_empty(), Memory::Relaxed);
            let end = position(&spans, place, now.order).map_or_else(|at| at, |at| at + 1);
            let near = end.saturating_sub(SPANS_ASKED)..end;
            let covering = near.filter(|at| spans[*at].covers(now, place, forward));
            let farthest = covering.max_by(|a, b| {
                let (a, b) = (&spans[*a], &spans[*b]);
                if forward {
                    a.high.place().compare(b.high.place(), now.order)
                } else {
                    b.low.place().compare(a.low.place(), now.order)
                }
            });
            spans.remove(farthest?)
        };
        let mutable = span.start_of_mutable(now, place, forward);
        Some(SpanUse {
            span,
            mutable,
            forward,
        })
    }

    /// Keeps a span, replacing one with the same lower bound. If there are too many, the oldest is
    /// dropped.
    #[cold]
    pub(crate) fn keep(&self, span: TombstoneSpan, order: &Order) {
        let Some(mut spans) = self.spans.try_lock() else {
            return;
        };
        match position(&spans, span.low.place(), order) {
            // An older cursor does not replace a newer span.
            Ok(at) if (spans[at].view, spans[at].seq) > (span.view, span.seq) => {}
            Ok(at) => spans[at] = span,
            Err(at) => {
                spans.insert(at, span);
                if spans.len() > SPANS
                    && let Some(oldest) =
                        (0..spans.len()).min_by_key(|at| (spans[*at].view, spans[*at].seq))
                {
                    spans.remove(oldest);
                }
            }
        }
        self.any.store(true, Memory::Relaxed);
    }
}

/// Returns the index of the span whose lower bound is at `place`, or its insertion point.
fn position(spans: &[TombstoneSpan], place: KeyBound<'_>, order: &Order) -> Result<usize, usize> {
    spans.binary_search_by(|span| span.low.place().compare(place, order))
}
