//! The view: everything that a read needs, as one immutable value that is replaced as a whole.
//!
//! A reader loads the view first and the published sequence number second. Everything in the view's
//! tables and immutable memtables was published before the view, so the pair is consistent: either
//! the number is older than the last entries of the mutable memtable and hides them, or it is newer
//! than the sealing of that memtable, and then the view itself is consistent.
//!
//! The parts of a long batch are the exception. A view that may lack some of them limits the number
//! at which it is read. A view that has all of them may precede the publication of the batch, which
//! may wait for a sync: a reader with an older number then passes over its entries, in memtables as
//! in tables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cairndb_base::{Error, Result, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_mem::Memtable;

use crate::read::hints::read_cost::{CompactionTrigger, ReadCost};
use crate::read::hints::thread_cache::ThreadCaches;
use crate::read::hints::tombstone_spans::TombstoneSpans;
use crate::read::hints::view_bound::ViewBound;
use crate::state::context::ReadContext;
use crate::state::health::Health;
use crate::state::ranges::RangeDeletions;
use crate::state::version::Version;

/// The sources of a read in one section, newest first: the mutable memtable, immutable memtables,
/// runs of tables.
#[derive(Debug)]
pub(crate) struct View {
    /// Number of the view within its handle, for comparison with the newest view without loading
    /// it.
    pub(crate) number: u64,
    /// Memtable that takes writes.
    pub(crate) mutable: Arc<Memtable>,
    /// Immutable memtables, newest first.
    pub(crate) immutables: Vec<Arc<Memtable>>,
    /// Runs of tables and value files.
    pub(crate) version: Arc<Version>,
    /// Largest sequence number that may be read in it: the maximum, unless a long batch was being
    /// inserted in parts, of which the view may have some.
    limit: SeqNo,
    /// Other state that reads need. It is stored here so that a cursor need not hold it: each
    /// reference count shared by threads costs every seek two transfers of its cache line.
    pub(crate) readers: Readers,
    /// Most demanding [`Use`] of the view so far.
    used: AtomicU8,
    /// Whether a cursor was positioned in the view.
    cursors: AtomicBool,
    /// Count of reads that had to search several of its runs.
    read_cost: ReadCost,
    /// Largest sequence number outside the mutable memtable; 0 until it is computed.
    settled: AtomicU64,
}

/// State shared by reads of all views of a section.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    pub(crate) context: Arc<ReadContext>,
    pub(crate) health: Arc<Health>,
    pub(crate) thread_caches: Arc<ThreadCaches>,
    pub(crate) spans: Arc<TombstoneSpans>,
    pub(crate) ranges: Arc<RangeDeletions>,
    /// Cursors that calls keep for the next call.
    pub(crate) view_bound: Arc<ViewBound>,
    /// Trigger of the compaction that starts once reads of several runs have paid for it.
    pub(crate) compaction_trigger: Arc<CompactionTrigger>,
}

impl Readers {
    /// Returns the state for views from number `view` on. All sections share `health` and the
    /// trigger.
    pub(crate) fn new(
        context: Arc<ReadContext>,
        health: &Arc<Health>,
        compaction_trigger: &Arc<CompactionTrigger>,
        view: u64,
    ) -> Readers {
        Readers {
            health: Arc::clone(health),
            context,
            thread_caches: Arc::new(ThreadCaches::new(view)),
            spans: Arc::default(),
            ranges: Arc::default(),
            view_bound: Arc::new(ViewBound::new(view)),
            compaction_trigger: Arc::clone(compaction_trigger),
        }
    }
}

/// Number of runs above which writers stall earlier if there are readers. A read pays for a lookup
/// in the filter of each run, and several times as much for a cursor in it. With twice this limit,
/// reads during writes were much slower; with about half of it, compactions wrote twice as much.
const RUNS_READ: usize = 10;
/// The same limit if reads fold operands, which may be in any run, or if cursors are positioned.
/// With a smaller limit seeks were no faster, because compactions did not keep up.
const RUNS_CURSOR: usize = 6;

/// Number of immutable memtables at which writers help to flush if there are readers: a seek for an
/// absent key searches each. With a budget of 128 MB there would be fifty of them.
const MEMTABLES_READ: usize = 6;

/// Most demanding kind of read of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Use {
    None,
    Read,
    Folded,
}

impl View {
    pub(crate) fn new(
        mutable: Arc<Memtable>,
        immutables: Vec<Arc<Memtable>>,
        version: Arc<Version>,
        readers: Readers,
        number: u64,
        limit: SeqNo,
    ) -> View {
        View {
            number,
            limit,
            mutable,
            immutables,
            version,
            readers,
            used: AtomicU8::new(Use::None as u8),
            cursors: AtomicBool::new(false),
            read_cost: ReadCost::default(),
            settled: AtomicU64::new(0),
        }
    }

    /// Returns the sequence number at which to read the view if everything up to `published` is
    /// published.
    #[inline]
    pub(crate) fn newest_readable(&self, published: SeqNo) -> SeqNo {
        published.min(self.limit)
    }

    /// Returns the key order and the merge operator of the view.
    #[inline]
    pub(crate) fn context(&self) -> &ReadContext {
        &self.readers.context
    }

