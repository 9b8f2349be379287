//! The newest view, the state behind it, and the signals of its changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_format::name::FileKind;

use crate::read::view::{Shown, View};
use crate::versions::shared::Shared;
use crate::versions::state::State;

/// The newest view, the state behind it, and the signals of its changes.
pub(crate) struct VersionSet {
    shared: Arc<Shared>,
    view: ArcSwap<View>,
    /// The number of the newest view, stored before the view itself.
    newest_view: AtomicU64,
    shown: Shown,
    published: AtomicU64,
    state: Mutex<State>,
    /// Signalled at every change of `state` that a waiting caller could want.
    changed: Condvar,
    /// Signalled when there is work for the worker or the syncer.
    work: Condvar,
}

impl VersionSet {
    pub(crate) fn new(
        shared: Arc<Shared>,
        view: View,
        state: State,
        published: SeqNo,
    ) -> VersionSet {
        VersionSet {
            shared,
            newest_view: AtomicU64::new(view.number),
            view: ArcSwap::from_pointee(view),
            shown: Shown::default(),
            published: AtomicU64::new(published),
            state: Mutex::new(state),
            changed: Condvar::new(),
            work: Condvar::new(),
        }
    }

    /// Locks the state. Never across I/O.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// As [`VersionSet::lock`], unless somebody holds it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock()
    }

    /// The newest view, without a lock.
    #[inline]
    pub(crate) fn view(&self) -> arc_swap::Guard<Arc<View>> {
        self.view.load()
    }

    /// The number of the newest view, or of one that is just about to be.
    #[inline]
    pub(crate) fn newest_view(&self) -> u64 {
        self.newest_view.load(Ordering::Acquire)
    }

    /// The last published sequence number.
    #[inline]
    pub(crate) fn published(&self) -> SeqNo {
        self.published.load(Ordering::Acquire)
    }

    /// Publishes every write up to `last`, under the commit lock.
    #[inline]
    pub(crate) fn publish(&self, last: SeqNo) {
        // Release: a reader that sees the number sees the inserts before it.
        self.published.store(last, Ordering::Release);
    }

    /// As [`VersionSet::publish`], unless more is published already.
    pub(crate) fn publish_up_to(&self, last: SeqNo) {
        self.published.fetch_max(last, Ordering::AcqRel);
    }

    /// Takes a snapshot of what is published.
    pub(crate) fn acquire_snapshot(&self) -> SeqNo {
        self.shared.snapshots.acquire(&self.published)
    }

    /// Bytes that views which are no longer the newest keep in memory.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.shown.pinned_bytes(&self.view.load())
    }

    /// Counts the view that opening made among those shown.
    pub(crate) fn note_first_view(&self) {
        self.shown.note(&self.view.load());
    }

    /// Wakes whoever waits for a change of the state.
    pub(crate) fn notify_changed(&self) {
        self.changed.notify_all();
    }

    /// Wakes the worker and the syncer.
    pub(crate) fn notify_work(&self) {
        self.work.notify_all();
    }

    /// Waits for a change of the state, or until `end`.
    pub(crate) fn wait_changed(&self, state: &mut MutexGuard<'_, State>, end: Option<u64>) {
        match end {
            None => self.changed.wait(state),
            Some(end) => {
                let left = end.saturating_sub(self.shared.env.now_ns());
                self.changed.wait_for(state, Duration::from_nanos(left));
            }
        }
    }

    /// Waits for work, or for `limit`; whether the time is over.
    pub(crate) fn wait_work(
        &self,
        state: &mut MutexGuard<'_, State>,
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

    /// Remembers a background failure, or that things work again.
    pub(crate) fn note_background<T>(&self, state: &mut State, result: &Result<T>) {
        match result {
            Ok(_) => {
                if self.shared.health.background().is_some() {
                    // A worker that waits for the next attempt counts as idle.
                    state.idle.disturb();
                }
                self.shared.health.set_background(None);
                state.retry_ns = 0;
                state.retry_at_ns = 0;
            }
            Err(error) => self.back_off(state, error),
        }
    }

    /// One second after the first failure, doubling up to a minute; a writer that needs the room
    /// tries at once.
    fn back_off(&self, state: &mut State, error: &Error) {
        const FIRST_NS: u64 = 1_000_000_000;
        const LAST_NS: u64 = 60 * FIRST_NS;
        self.shared.health.set_background(Some(error.clone()));
        state.retry_ns = (state.retry_ns * 2).clamp(FIRST_NS, LAST_NS);
        state.retry_at_ns = self.shared.env.now_ns().saturating_add(state.retry_ns);
    }

    /// There may be something to do for a worker that found nothing.
    pub(crate) fn wake_idle_worker(&self) {
        self.lock().idle.disturb();
        self.notify_work();
    }

    /// Reports a table that merges leave alone since they could not read it.
    pub(crate) fn known_damage(&self) -> Result<()> {
        match self.lock().damaged.first_key_value() {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Whether `error` is the damage of a table that merges leave alone from now on.
    pub(crate) fn is_known_damage(&self, error: &Error) -> bool {
        let file = damaged_table(error);
        file.is_some_and(|file| self.lock().damaged.contains_key(&file))
    }

    /// The view and the sequence number to read at: the newest of both, view first.
    #[inline]
    pub(crate) fn read_point(&self) -> (arc_swap::Guard<Arc<View>>, SeqNo) {
        let view = self.view.load();
        let seq = self.published.load(Ordering::Acquire);
        (view, seq)
    }

    /// Makes `state` what readers see.
    pub(crate) fn publish_view(&self, state: &State) {
        let sealed = state.immutables.iter().rev();
        let old = self.view.load();
        let view = Arc::new(View::new(
            Arc::clone(&state.mutable),
            sealed.map(|part| Arc::clone(&part.mem)).collect(),
            Arc::clone(&state.version),
            old.readers.clone(),
            old.number + 1,
        ));
        drop(old);
        view.readers.stripes.begin_view(view.number);
        self.shown.note(&view);
        // Release, and first: who sees a sequence number that was published over this view sees that there is
        // a newer one than the view before.
        self.newest_view.store(view.number, Ordering::Release);
        self.view.store(view);
    }

    /// Everything somebody may read at: open snapshots and the published number.
    pub(crate) fn readable_at(&self) -> Vec<SeqNo> {
        let mut list = self.shared.snapshots.list();
        let published = self.published.load(Ordering::Acquire);
        if list.last().is_none_or(|last| *last < published) {
            list.push(published);
        }
        list
    }

    /// Poisons the handle and wakes whoever waits for what will not come. Not under the state lock.
    pub(crate) fn poison(&self, error: Error) -> Error {
        let error = self.shared.health.poison(error);
        // Locked in between: who has looked at the health and does not wait yet would miss it.
        drop(self.lock());
        self.notify_changed();
        self.notify_work();
        error
    }

    /// Waits until `done` holds for the state.
    pub(crate) fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut done: impl FnMut(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        while !done(&state) {
            self.changed.wait(&mut state);
        }
        state
    }
}

/// The table that was found to be damaged or could not be read.
pub(crate) fn damaged_table(error: &Error) -> Option<u64> {
    let unfit = [ErrorKind::Corruption, ErrorKind::Io].contains(&error.kind());
    match FileKind::parse(error.file_name().filter(|_| unfit)?) {
        Some(FileKind::Table(file)) => Some(file.0),
        _ => None,
    }
}
