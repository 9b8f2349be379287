//! State that the cursors of one thread pass on to the next: the seek predictor and sources.
//!
//! Many cursors live for one seek or a short scan. Creating and dropping a cursor's sources takes
//! half a dozen allocations and reference counts, and, once the cursor is moved, the buffers of a
//! page: a considerable part of a seek. The reference counts are shared by all threads, so seeks of
//! two threads slowed each other down. Therefore a cursor passes its sources on, and the thread's
//! next cursor over the same view starts with them.
//!
//! Invariants:
//! 1. Spare sources belong to the most recently published view: they hold nothing that the view
//!    does not. A new view drops them before it is published, and a cursor over an older view
//!    leaves none.
//! 2. They may lack the mutable memtable, which no cursor reads while it is empty; the taker checks
//!    this.
//! 3. They hold little memory ([`SPARE_BYTES_MAX`]), and no page of a cache.
//!
//! Threads: each thread has one of [`THREAD_CACHES`] slots, which it usually shares with no other
//! thread. A slot is protected by a lock. A reader that does not get the lock at once does not use
//! the slot, so no reader waits for another, not even in a process that was forked while the lock
//! was held. (Rejected: thread-local slots, which need no lock, because no other thread could empty
//! them when the view changes, and a sleeping thread would keep obsolete files.)

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_env::sync::Mutex;

use crate::read::hints::read_cost::ReadCounter;
use crate::read::hints::seek_predictor::SeekPredictor;
use crate::read::merging_iter::MergingIter;

/// Number of slots. The thread count never decreases: two threads may share a slot once there are,
/// or were, more threads than slots.
const THREAD_CACHES: usize = 16;
/// Number of heap bytes above which sources are dropped.
const SPARE_BYTES_MAX: usize = 16 << 10;

/// State of one thread's cursors, and its count of reads
/// ([`read_cost`](crate::read::hints::read_cost)). Aligned to two cache lines, since processors
/// fetch pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ThreadCache {
    pub(crate) seeks: SeekPredictor,
    pub(crate) reads: ReadCounter,
    spare: Mutex<Spare>,
}

#[derive(Debug, Default)]
struct Spare {
    /// Number of the view that is, or is about to be, published.
    view: u64,
    /// Spare sources over that view.
    merger: Option<MergingIter>,
}

/// The caches of a handle, one for each thread.
#[derive(Debug)]
pub(crate) struct ThreadCaches([ThreadCache; THREAD_CACHES]);

/// Number of threads counted so far.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Thread's number plus one; 0 before it has one.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of this thread, in order of the first call.
#[inline]
fn thread_number() -> usize {
    NUMBER.with(|number| {
        if number.get() == 0 {
            // Relaxed: the numbers only have to differ.
            number.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get() - 1
    })
}

impl ThreadCaches {
    /// Returns caches for the view with this number.
    pub(crate) fn new(view: u64) -> ThreadCaches {
        let thread_caches = ThreadCaches(Default::default());
        thread_caches.begin_view(view);
        thread_caches
    }

    /// Returns the cache of this thread.
    #[inline]
    pub(crate) fn mine(&self) -> &ThreadCache {
        &self.0[thread_number() % THREAD_CACHES]
    }

    /// Drops all spare sources; from then on, sources of older views are refused. Called before the
    /// view is published.
    pub(crate) fn begin_view(&self, view: u64) {
        for cache in &self.0 {
            let old = {
                let mut spare = cache.spare.lock();
                spare.view = view;
                spare.merger.take()
            };
            // Without the lock: this may drop the last reference to a table.
            drop(old);
        }
    }
}

impl ThreadCache {
    /// Takes unpositioned sources over the view with this number, if `complete` finds none missing.
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

    /// Passes sources over the view with this number on to the next cursor, if that view is the
    /// published one.
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
            // Sources of another cursor of this thread; dropped without the lock, as above.
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
        let thread_caches = ThreadCaches::new(7);
        let mine = thread_caches.mine();
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
        let thread_caches = ThreadCaches::new(7);
        let mine = thread_caches.mine();
        mine.keep(7, merger());
        let held = mine.spare.lock();
        assert!(mine.take(7, |_| true).is_none());
        mine.keep(7, merger());
        drop(held);
        assert!(mine.take(7, |_| true).is_some());
    }

    #[test]
    fn a_new_view_drops_what_was_left() {
        let thread_caches = ThreadCaches::new(7);
        thread_caches.mine().keep(7, merger());
        thread_caches.begin_view(8);
        assert!(
            thread_caches
                .0
                .iter()
                .all(|cache| cache.spare.lock().merger.is_none())
        );
        assert!(thread_caches.mine().take(7, |_| true).is_none());
    }

    #[test]
    fn threads_have_places_of_their_own() {
        let mine = thread_number();
        assert_eq!(mine, thread_number());
        let other = Mutex::new(mine);
        let set = || *other.lock() = thread_number();
        std::thread::scope(|scope| scope.spawn(set).join()).expect("the thread does not panic");
        assert_ne!(mine, *other.lock());
    }
}
