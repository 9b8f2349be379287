//! The read state: one immutable record, swapped as a whole.
//!
//! A reader loads the view first and the published sequence number second. Everything in the
//! view's tables and sealed parts was published before the view was, so the pair is a consistent
//! moment: either the number is older than the mutable part's last entries and hides them, or it
//! is newer than the view's seal and the view itself is the moment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cairndb_base::SeqNo;
use cairndb_env::sync::Mutex;
use cairndb_mem::Memtable;

use crate::read::read_cost::{Paid, Tolls};
use crate::read::thread_cache::Stripes;
use crate::state::context::ReadContext;
use crate::state::health::Health;
use crate::state::version::Version;

/// What a read looks at, newest first: the mutable part, sealed parts, runs of tables.
#[derive(Debug)]
pub(crate) struct View {
    /// Counts the views of a handle, so that one can be told from the newest without borrowing that.
    pub(crate) number: u64,
    /// The part that takes inserts.
    pub(crate) mutable: Arc<Memtable>,
    /// Sealed parts, newest first.
    pub(crate) immutables: Vec<Arc<Memtable>>,
    /// The tables.
    pub(crate) version: Arc<Version>,
    /// What reads need beside it. Here, so that a cursor need not hold it: each count of references that
    /// threads share costs every seek two turns of its cache line.
    pub(crate) readers: Readers,
    /// What somebody did with it, a [`Use`].
    used: AtomicU8,
    /// Whether a cursor was placed in it.
    cursors: AtomicBool,
    /// Reads that had several of its runs to look into.
    tolls: Tolls,
    /// The largest sequence number outside the mutable part, once somebody has asked for it; 0 before.
    settled: AtomicU64,
}

/// What the reads of all views of a handle share.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    pub(crate) context: Arc<ReadContext>,
    pub(crate) health: Arc<Health>,
    pub(crate) stripes: Arc<Stripes>,
    /// What reads of a view with several runs pay for.
    pub(crate) paid: Arc<Paid>,
}

impl Readers {
    /// For views from the one of this number on.
    pub(crate) fn new(context: ReadContext, view: u64) -> Readers {
        Readers {
            health: Arc::new(Health::new(Arc::clone(&context.path))),
            context: Arc::new(context),
            stripes: Arc::new(Stripes::new(view)),
            paid: Arc::default(),
        }
    }
}

/// With more runs than this, writers wait sooner where somebody reads: a look into a run's filter costs 30 to 60 ns, a cursor
/// placed in it 300. With 4 MB and twenty, a reader beside a writer took 1190 ns instead of 800, and the writer wrote a
/// quarter more; with six, merges wrote twice as much.
const RUNS_READ: usize = 10;
/// The same where what is read is folded, since an operand may be in each of them, and where cursors are placed. With six
/// and 128 MB a seek beside a writer took 1500 ns instead of 1670, and 7 % more was written; with four or three it
/// was no faster: merges did not keep up.
const RUNS_PLACED: usize = 6;

/// With as many sealed parts writers help to flush where somebody reads: a seek to a key that is not there searches
/// each. Of 128 MB there would be fifty. (With twelve, before parts had an index, seeks beside a writer took an eighth longer.)
const PARTS_READ: usize = 6;

