//! `VersionSet`: the newest view, the state it is built from, and the signals of their changes.
//!
//! Readers use only the view, without a lock. Everything else reads and changes the state under its
//! lock, and publishes a view if readers must see the change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_format::name::FileKind;
use cairndb_mem::Memtable;

use crate::read::view::{PublishedViews, Readers, View};
use crate::state::memtables::Memtables;
use crate::state::sections::Section;
use crate::state::version::Version;
use crate::versions::engine_state::EngineState;

/// The newest view of each section, the state they are built from, and the signals of their
/// changes.
pub(crate) struct VersionSet {
    /// View of the default section.
    view: ArcSwap<View>,
    /// Views of the other sections, once there are keyspaces.
    others: OnceLock<[OtherView; Section::ALL.len() - 1]>,
    /// Number of the newest views, stored before the views.
    newest_view: AtomicU64,
    published_views: PublishedViews,
    pub(super) published: AtomicU64,
    state: Mutex<EngineState>,
    /// Signalled at every change of `state` that a caller may wait for.
    pub(super) changed: Condvar,
    /// Signalled when there is work for the worker or the syncer.
    work: Condvar,
}

/// View of a section that may have no mutable memtable.
struct OtherView {
    view: ArcSwap<View>,
    /// Stands for the mutable memtable.
    blank: Arc<Memtable>,
}

impl VersionSet {
    pub(crate) fn new(readers: Readers, state: EngineState, published: SeqNo) -> VersionSet {
        let view = section_view(Section::Default, &state, None, readers, FIRST_VIEW);
        VersionSet {
            newest_view: AtomicU64::new(view.number),
            view: ArcSwap::from_pointee(view),
            others: OnceLock::new(),
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

    /// Returns the newest view of the default section, without a lock.
    #[inline]
    pub(crate) fn view(&self) -> Guard<Arc<View>> {
        self.view_of(Section::Default)
    }

    /// Returns the newest view of `section`, without a lock.
    ///
    /// # Panics
    /// If the section is not the default one and there were no keyspaces since the open.
    #[inline]
    pub(crate) fn view_of(&self, section: Section) -> Guard<Arc<View>> {
        match self.other(section) {
            None => self.view.load(),
            Some(other) => other.view.load(),
        }
    }

    #[inline]
    fn other(&self, section: Section) -> Option<&OtherView> {
        let index = (section as usize).checked_sub(1)?;
        let others = self.others.get();
        Some(&others.expect("there are keyspaces")[index])
    }

    /// Returns the newest views of all sections that may have entries.
    pub(crate) fn views(&self) -> impl Iterator<Item = Guard<Arc<View>>> {
        self.sections().map(|section| self.view_of(section))
    }

    /// Returns the sections that may have entries.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section> + use<> {
        let all = self.others.get().is_some();
        let sections = Section::ALL.into_iter();
        sections.take(if all { Section::ALL.len() } else { 1 })
    }

    /// Maintains the views of all sections from now on. `readers` makes what their readers share,
    /// for views from the given number on.
    pub(crate) fn begin_keyspaces(&self, readers: impl Fn(Section, u64) -> Readers) {
        let state = self.state.lock();
        if self.others.get().is_some() {
            return;
        }
        let number = self.newest_view();
        let other = |section| {
            let readers = readers(section, number);
            let order = readers.context.order.clone();
            let (blank, _) = Memtable::new(order, Vec::new(), 0);
            let view = section_view(section, &state, Some(&blank), readers, number);
            let view = ArcSwap::from_pointee(view);
            OtherView { view, blank }
        };
        let others = [other(Section::Bytewise), other(Section::Compared)];
        for other in &others {
            self.published_views.note(&other.view.load());
        }
        assert!(self.others.set(others).is_ok(), "under the state lock");
    }

    /// Returns the newest version.
    pub(crate) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.lock().version)
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

    /// Like [`VersionSet::publish`], but does nothing if as much has already been published.
    /// Returns whether it did anything.
    pub(crate) fn publish_up_to(&self, last: SeqNo) -> bool {
        self.published.fetch_max(last, Ordering::AcqRel) < last
    }

    /// Like [`VersionSet::publish`], in a follower, which the only caller is: the number decreases
    /// if the writer has lost writes.
    pub(crate) fn follow(&self, last: SeqNo) {
        self.published.store(last, Ordering::Release);
    }

    /// Returns the number of bytes of memory that older views keep because readers still use them.
    pub(crate) fn pinned_bytes(&self) -> usize {
        let current: Vec<_> = self.views().collect();
        let current: Vec<&View> = current.iter().map(|view| &***view).collect();
        self.published_views.pinned_bytes(&current)
    }

    /// Registers the views created when the database was opened.
    pub(crate) fn note_first_view(&self) {
        for view in self.views() {
            self.published_views.note(&view);
        }
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

    /// Returns the view of `section` and the sequence number at which to read. The view is loaded
    /// first.
    #[inline]
    pub(crate) fn read_point(&self, section: Section) -> (Guard<Arc<View>>, SeqNo) {
        let view = self.view_of(section);
        let seq = view.newest_readable(self.published.load(Ordering::Acquire));
        (view, seq)
    }

    /// Publishes `state` as new views.
    pub(crate) fn publish_view(&self, state: &EngineState) {
        self.publish_views(state, |readers| readers);
    }

    /// Like [`VersionSet::publish_view`], for a state whose tables another process has written.
    /// What is known of ranges without keys does not hold in it: whether a table has newer entries
    /// is not known, and a reader may use an older view at a newer sequence number.
    pub(crate) fn publish_followed(&self, state: &EngineState) {
        self.publish_views(state, |readers| Readers {
            spans: Arc::default(),
            ..readers
        });
    }

    fn publish_views(&self, state: &EngineState, changed: impl Fn(Readers) -> Readers) {
        let number = self.newest_view.load(Ordering::Relaxed) + 1;
        let mut views = Vec::with_capacity(1);
        for section in self.sections() {
            let readers = changed(self.view_of(section).readers.clone());
            let blank = self.other(section).map(|other| &other.blank);
            let view = section_view(section, state, blank, readers, number);
            view.readers.thread_caches.begin_view(number);
            view.readers.view_bound.begin_view(number);
            let view = Arc::new(view);
            self.published_views.note(&view);
            views.push((section, view));
        }
        // Release, and before the views: a reader that loads a sequence number published over them
        // also sees that its own view is not the newest.
        self.newest_view.store(number, Ordering::Release);
        for (section, view) in views {
            let other = self.other(section);
            other.map_or(&self.view, |other| &other.view).store(view);
        }
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

/// Number of a handle's first views.
pub(crate) const FIRST_VIEW: u64 = 0;

/// Returns the view of one section in `state`.
fn section_view(
    section: Section,
    state: &EngineState,
    blank: Option<&Arc<Memtable>>,
    readers: Readers,
    number: u64,
) -> View {
    let part = |memtables: &Memtables| memtables.part(section).cloned();
    let sealed = state.immutables.iter().rev();
    let mutable = part(&state.mutable).or_else(|| blank.cloned());
    View::new(
        mutable.expect("the default section always has a memtable"),
        sealed
            .filter_map(|immutable| part(&immutable.mem))
            .collect(),
        state.version.section(section),
        Readers {
            ranges: Arc::clone(&state.ranges[section]),
            ..readers
        },
        number,
        state.readable_max(),
    )
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
