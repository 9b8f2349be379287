//! A tombstone span: a key range in which no key was visible at any sequence number of an interval.
//!
//! Invariants:
//! 1. At every sequence number from `since` to `until`, no key of the range was visible. The range
//!    includes the bound where the seek started, but not the bound where it stopped, which was
//!    visible. A cursor within the interval may skip every source of its view.
//! 2. A later cursor may skip a run or an immutable memtable that has nothing newer than `until`,
//!    provided that it also skips all sources older than that one. No tombstone is skipped while an
//!    entry that it hides is still visited.
//! 3. If all of them are skipped, the cursor may also skip a part of the memtable that was mutable
//!    when the span was recorded. `resume` is not after the end of the range, and not after the
//!    last key that the memtable had at `until`. An entry inserted since then that is not a
//!    tombstone was either inserted after all others, and so is after `resume`, or is one of the
//!    entries that the memtable reports. Forward, the memtable may start at `resume`, or at the
//!    first reported entry before that. If there are too many entries to report, it starts at the
//!    key of the seek.
//! 4. Backward, the memtable may start at the lower bound, or at the last reported entry, provided
//!    that nothing was inserted into the range after all others since `until`: nothing was inserted
//!    there at all, or `resume` is the upper bound, so that it is not in the range.
//! 5. Between `until` and `reported`, nothing was inserted into the range, except after all other
//!    entries of that memtable.
//!
//! Threads: `until` and `reported` only grow, and each value that they ever had is correct by
//! itself, so they are read and written without order.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering as Memory};
use std::sync::{Arc, Weak};

use cairndb_base::{Kind, Order, SEQ_MAX, SeqNo};
use cairndb_mem::Memtable;

use super::key_bound::{KeyBound, OwnedBound};
use crate::read::source::MergeSource;
use crate::state::version::Version;

/// The read point of a cursor: the parts of its view, and its sequence number. The view must show
/// everything up to that number, as the view that was newest when the number was read does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadPoint<'a> {
    pub(crate) mutable: &'a Arc<Memtable>,
    /// Newest first.
    pub(crate) immutables: &'a [Arc<Memtable>],
    pub(crate) version: &'a Version,
    /// Largest sequence number outside the mutable memtable that was written since the database was
    /// opened.
    pub(crate) settled: SeqNo,
    pub(crate) order: &'a Order,
    pub(crate) seq: SeqNo,
}

impl ReadPoint<'_> {
    /// Returns the largest sequence number that the view has ever had since the database was
    /// opened.
    fn newest(self) -> SeqNo {
        self.settled.max(self.mutable.seq_max())
    }

    /// Returns the number of sources, counted from the oldest, that have nothing newer than `seq`.
    fn sources_until(self, seq: SeqNo) -> usize {
        let runs = self.version.runs.iter().rev().map(|run| run.newest());
        let filled = self.immutables.iter().filter(|part| !part.is_empty());
        let immutables = filled.rev().map(|immutable| immutable.seq_max());
        runs.chain(immutables)
            .take_while(|newest| *newest <= seq)
            .count()
    }
}

/// A key range in which no key was visible.
#[derive(Debug)]
pub(crate) struct TombstoneSpan {
    low: OwnedBound,
    high: OwnedBound,
    /// Whether the seek that found it went from `low` to `high`.
    forward: bool,
    since: SeqNo,
    until: AtomicU64,
    /// Memtable that was mutable when the span was recorded.
    mutable: Weak<Memtable>,
    /// `None` if that memtable was empty; then nothing of it may be skipped.
    resume: Option<OwnedBound>,
    reported: AtomicU64,
    /// Whether a snapshot, or a cursor that was kept, uses the span.
    historic: AtomicBool,
    last_use: AtomicU64,
}

impl TombstoneSpan {
    /// Returns the span found by a seek that started at `from`, stopped at `to` and used the span
    /// `used`. Returns `None` for long keys.
    pub(crate) fn new(
        now: ReadPoint<'_>,
        (from, to): (KeyBound<'_>, KeyBound<'_>),
        forward: bool,
        used: Option<&TombstoneSpan>,
    ) -> Option<TombstoneSpan> {
        let (low, high) = if forward { (from, to) } else { (to, from) };
        // An inconsistent comparator may lead anywhere.
        let ordered = low.is_before(high, now.order);
        if !ordered || low.is_long() || high.is_long() {
            return None;
        }
        let mutable = now.mutable;
        // If too many entries were inserted at the end since then, the `resume` of the used span is
        // still correct, because it is not farther.
        let near_end = mutable.key_near_end(now.seq).map(KeyBound::At);
        let before = used
            .filter(|used| used.is_over(mutable))
            .and_then(|used| used.resume.as_ref())
            .map(OwnedBound::place);
        let resume = near_end.or(before).map(|end| end.nearer(high, now.order));
        Some(TombstoneSpan {
            low: OwnedBound::of(low),
            high: OwnedBound::of(high),
            forward,
            since: now.seq,
            until: AtomicU64::new(now.seq),
            mutable: Arc::downgrade(mutable),
            resume: resume
                .filter(|resume| !resume.is_long())
                .map(OwnedBound::of),
            reported: AtomicU64::new(now.seq),
            historic: AtomicBool::new(now.seq < now.newest()),
            last_use: AtomicU64::new(0),
        })
    }