    /// Checks that the process that writes has not removed files of the view, in a follower.
    ///
    /// # Errors
    /// `Revoked`.
    #[inline]
    pub(crate) fn check_pin(&self) -> Result<()> {
        self.version.pin.as_ref().map_or(Ok(()), |pin| pin.check())
    }

    /// Returns a view with the same entries whose reads report `error`.
    pub(crate) fn failing(&self, error: Error) -> View {
        let health = Health::failed(Arc::clone(&self.context().path), error);
        View::new(
            Arc::clone(&self.mutable),
            self.immutables.clone(),
            Arc::clone(&self.version),
            Readers {
                health: Arc::new(health),
                ..self.readers.clone()
            },
            self.number,
            self.limit,
        )
    }

    /// Returns the number of memtables, including the mutable one.
    #[inline]
    pub(crate) fn memtable_count(&self) -> usize {
        1 + self.immutables.len()
    }

    /// Returns the largest sequence number of everything in immutable memtables and tables that was
    /// written since the database was opened. A compaction may have rewritten the number to 0.
    pub(crate) fn settled_seq(&self) -> SeqNo {
        // Relaxed: a thread that does not see the value computes it again.
        let known = self.settled.load(Ordering::Relaxed);
        if known > 0 {
            return known;
        }
        let immutables = self.immutables.iter().map(|immutable| immutable.seq_max());
        let settled = immutables.chain([self.version.newest()]).max().unwrap_or(0);
        self.settled.store(settled, Ordering::Relaxed);
        settled
    }

    /// Returns a memtable by its position from the newest, which is 0.
    pub(crate) fn memtable(&self, index: usize) -> &Arc<Memtable> {
        let sealed = index
            .checked_sub(1)
            .and_then(|index| self.immutables.get(index));
        sealed.unwrap_or(&self.mutable)
    }

    /// Records a read; every read calls this. A view lives only until the next memtable is full or
    /// the next job is done, so the record is recent, and a load without readers is not slowed down
    /// for them.
    #[inline]
    pub(crate) fn note_read(&self) {
        self.note(Use::Read);
    }

    /// Records a point read that folds operands.
    pub(crate) fn note_folded(&self) {
        self.note(Use::Folded);
    }

    #[inline]
    fn note(&self, what: Use) {
        // Relaxed: a hint. Checked before the store, so that readers share the cache line.
        if self.used.load(Ordering::Relaxed) < what as u8 {
            self.used.fetch_max(what as u8, Ordering::Relaxed);
        }
    }

    /// Records that a cursor was positioned in the memtables and runs.
    #[inline]
    pub(crate) fn note_cursor(&self) {
        // Checked first, as above.
        if !self.cursors.load(Ordering::Relaxed) {
            self.cursors.store(true, Ordering::Relaxed);
        }
    }

    /// Records a read that searches the runs, if there are several.
    #[inline]
    pub(crate) fn note_several(&self) {
        if self.readers.thread_caches.mine().reads.count() {
            self.add_reads();
        }
    }

    #[cold]
    fn add_reads(&self) {
        if self.read_cost.add(self.version.bytes()) {
            self.readers.compaction_trigger.fire();
        }
    }

    /// Returns whether a cursor was positioned in the view.
    pub(crate) fn had_cursors(&self) -> bool {
        self.cursors.load(Ordering::Relaxed)
    }

    /// Returns whether the view was read.
    pub(crate) fn was_read(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= Use::Read as u8
    }

    /// Returns the number of immutable memtables above which writers help to flush them, or `None`
    /// without readers.
    pub(crate) fn memtables_for_readers(&self) -> Option<usize> {
        self.was_read().then_some(MEMTABLES_READ)
    }

    /// Returns the number of runs above which writers stall for the sake of readers, or `None`
    /// without readers.
    pub(crate) fn runs_for_readers(&self) -> Option<usize> {
        match self.used.load(Ordering::Relaxed) {
            used if used >= Use::Folded as u8 || self.had_cursors() => Some(RUNS_CURSOR),
            used if used >= Use::Read as u8 => Some(RUNS_READ),
            _ => None,
        }
    }
}

/// Published views that cursors or current reads may still hold.
#[derive(Debug, Default)]
pub(crate) struct PublishedViews(Mutex<Vec<Weak<View>>>);

impl PublishedViews {
    /// Adds a view that is about to be published, and removes views that have been dropped.
    pub(crate) fn note(&self, view: &Arc<View>) {
        let mut published = self.0.lock();
        published.retain(|view| view.strong_count() > 0);
        published.push(Arc::downgrade(view));
    }

    /// Returns the size of the memtables that only older views keep, and that `current` do not
    /// have.
    pub(crate) fn pinned_bytes(&self, current: &[&View]) -> usize {
        let held: Vec<Arc<View>> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        let parts = |view: &View| {
            let parts = std::iter::once(&view.mutable).chain(&view.immutables);
            let parts = parts.map(|part| (Arc::as_ptr(part).addr(), part.allocated_bytes()));
            parts.collect::<Vec<_>>()
        };
        // By address: many views share one memtable.
        let mut pinned: BTreeMap<usize, usize> = held.iter().flat_map(|view| parts(view)).collect();
        for (part, _) in current.iter().flat_map(|view| parts(view)) {
            pinned.remove(&part);
        }
        pinned.values().sum()
    }
}
