//! Stretches of keys that a seek found to hold nothing but tombstones, so that the next seek need not walk them.
//!
//! A queue is the pattern: put at the tail, seek to the first, delete it. Every seek would walk the tombstones of all that
//! was taken out since the last merge that reached the last run; so would every look into a queue that is empty.
//!
//! So it is the other way round, with a stack, or a queue whose tail is at its least key.
//!
//! Invariants:
//! 1. A span says that no key between `low` and `high` was visible at `seq`, but for what the mutable part had behind
//!    `resume`, and is used for one view by cursors at `seq` or later. So what else one of them may see there was put after
//!    `seq`. Where the seek began, that key was not visible either; where it came to rest, it was.
//! 2. Nothing in the view's sealed parts and runs is newer than `seq`: all of these may begin at the other end.
//! 3. `resume` is not behind `high`, nor behind the key of the last entry that the mutable part had at `seq`. What was inserted
//!    there since, and is no tombstone, either stands behind `resume`, as it was inserted behind all others, or is one of
//!    those that the part tells of: forward it may begin at `resume`, or at the first of them before that. Where they are too
//!    many to be told it begins at the seek's key.
//! 4. Backward it may begin at `low`, or at the last of them, if moreover nothing was inserted behind all others since
//!    `end_seq`, a number at which invariant 1 held without exception.
//!
//! What is skipped in the mutable part hides nothing that is not: sealed parts and runs begin at the other end wherever it does.
//!
//! Counting tombstones in memtables and tables instead, and flushing and merging sooner where there are many, as RocksDB's
//! collectors have it, bounds what a seek walks and writes more; here nothing is written, and the next seek walks
//! the few that came since, as long as no part was sealed and no flush or merge installed. It was 322 us a turn of a queue of a thousand without,
//! and is 2.0 (`cargo bench -p cairndb --bench engine -- queue`).
//!
//! Threads: each has its own spans, with what else its cursors leave ([`spare`](crate::read::thread_cache)).

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use cairndb_base::{Order, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_mem::Memtable;

use crate::read::source::Source;

/// Tombstones that a seek has to walk for a span to be noted: fewer cost less than to find one.
pub(crate) const DEAD_NOTED: usize = 32;
/// Spans that a thread keeps: queues that it looks into by turns.
const SPANS: usize = 64;
/// Of those that begin before a seek's key the last ones are asked: a longer one may begin before a shorter one.
const SPANS_ASKED: usize = 4;
/// Longer keys are not kept.
const KEY_BYTES_MAX: usize = 128;

/// What a cursor reads: a view, and the number it does so at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    /// The view's number.
    pub(crate) view: u64,
    /// The view's mutable part.
    pub(crate) mutable: &'a Arc<Memtable>,
    pub(crate) order: &'a Order,
    pub(crate) seq: SeqNo,
}

/// A key, or before every key, or behind every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    First,
    At(&'a [u8]),
    End,
}

