//! Record of the tables that were rewritten on a full disk without the entries that newer tables
//! hide.
//!
//! [`crate::space::squeeze`] maintains it. It is kept in memory only: after an opening the tables
//! are rewritten once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use crate::state::version::Version;

/// Tables that were rewritten, by file number.
#[derive(Debug, Default)]
pub(crate) struct Squeezes {
    /// For each of them, the newer tables that hide nothing in it any more.
    pub(crate) applied: BTreeMap<u64, Arc<BTreeSet<u64>>>,
    /// A version in which no table was worth rewriting.
    pub(crate) exhausted: Weak<Version>,
}
