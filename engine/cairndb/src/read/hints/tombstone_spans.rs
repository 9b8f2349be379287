//! Key ranges in which a seek found nothing but tombstones, so that later seeks of any thread need
//! not step over them.
//!
//! A queue is the typical case: append at the tail, seek to the first entry, delete it. Every seek
//! would step over the tombstones of all entries removed since the last compaction that reached the
//! last run, and so would every seek in an empty queue. A held snapshot keeps these tombstones even
//! through compactions. The same holds in the other direction for a stack, or a queue whose tail is
//! its smallest key.
//!
//! A span states that no key of a range was visible at any sequence number of an interval
//! ([`span`](crate::read::hints::tombstone_spans::span)). That is a property of the contents, not
//! of the files that hold them, so flushes and compactions do not end a span. When a memtable is
//! flushed, the spans are extended over its entries ([`TombstoneSpans::absorb`]). Each tombstone is
//! thus stepped over about twice: by the first seek that meets it, and by the flush. A step that
//! meets many continues as a seek, so it uses and records spans too.
//!
//! The alternative is to record the tombstones of each table in its index. A seek cannot use such a
//! record while an older run holds the entries that the tombstones hide, because those entries must
//! be passed too; and every snapshot needs the record of its own sequence number.
//! `cargo bench -p cairndb --bench engine -- queue` measures this.
//!
//! Threads: all threads of a handle share the list, which is replaced as a whole. A reader takes no
//! lock. The interval of a span grows in place.

mod key_bound;
mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering as Memory};

use arc_swap::ArcSwap;
use cairndb_base::Order;
use cairndb_mem::Memtable;

pub(crate) use self::key_bound::KeyBound;
pub(crate) use self::span::{ReadPoint, SpanUse, TombstoneSpan};

/// Number of tombstones and entries below them that a seek has to step over before a span is
/// recorded: stepping over fewer costs less than finding a span.
pub(crate) const SPAN_ENTRIES_MIN: usize = 32;
/// Maximum number of spans of a handle, and so of queues in which seeks alternate.
const SPANS: usize = 64;
/// Number of spans examined, starting with the last that starts before the key of a seek: a longer
/// span may start before a shorter one, and snapshots may have spans of their own.
const SPANS_ASKED: usize = 16;

/// The spans of a handle.
#[derive(Debug, Default)]
pub(crate) struct TombstoneSpans {
    /// Whether there are spans.
    any: AtomicBool,
    /// Spans ordered by their lower bounds.
    spans: ArcSwap<Vec<Arc<TombstoneSpan>>>,
    /// Number of uses so far, by which the least recently used span is known.
    uses: AtomicU64,
    /// Number of tombstones, and entries below them, that cursors have stepped over.
    passed: AtomicU64,
}

impl TombstoneSpans {
    /// Counts dead entries that a cursor has stepped over.
    #[inline]
    pub(crate) fn note_passed(&self, entries: usize) {
        if entries > 0 {
            self.passed.fetch_add(entries as u64, Memory::Relaxed);
        }
    }

    /// Returns the number of dead entries that cursors have stepped over.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Memory::Relaxed)
    }

    /// Returns whether there are spans; the only check of a seek while nothing is deleted.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: a hint.
        self.any.load(Memory::Relaxed)
    }

    /// Returns the span that a cursor may use for a seek to `place`.
    #[cold]
    pub(crate) fn find(
        &self,
        now: ReadPoint<'_>,
        place: KeyBound<'_>,
        forward: bool,
    ) -> Option<SpanUse> {
        let spans = self.spans.load();
        let end = spans.partition_point(|span| !place.is_before(span.low(), now.order));
        let near = &spans[end.saturating_sub(SPANS_ASKED)..end];
        let covering = near.iter().filter(|span| span.covers(now, place, forward));
        let mut covering: Vec<_> = covering.collect();
        covering.sort_by(|a, b| b.compare_reach(a, now.order, forward));
        // Too much may have been written into the span that reaches farthest.
        let mut best: Option<SpanUse> = None;
        for span in covering {
            let used = SpanUse::new(Arc::clone(span), now, place, forward);
            if used.as_ref().map(SpanUse::worth) > best.as_ref().map(SpanUse::worth) {
                best = used;
            }
            if best.as_ref().map(SpanUse::worth) == Some(SpanUse::WORTH_MAX) {
                break;
            }
        }
        let best = best?;
        best.span
            .note_use(1 + self.uses.fetch_add(1, Memory::Relaxed));
        Some(best)
    }

    /// Keeps a span in place of those that it makes useless. If there are too many, the least
    /// recently used is dropped.
    #[cold]
    pub(crate) fn keep(&self, span: TombstoneSpan, order: &Order) {
        span.note_use(1 + self.uses.fetch_add(1, Memory::Relaxed));
        let span = Arc::new(span);
        self.spans.rcu(|spans| {
            let mut spans = (**spans).clone();
            spans.retain(|other| !span.replaces(other, order));
            let at = spans.partition_point(|other| other.low().is_before(span.low(), order));
            spans.insert(at, Arc::clone(&span));
            if spans.len() > SPANS
                && let Some(oldest) = (0..spans.len()).min_by_key(|at| spans[*at].last_use())
            {
                spans.remove(oldest);
            }
            spans
        });
        self.any.store(true, Memory::Relaxed);
    }

    /// Extends the spans over the entries of `flushed`, an immutable memtable. A span that a new
    /// entry divides keeps the part next to where its seek started. Costs a pass over the
    /// memtable's entries within each span.
    pub(crate) fn absorb(&self, flushed: &Arc<Memtable>, order: &Order) {
        if flushed.is_empty() || !self.any() {
            return;
        }
        for span in self.spans.load().iter() {
            if let Some(shorter) = span.absorb(flushed, order) {
                self.keep(shorter, order);
            }
        }
    }
}
