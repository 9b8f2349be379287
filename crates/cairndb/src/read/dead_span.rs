//! Stretches of keys that a seek found to hold nothing but tombstones, so that the next seek need not walk them.
//!
//! A queue is the pattern: put at the tail, seek to the first, delete it. Every seek would walk the tombstones of all that
//! was taken out since the last merge that reached the last run; so would every look into a queue that is empty.
//!
//! Invariants:
//! 1. A span says that no key from `from` on and before `to` was visible at `seq`, and is used for one view by cursors at
//!    `seq` or later. So what one of them may see there was put after `seq`.
//! 2. Nothing in the view's sealed parts and runs is newer than `seq`: all of these may begin at `to`.
//! 3. The mutable part may begin at `resume`, which is not behind `to` nor behind an entry it had at `seq`, as long as no put
//!    was inserted in its middle since: others stand behind whatever it had. Else it begins at the seek's key.
//!
//! What is skipped in the mutable part hides nothing that is not: sealed parts and runs begin at `to` wherever it does.
//!
//! Counting tombstones in memtables and tables instead, and flushing and merging sooner where there are many, as RocksDB's
//! collectors have it, bounds what a seek walks and writes more; here nothing is written, and the next seek walks
//! nothing. It was 322 us a turn of a queue of a thousand without, and is 2.0 (`cargo bench -p cairndb --bench engine --
//! queue`).
//!
//! Threads: each has its own spans, with what else its cursors leave ([`spare`](crate::read::spare)).

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
const SPANS: usize = 4;
/// Longer keys are not kept.
const KEY_BYTES_MAX: usize = 1 << 10;

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
    from: Kept,
    to: Kept,
    /// `None` where the mutable part had nothing at `seq`, so that nothing of it may be skipped.
    resume: Option<Kept>,
}

impl DeadSpan {
    /// What a seek from `from` on has found that came to rest at `to`. `settled` is the largest number outside the view's
    /// mutable part. `None` where that is later than the cursor's, or for long keys.
    pub(crate) fn new(
        now: Moment<'_>,
        settled: SeqNo,
        from: Place<'_>,
        to: Place<'_>,
    ) -> Option<DeadSpan> {
        // An order that contradicts itself may lead anywhere.
        let forward = from.compare(to, now.order).is_lt();
        if !forward || from.is_long() || to.is_long() || settled > now.seq {
            return None;
        }
        let near_end = now.mutable.key_near_end(now.seq).map(Place::At);
        let resume = near_end.map(|end| end.nearer(to, now.order));
        Some(DeadSpan {
            view: now.view,
            seq: now.seq,
            from: Kept::of(from),
            to: Kept::of(to),
            resume: resume.filter(|resume| !resume.is_long()).map(Kept::of),
        })
    }

    /// Whether it may be used for a seek to `place`.
    fn covers(&self, now: Moment<'_>, place: Place<'_>) -> bool {
        self.view == now.view
            && self.seq <= now.seq
            && self.from.place().compare(place, now.order).is_le()
            && place.compare(self.to.place(), now.order).is_lt()
    }

    /// Where `source`, one of the view's, may begin instead of at `place`, which the span covers.
    pub(crate) fn start<'a>(
        &'a self,
        now: Moment<'_>,
        source: &Source,
        place: Place<'a>,
    ) -> Place<'a> {
        debug_assert!(self.view == now.view && self.seq <= now.seq);
        if !source.is(now.mutable) {
            return self.to.place();
        }
        match &self.resume {
            Some(resume) if now.mutable.inner_seq_max() <= self.seq => {
                resume.place().farther(place, now.order)
            }
            _ => place,
        }
    }
}

/// The spans of a thread.
#[derive(Debug, Default)]
pub(crate) struct DeadSpans {
    /// There are some: what a seek looks at where nothing is deleted.
    any: AtomicBool,
    /// The one used or noted last comes first.
    spans: Mutex<Vec<DeadSpan>>,
}

impl DeadSpans {
    /// Takes the span that a cursor may use for a seek to `place`, to be kept again.
    #[inline]
    pub(crate) fn take(&self, now: Moment<'_>, place: Place<'_>) -> Option<DeadSpan> {
        // Relaxed: a hint. Spans are read under the lock.
        if !self.any.load(Memory::Relaxed) {
            return None;
        }
        self.find(now, place)
    }

    #[cold]
    fn find(&self, now: Moment<'_>, place: Place<'_>) -> Option<DeadSpan> {
        // As with spare sources, who does not get the lock does without.
        let mut spans = self.spans.try_lock()?;
        spans.retain(|span| span.view >= now.view);
        self.any.store(!spans.is_empty(), Memory::Relaxed);
        let at = spans.iter().position(|span| span.covers(now, place))?;
        Some(spans.remove(at))
    }

    /// Keeps a span, as the first to be asked; the last one goes if there are many.
    #[cold]
    pub(crate) fn keep(&self, span: DeadSpan) {
        let Some(mut spans) = self.spans.try_lock() else {
            return;
        };
        spans.truncate(SPANS - 1);
        spans.insert(0, span);
        self.any.store(true, Memory::Relaxed);
    }
}
