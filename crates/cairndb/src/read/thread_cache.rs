//! What the cursors of one thread leave to the next: the habit of seeks, where they have found nothing but tombstones
//! ([`dead_span`](crate::read::tombstone_spans)), and sources.
//!
//! Many cursors live for one seek, or a short scan. To make a cursor's sources and to drop them again takes half a dozen
//! allocations and counts of references, a fifth of a seek, and the buffers of a page, once it is moved; and the counts are of
//! what all threads share, so that two threads that seek were no faster than one and a half. So a cursor leaves its
//! sources behind, and the thread's next one over the same view begins with them.
//!
//! Invariants:
//! 1. Spare sources are those of the view that was shown last: they hold nothing that the view does not. A new view
//!    drops them before it is shown, and a cursor over an older one leaves none.
//! 2. They may lack the mutable part, which no cursor reads while it is empty: whoever takes them looks.
//! 3. They hold little memory ([`SPARE_BYTES_MAX`]), and no page of a cache.
//!
//! Threads: each has one of [`STRIPES`] places, which most times no other thread has. A place is behind a lock; a reader
//! that does not get it at once does without: a reader waits for nobody, nor in a process that was forked while the lock
//! was held. (Places of the threads' own, which need no lock, lost: nobody could empty them when the view
//! changes, and a thread that sleeps would keep files that are to be removed.)

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_env::sync::Mutex;

use crate::read::merging_iter::MergingIter;
use crate::read::read_cost::Toll;
use crate::read::seek_predictor::SeekHabit;
use crate::read::tombstone_spans::DeadSpans;

/// Places. Threads are counted and never counted down: with as many alive, or many that came and went, two may have one.
const STRIPES: usize = 16;
/// Heap bytes of sources above which they are given back.
const SPARE_BYTES_MAX: usize = 16 << 10;

/// What the cursors of one thread share, and its count of reads ([`toll`](crate::read::read_cost)). On lines of its own; processors fetch two at a time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Stripe {
    pub(crate) seeks: SeekHabit,
    pub(crate) dead: DeadSpans,
    pub(crate) toll: Toll,
    spare: Mutex<Spare>,
}

#[derive(Debug, Default)]
struct Spare {
    /// The number of the view that is shown, or about to be.
    view: u64,
    /// Sources over it.
    merger: Option<MergingIter>,
}

/// The stripes of a handle.
#[derive(Debug)]
pub(crate) struct Stripes([Stripe; STRIPES]);

/// Counts threads.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The thread's number, plus one; 0 before it has one.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of this thread, counted from the first that asked.
#[inline]
fn thread_number() -> usize {
    NUMBER.with(|number| {
        if number.get() == 0 {
            // Relaxed: numbers need only differ.
            number.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get() - 1
    })
}

impl Stripes {
    /// Stripes for the view of this number.
    pub(crate) fn new(view: u64) -> Stripes {
        let stripes = Stripes(Default::default());
        stripes.begin_view(view);
        stripes
    }

    /// This thread's.
    #[inline]
    pub(crate) fn mine(&self) -> &Stripe {
        &self.0[thread_number() % STRIPES]
    }

    /// Drops all spare sources; those of views before this one are not taken any more. Called before the view is shown.
    pub(crate) fn begin_view(&self, view: u64) {
        for stripe in &self.0 {
            let old = {
                let mut spare = stripe.spare.lock();
                spare.view = view;
                spare.merger.take()
            };
            // Without the lock: the last reference to a table may go.
            drop(old);
        }
    }
}

impl Stripe {
    /// Sources over the view of this number, placed nowhere, if `complete` finds that none is missing.
    #[inline]
    pub(crate) fn take(
        &self,
        view: u64,
        complete: impl FnOnce(&MergingIter) -> bool,
    ) -> Option<MergingIter> {
        let mut spare = self.spare.try_lock()?;
        if spare.view == view {
            spare.merger.take_if(|merger| complete(merger))
        } else {
            None
        }
    }

    /// Leaves sources over the view of this number to the next cursor, if that is the view shown.
    #[inline]
    pub(crate) fn keep(&self, view: u64, mut merger: MergingIter) {
        merger.release();
        if merger.memory_bytes() > SPARE_BYTES_MAX {
            return;
        }
        let Some(mut spare) = self.spare.try_lock() else {
            return;
        };
        if spare.view == view {
            let before = spare.merger.replace(merger);
            drop(spare);
            // Of another cursor of this thread; without the lock, as above.
            drop(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use cairndb_base::Order;

    use super::*;

    fn merger() -> MergingIter {
        MergingIter::new(Vec::new(), Order::Bytewise)
    }

    #[test]
    fn sources_are_left_to_the_same_view_only() {
        let stripes = Stripes::new(7);
        let mine = stripes.mine();
        assert!(mine.take(7, |_| true).is_none(), "nothing was left");
        mine.keep(7, merger());
        assert!(mine.take(6, |_| true).is_none(), "an older view");
        assert!(mine.take(7, |_| false).is_none(), "a source is missing");
        assert!(mine.take(7, |_| true).is_some());
        assert!(mine.take(7, |_| true).is_none(), "taken");
        mine.keep(6, merger());
        assert!(
            mine.take(6, |_| true).is_none(),
            "an older view leaves none"
        );
    }

    #[test]
    fn who_does_not_get_the_lock_does_without() {
        let stripes = Stripes::new(7);
        let mine = stripes.mine();
        mine.keep(7, merger());
        let held = mine.spare.lock();
        assert!(mine.take(7, |_| true).is_none());
        mine.keep(7, merger());
        drop(held);
        assert!(mine.take(7, |_| true).is_some());
    }

    #[test]
    fn a_new_view_drops_what_was_left() {
        let stripes = Stripes::new(7);
        stripes.mine().keep(7, merger());
        stripes.begin_view(8);
        assert!(
            stripes
                .0
                .iter()
                .all(|stripe| stripe.spare.lock().merger.is_none())
        );
        assert!(stripes.mine().take(7, |_| true).is_none());
    }

    #[test]
    fn threads_have_places_of_their_own() {
        let mine = thread_number();
        assert_eq!(mine, thread_number());
        let other = Mutex::new(mine);
        let set = || *other.lock() = thread_number();
        std::thread::scope(|scope| scope.spawn(set).join()).expect("it panics not");
        assert_ne!(mine, *other.lock());
    }
}
