//! The read state: one immutable record, swapped as a whole.
//!
//! A reader loads the view first and the published sequence number second. Everything in the
//! view's tables and sealed parts was published before the view was, so the pair is a consistent
//! moment: either the number is older than the mutable part's last entries and hides them, or it
//! is newer than the view's seal and the view itself is the moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use cairndb_env::sync::Mutex;
use cairndb_mem::Memtable;

use crate::state::version::Version;

/// What a read looks at, newest first: the mutable part, sealed parts, runs of tables.
#[derive(Debug)]
pub(crate) struct View {
    /// The part that takes inserts.
    pub(crate) mutable: Arc<Memtable>,
    /// Sealed parts, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    /// The tables.
    pub(crate) version: Arc<Version>,
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
            let parts = std::iter::once(&view.mutable).chain(&view.sealed);
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
