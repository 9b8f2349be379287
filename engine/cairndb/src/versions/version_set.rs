//! `VersionSet`: the newest view, the state it is built from, and the signals of their changes.
//!
//! Readers use only the view, without a lock. Everything else reads and changes the state under its
//! lock, and publishes a view if readers must see the change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_format::name::FileKind;

use crate::read::view::{PublishedViews, View};
use crate::versions::engine_state::EngineState;

/// The newest view, the state it is built from, and the signals of their changes.
pub(crate) struct VersionSet {
    view: ArcSwap<View>,
    /// Number of the newest view, stored before the view.
    newest_view: AtomicU64,
    published_views: PublishedViews,
    pub(super) published: AtomicU64,
    state: Mutex<EngineState>,
    /// Signalled at every change of `state` that a caller may wait for.
    pub(super) changed: Condvar,
    /// Signalled when there is work for the worker or the syncer.
    work: Condvar,
}

impl VersionSet {
    pub(crate) fn new(view: View, state: EngineState, published: SeqNo) -> VersionSet {
        VersionSet {
            newest_view: AtomicU64::new(view.number),
            view: ArcSwap::from_pointee(view),
            published_views: PublishedViews::default(),
            published: AtomicU64::new(published),
            state: Mutex::new(state),
            changed: Condvar::new(),
            work: Condvar::new(),
        }
    }

    /// Locks the state. Never held across I/O.
    pub(crate) fn lock(&self) -> MutexGuard<'_, EngineState> {
        self.state.lock()
    }

    /// Like [`VersionSet::lock`], but returns `None` if the lock is taken.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, EngineState>> {
        self.state.try_lock()
    }

    /// Returns the newest view, without a lock.
    #[inline]
    pub(crate) fn view(&self) -> arc_swap::Guard<Arc<View>> {
        self.view.load()
    }

    /// Returns the number of the newest view, or of one that is about to be published.
    #[inline]
    pub(crate) fn newest_view(&self) -> u64 {
        self.newest_view.load(Ordering::Acquire)
    }

    /// Returns the last published sequence number.
    #[inline]
    pub(crate) fn published(&self) -> SeqNo {
        self.published.load(Ordering::Acquire)
    }

    /// Publishes every write up to `last`. The caller holds the commit lock.
    #[inline]
    pub(crate) fn publish(&self, last: SeqNo) {
        debug_assert!(
            last >= self.published(),
            "the published number never decreases"
        );
        // Release: a reader that loads the number sees the inserts before it.
        self.published.store(last, Ordering::Release);
    }

    /// Like [`VersionSet::publish`], but does nothing if more has already been published.
    pub(crate) fn publish_up_to(&self, last: SeqNo) {
        self.published.fetch_max(last, Ordering::AcqRel);
    }

    /// Returns the number of bytes of memory that older views keep because readers still use them.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.published_views.pinned_bytes(&self.view.load())
    }

    /// Registers the view created when the database was opened.
    pub(crate) fn note_first_view(&self) {
        self.published_views.note(&self.view.load());
    }

    /// Wakes callers that wait for a change of the state.
    pub(crate) fn notify_changed(&self) {
        self.changed.notify_all();
    }

    /// Wakes the worker and the syncer.
    pub(crate) fn notify_work(&self) {
        self.work.notify_all();
    }

    /// Waits for work, at most for `limit`, and returns whether the time limit has passed.
    pub(crate) fn wait_work(
        &self,
        state: &mut MutexGuard<'_, EngineState>,
        limit: Option<Duration>,
    ) -> bool {
        match limit {
            None => {
                self.work.wait(state);
                false
            }
            Some(limit) => self.work.wait_for(state, limit).timed_out(),
        }
    }

    /// Makes an idle worker look for work.
    pub(crate) fn wake_idle_worker(&self) {
        self.lock().background.idle.disturb();
        self.notify_work();
    }

    /// Returns the error of a table that compactions leave alone because they could not read it.
    pub(crate) fn known_damage(&self) -> Result<()> {
        match self.lock().compactions.damaged.first_key_value() {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Returns whether `error` concerns a table that compactions leave alone.
    pub(crate) fn is_known_damage(&self, error: &Error) -> bool {
        let file = damaged_table(error);
        file.is_some_and(|file| self.lock().compactions.damaged.contains_key(&file))
    }

    /// Returns the view and the sequence number at which to read. The view is loaded first.
    #[inline]
    pub(crate) fn read_point(&self) -> (arc_swap::Guard<Arc<View>>, SeqNo) {
        let view = self.view.load();
        let seq = view.newest_readable(self.published.load(Ordering::Acquire));
        (view, seq)
    }

    /// Publishes `state` as a new view.
    pub(crate) fn publish_view(&self, state: &EngineState) {
        let sealed = state.immutables.iter().rev();
        let old = self.view.load();
        let view = Arc::new(View::new(
            Arc::clone(&state.mutable),
            sealed.map(|immutable| Arc::clone(&immutable.mem)).collect(),
            Arc::clone(&state.version),
            old.readers.clone(),
            old.number + 1,
            state.readable_max(),
        ));
        drop(old);
        view.readers.thread_caches.begin_view(view.number);
        view.readers.view_bound.begin_view(view.number);
        self.published_views.note(&view);
        // Release, and before the view: a reader that loads a sequence number published over this
        // view also sees that its own view is not the newest.
        self.newest_view.store(view.number, Ordering::Release);
        self.view.store(view);
    }

    /// Waits until `done` holds.
    pub(crate) fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, EngineState>,
        mut done: impl FnMut(&EngineState) -> bool,
    ) -> MutexGuard<'a, EngineState> {
        while !done(&state) {
            self.changed.wait(&mut state);
        }
        state
    }
}

/// Time after which a wait of a watched call asks the watcher whether to go on.
pub(crate) const WATCHED_WAIT: Duration = Duration::from_millis(20);

/// Returns the table that `error` reports as damaged or unreadable.
pub(crate) fn damaged_table(error: &Error) -> Option<u64> {
    let unfit = [ErrorKind::Corruption, ErrorKind::Io].contains(&error.kind());
    match FileKind::parse(error.file_name().filter(|_| unfit)?) {
        Some(FileKind::Table(file)) => Some(file.0),
        _ => None,
    }
}
