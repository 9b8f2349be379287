//! The read state: one immutable record, swapped as a whole.
//!
//! A reader loads the view first and the published sequence number second. Everything in the
//! view's tables and sealed parts was published before the view was, so the pair is a consistent
//! moment: either the number is older than the mutable part's last entries and hides them, or it
//! is newer than the view's seal and the view itself is the moment.

use std::sync::Arc;

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