    pub(super) fn low(&self) -> KeyBound<'_> {
        self.low.place()
    }

    pub(super) fn last_use(&self) -> u64 {
        self.last_use.load(Memory::Relaxed)
    }

    pub(super) fn note_use(&self, number: u64) {
        self.last_use.store(number, Memory::Relaxed);
    }

    /// Returns whether `memtable` was mutable when the span was recorded.
    fn is_over(&self, memtable: &Arc<Memtable>) -> bool {
        // The weak reference keeps the address from being used again.
        std::ptr::eq(self.mutable.as_ptr(), Arc::as_ptr(memtable))
    }

    /// Returns whether `other`, an older span, is of no use beside this one.
    pub(super) fn replaces(&self, other: &TombstoneSpan, order: &Order) -> bool {
        let (low, high) = (other.low.place(), other.high.place());
        let contains =
            !low.is_before(self.low.place(), order) && !self.high.place().is_before(high, order);
        contains
            && self.forward == other.forward
            && self.until.load(Memory::Relaxed) >= other.until.load(Memory::Relaxed)
            && (self.since <= other.since || !other.historic.load(Memory::Relaxed))
    }

    /// Returns whether this span may be used for a seek to `place`.
    pub(super) fn covers(&self, now: ReadPoint<'_>, place: KeyBound<'_>, forward: bool) -> bool {
        if now.seq < self.since {
            return false;
        }
        let (low, high) = (
            place.compare(self.low.place(), now.order),
            place.compare(self.high.place(), now.order),
        );
        if forward {
            high.is_lt() && (low.is_gt() || low.is_eq() && self.forward)
        } else {
            low.is_gt() && (high.is_lt() || high.is_eq() && !self.forward)
        }
    }

    /// Compares how far two spans reach in the direction of a seek, then how recent they are.
    pub(super) fn compare_reach(
        &self,
        other: &TombstoneSpan,
        order: &Order,
        forward: bool,
    ) -> Ordering {
        let reach = if forward {
            self.high.place().compare(other.high.place(), order)
        } else {
            other.low.place().compare(self.low.place(), order)
        };
        let until = |span: &TombstoneSpan| span.until.load(Memory::Relaxed);
        reach.then_with(|| until(self).cmp(&until(other)))
    }

    /// Returns the position at which the mutable memtable may start instead of `place`, which the
    /// span covers, if all other sources start at the far end. Extends the interval if nothing was
    /// inserted into the span.
    fn start_of_mutable(
        &self,
        now: ReadPoint<'_>,
        place: KeyBound<'_>,
        forward: bool,
    ) -> OwnedBound {
        let mutable = now.mutable;
        let Some(resume) = self.resume.as_ref().filter(|_| self.is_over(mutable)) else {
            return OwnedBound::of(place);
        };
        let order = now.order;
        let (low, high, resume) = (self.low.place(), self.high.place(), resume.place());
        // An entry after all others is after `resume`, and outside if that is the end of the range.
        let ended = resume.compare(high, order).is_eq()
            || mutable.ends_as_at(self.until.load(Memory::Relaxed));
        let mut begin = if forward { resume } else { low };
        let mut inserted = false;
        let all = mutable.inserted_between(self.reported.load(Memory::Relaxed), |key| {
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
            self.reported.fetch_max(now.seq, Memory::Relaxed);
            if ended {
                self.until.fetch_max(now.seq, Memory::Relaxed);
            }
        }
        begin
    }

    /// Extends the interval over `flushed`, an immutable memtable that is not empty. Returns the
    /// rest of the range if a key of it became visible.
    pub(super) fn absorb(&self, flushed: &Arc<Memtable>, order: &Order) -> Option<TombstoneSpan> {
        let (until, last) = (self.until.load(Memory::Relaxed), flushed.seq_max());
        // What was written between the interval and the memtable may be in any file by now, or
        // gone.
        if until >= last || until + 1 < flushed.seq_min() {
            return None;
        }
        let (first_live, last_live) = self.live_keys(flushed, until, order);
        let (Some(first_live), Some(last_live)) = (first_live, last_live) else {
            self.until.fetch_max(last, Memory::Relaxed);
            return None;
        };
        let (low, high) = if self.forward {
            (self.low.clone(), first_live)
        } else {
            (last_live, self.high.clone())
        };
        let some = low.place().is_before(high.place(), order);
        let short = !low.place().is_long() && !high.place().is_long();
        (some && short).then(|| TombstoneSpan {
            low,
            high,
            forward: self.forward,
            since: self.since,
            until: AtomicU64::new(last),
            mutable: Weak::new(),
            resume: None,
            reported: AtomicU64::new(last),
            historic: AtomicBool::new(self.historic.load(Memory::Relaxed)),
            last_use: AtomicU64::new(0),
        })
    }

    /// Returns the first and the last key of the range with an entry in `memtable` that is newer
    /// than `until` and not a tombstone.
    fn live_keys(
        &self,
        memtable: &Arc<Memtable>,
        until: SeqNo,
        order: &Order,
    ) -> (Option<OwnedBound>, Option<OwnedBound>) {
        let (low, high) = (self.low.place(), self.high.place());
        let mut cursor = memtable.cursor();
        match low {
            KeyBound::First => cursor.seek_to_first(),
            KeyBound::At(key) => cursor.seek(key, SEQ_MAX),
            KeyBound::End => cursor.leave(),
        }
        let (mut first, mut last) = (None, None);
        while cursor.valid() {
            let key = KeyBound::At(cursor.key());
            let end = key.compare(high, order);
            if end.is_gt() || end.is_eq() && self.forward {
                break;
            }
            let start = !self.forward && key.compare(low, order).is_eq();
            if cursor.kind() != Kind::Delete && cursor.seq() > until && !start {
                first.get_or_insert_with(|| OwnedBound::of(key));
                last = Some(OwnedBound::of(key));
            }
            cursor.next();
        }
        (first, last)
    }
}

