//! Record of tables that were rewritten on a full disk without the entries hidden by newer tables.
//!
//! [`crate::space::squeeze`] maintains it. It is kept in memory only: after the database is
//! reopened, the tables are rewritten once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use crate::state::version::Version;

/// Tables that were rewritten, by file number.
#[derive(Debug, Default)]
pub(crate) struct Squeezes {
    /// For each rewritten table, the newer tables that no longer hide anything in it.
    pub(crate) applied: BTreeMap<u64, Arc<BTreeSet<u64>>>,
    /// A version in which no table was worth rewriting.
    pub(crate) exhausted: Weak<Version>,
}