/// What has been done with a view, the most that was.
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
    ) -> View {
        View {
            number,
            mutable,
            immutables,
            version,
            readers,
            used: AtomicU8::new(Use::None as u8),
            cursors: AtomicBool::new(false),
            tolls: Tolls::default(),
            settled: AtomicU64::new(0),
        }
    }

    /// Its order, and the operator of its operands.
    #[inline]
    pub(crate) fn context(&self) -> &ReadContext {
        &self.readers.context
    }

    /// Memtable parts, the mutable one included.
    #[inline]
    pub(crate) fn parts(&self) -> usize {
        1 + self.immutables.len()
    }

    /// The largest sequence number known in its sealed parts and tables. Those that merges have elided are none that a
    /// cursor over it does not see.
    pub(crate) fn settled_seq(&self) -> SeqNo {
        // Relaxed: whoever finds it not known yet finds it out.
        let known = self.settled.load(Ordering::Relaxed);
        if known > 0 {
            return known;
        }
        let parts = self.immutables.iter().map(|part| part.seq_max());
        let runs = self.version.runs.iter().flat_map(|run| run.tables());
        let tables = runs.map(|table| table.record.seq_max);
        let settled = parts.chain(tables).max().unwrap_or(0);
        self.settled.store(settled, Ordering::Relaxed);
        settled
    }

    /// One of them, counted from the newest.
    pub(crate) fn part(&self, index: usize) -> &Arc<Memtable> {
        let sealed = index
            .checked_sub(1)
            .and_then(|index| self.immutables.get(index));
        sealed.unwrap_or(&self.mutable)
    }

    /// Called by every read. A view lives until the next part is full or the next job is done, so
    /// what it says is of now, and a load without readers is not held up for them.
    #[inline]
    pub(crate) fn note_read(&self) {
        self.note(Use::Read);
    }

    /// Called by every point read that folds operands.
    pub(crate) fn note_folded(&self) {
        self.note(Use::Folded);
    }

    #[inline]
    fn note(&self, what: Use) {
        // Relaxed: a hint. Looked at before it is set, so that readers share the line.
        if self.used.load(Ordering::Relaxed) < what as u8 {
            self.used.fetch_max(what as u8, Ordering::Relaxed);
        }
    }

    /// Called by every cursor that is placed in its parts and runs.
    #[inline]
    pub(crate) fn note_cursor(&self) {
        // As above.
        if !self.cursors.load(Ordering::Relaxed) {
            self.cursors.store(true, Ordering::Relaxed);
        }
    }

    /// Called by every read that looks into the runs, where there are several.
    #[inline]
    pub(crate) fn note_several(&self) {
        if self.readers.stripes.mine().toll.pay() {
            self.collect();
        }
    }

    #[cold]
    fn collect(&self) {
        if self.tolls.add(self.version.bytes()) {
            self.readers.paid.begin();
        }
    }

    /// Whether a cursor did.
    pub(crate) fn had_cursors(&self) -> bool {
        self.cursors.load(Ordering::Relaxed)
    }

    /// Whether somebody has read it.
    pub(crate) fn was_read(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= Use::Read as u8
    }

    /// How many sealed parts there may be before writers help to flush them; `None` where nobody reads.
    pub(crate) fn memtables_for_readers(&self) -> Option<usize> {
        self.was_read().then_some(PARTS_READ)
    }

    /// How many runs there may be before writers wait for whoever reads; `None` where nobody does.
    pub(crate) fn runs_for_readers(&self) -> Option<usize> {
        match self.used.load(Ordering::Relaxed) {
            used if used >= Use::Folded as u8 || self.had_cursors() => Some(RUNS_PLACED),
            used if used >= Use::Read as u8 => Some(RUNS_READ),
            _ => None,
        }
    }
}

/// The views that were shown and may still be held: by cursors, by reads under way.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Vec<Weak<View>>>);

impl Shown {
    /// Remembers a view that readers are about to see, and forgets those nobody holds.
    pub(crate) fn note(&self, view: &Arc<View>) {
        let mut shown = self.0.lock();
        shown.retain(|view| view.strong_count() > 0);
        shown.push(Arc::downgrade(view));
    }

    /// Bytes of the parts that only a held view keeps: those of no part that `current` has.
    pub(crate) fn pinned_bytes(&self, current: &View) -> usize {
        let held: Vec<Arc<View>> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        let parts = |view: &View| {
            let parts = std::iter::once(&view.mutable).chain(&view.immutables);
            let parts = parts.map(|part| (Arc::as_ptr(part).addr(), part.allocated_bytes()));
            parts.collect::<Vec<_>>()
        };
        // By address: one part is in many views.
        let mut pinned: BTreeMap<usize, usize> = held.iter().flat_map(|view| parts(view)).collect();
        for (part, _) in parts(current) {
            pinned.remove(&part);
        }
        pinned.values().sum()
    }
}