/// A span that a seek uses.
#[derive(Debug)]
pub(crate) struct SpanUse {
    pub(crate) span: Arc<TombstoneSpan>,
    /// Number of sources, counted from the oldest, that may start at the far end of the span.
    skipped: usize,
    /// Start position of the mutable memtable.
    mutable: OwnedBound,
    forward: bool,
    /// Whether a source other than the mutable memtable has to be read in the span.
    pub(crate) partial: bool,
    /// Whether the mutable memtable starts at the place of the seek.
    from_place: bool,
}

impl SpanUse {
    /// Returns the use of `span`, which covers `place`, or `None` if nothing can be skipped.
    pub(super) fn new(
        span: Arc<TombstoneSpan>,
        now: ReadPoint<'_>,
        place: KeyBound<'_>,
        forward: bool,
    ) -> Option<SpanUse> {
        let until = span.until.load(Memory::Relaxed);
        if now.seq <= until {
            if now.seq < until {
                span.historic.store(true, Memory::Relaxed);
            }
            return Some(SpanUse {
                span,
                skipped: usize::MAX,
                mutable: OwnedBound::End,
                forward,
                partial: false,
                from_place: false,
            });
        }
        let partial = now.settled > until;
        let (skipped, mutable) = if partial {
            (now.sources_until(until), OwnedBound::of(place))
        } else {
            (usize::MAX - 1, span.start_of_mutable(now, place, forward))
        };
        let from_place = mutable.place() == place;
        (skipped > 0).then_some(SpanUse {
            span,
            skipped,
            mutable,
            forward,
            partial,
            from_place,
        })
    }

    /// Worth of a use in which no source is read from the place of the seek.
    pub(super) const WORTH_MAX: (bool, bool) = (true, true);

    /// Returns what the span saves: whether it skips every source but the mutable memtable, and
    /// whether it skips that too.
    pub(super) fn worth(&self) -> (bool, bool) {
        (!self.partial, !self.from_place)
    }

    /// Returns the position at which `source` may start in a seek to `place`. `older` is the number
    /// of older sources.
    pub(crate) fn start<'a>(
        &'a self,
        now: ReadPoint<'_>,
        place: KeyBound<'a>,
        source: &MergeSource,
        older: usize,
    ) -> KeyBound<'a> {
        let far = if self.forward {
            self.span.high.place()
        } else {
            self.span.low.place()
        };
        if self.skipped == usize::MAX {
            far
        } else if source.is(now.mutable) {
            self.mutable.place()
        } else if older < self.skipped {
            far
        } else {
            place
        }
    }
}