impl<'a> Place<'a> {
    fn compare(self, other: Place<'a>, order: &Order) -> Ordering {
        match (self, other) {
            (Place::At(a), Place::At(b)) => order.compare(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn nearer(self, other: Place<'a>, order: &Order) -> Place<'a> {
        if self.compare(other, order).is_lt() {
            self
        } else {
            other
        }
    }

    fn farther(self, other: Place<'a>, order: &Order) -> Place<'a> {
        if self.compare(other, order).is_lt() {
            other
        } else {
            self
        }
    }

    fn rank(self) -> u8 {
        match self {
            Place::First => 0,
            Place::At(_) => 1,
            Place::End => 2,
        }
    }

    fn is_before(self, other: Place<'a>, order: &Order) -> bool {
        self.compare(other, order).is_lt()
    }

    fn is_long(self) -> bool {
        matches!(self, Place::At(key) if key.len() > KEY_BYTES_MAX)
    }
}

/// A [`Place`] with a key of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    First,
    At(Box<[u8]>),
    End,
}

impl Kept {
    fn place(&self) -> Place<'_> {
        match self {
            Kept::First => Place::First,
            Kept::At(key) => Place::At(key),
            Kept::End => Place::End,
        }
    }

    fn of(place: Place<'_>) -> Kept {
        match place {
            Place::First => Kept::First,
            Place::At(key) => Kept::At(key.into()),
            Place::End => Kept::End,
        }
    }
}

/// A stretch of keys none of which was visible.
#[derive(Debug)]
pub(crate) struct DeadSpan {
    view: u64,
    seq: SeqNo,
    low: Kept,
    high: Kept,
    /// The seek that found it went from `low` to `high`.
    forward: bool,
    /// `None` where the mutable part had nothing at `seq`, so that nothing of it may be skipped.
    resume: Option<Kept>,
    end_seq: SeqNo,
}

impl DeadSpan {
    /// What a seek from `from` on has found that came to rest at `to`, with the help of the span `used`. `settled` is the
    /// largest number outside the view's mutable part. `None` where that is later than the cursor's, or for long keys.
    pub(crate) fn new(
        now: Moment<'_>,
        settled: SeqNo,
        (from, to): (Place<'_>, Place<'_>),
        forward: bool,
        used: Option<&DeadSpan>,
    ) -> Option<DeadSpan> {
        let (low, high) = if forward { (from, to) } else { (to, from) };
        // An order that contradicts itself may lead anywhere.
        let ordered = low.is_before(high, now.order);
        if !ordered || low.is_long() || high.is_long() || settled > now.seq {
            return None;
        }
        // Where too many have been put at the end since, what a span began at before will do: it is no farther.
        let near_end = now.mutable.key_near_end(now.seq).map(Place::At);
        let before = used.and_then(|used| used.resume.as_ref()).map(Kept::place);
        let resume = near_end.or(before).map(|end| end.nearer(high, now.order));
        Some(DeadSpan {
            view: now.view,
            seq: now.seq,
            low: Kept::of(low),
            high: Kept::of(high),
            forward,
            resume: resume.filter(|resume| !resume.is_long()).map(Kept::of),
            end_seq: now.seq,
        })
    }

    /// Whether all of the other is part of it.
    pub(crate) fn contains(&self, other: &DeadSpan, order: &Order) -> bool {
        let (low, high) = (other.low.place(), other.high.place());
        !low.is_before(self.low.place(), order) && !self.high.place().is_before(high, order)
    }

    /// Whether it may be used for a seek to `place`.
    fn covers(&self, now: Moment<'_>, place: Place<'_>, forward: bool) -> bool {
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

    /// Where the mutable part may begin instead of at `place`, which the span covers. Where nothing was put that the
    /// span had to tell of, it says of now what it said of its moment.
    fn start_of_mutable(&mut self, now: Moment<'_>, place: Place<'_>, forward: bool) -> Kept {
        let Some(resume) = &self.resume else {
            return Kept::of(place);
        };
        let order = now.order;
        let (low, high, resume) = (self.low.place(), self.high.place(), resume.place());
        let ended = now.mutable.ends_as_at(self.end_seq);
        let mut begin = if forward { resume } else { low };
        let mut put = false;
        let all = now.mutable.inserted_between(self.seq, |key| {
            let key = Place::At(key);
            if key.is_before(low, order) || high.is_before(key, order) {
                return;
            }
            put = true;
            if forward && !key.is_before(place, order) {
                begin = key.nearer(begin, order);
            } else if !forward && !place.is_before(key, order) {
                begin = key.farther(begin, order);
            }
        });
        if !all || !(forward || ended) || begin.is_long() {
            return Kept::of(place);
        }
        let begin = Kept::of(if forward {
            begin.farther(place, order)
        } else {
            begin.nearer(place, order)
        });
        if !put {
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
    pub(crate) span: DeadSpan,
    /// Where the mutable part begins.
    mutable: Kept,
    forward: bool,
}

impl SpanUse {
    /// Where `source`, one of the view's, may begin.
    pub(crate) fn start(&self, now: Moment<'_>, source: &Source) -> Place<'_> {
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
pub(crate) struct DeadSpans {
    /// There are some: what a seek looks at where nothing is deleted.
    any: AtomicBool,
    /// In the order of their lower ends, no two with one.
    spans: Mutex<Vec<DeadSpan>>,
}

impl DeadSpans {
    /// Takes the span that a cursor may use for a seek to `place`, to be kept again.
    #[inline]
    pub(crate) fn take(&self, now: Moment<'_>, place: Place<'_>, forward: bool) -> Option<SpanUse> {
        // Relaxed: a hint. Spans are read under the lock.
        if !self.any.load(Memory::Relaxed) {
            return None;
        }
        self.find(now, place, forward)
    }

    #[cold]
    fn find(&self, now: Moment<'_>, place: Place<'_>, forward: bool) -> Option<SpanUse> {
        let mut span = {
            // As with spare sources, who does not get the lock does without.
            let mut spans = self.spans.try_lock()?;
            spans.retain(|span| span.view >= now.view);
            self.any.store(!spans.is_empty(), Memory::Relaxed);
            let behind = position(&spans, place, now.order).map_or_else(|at| at, |at| at + 1);
            let near = behind.saturating_sub(SPANS_ASKED)..behind;
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

    /// Keeps a span, in place of one with the same lower end. If there are many, that of the earliest moment goes.
    #[cold]
    pub(crate) fn keep(&self, span: DeadSpan, order: &Order) {
        let Some(mut spans) = self.spans.try_lock() else {
            return;
        };
        match position(&spans, span.low.place(), order) {
            // Not by an older cursor's.
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

/// The span whose lower end is at `place`, or else where one would stand whose is.
fn position(spans: &[DeadSpan], place: Place<'_>, order: &Order) -> Result<usize, usize> {
    spans.binary_search_by(|span| span.low.place().compare(place, order))
}
