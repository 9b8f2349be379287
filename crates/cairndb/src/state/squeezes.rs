//! What is remembered of tables that were rewritten on a full disk without what newer ones hide.
//!
//! [`crate::engine::squeeze`] fills it in. In memory alone: after an opening they are rewritten
//! once more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use crate::state::version::Version;

/// Tables that were rewritten, by file number.
#[derive(Debug, Default)]
pub(crate) struct Squeezes {
    /// For each the newer tables that hide nothing in it any more.
    pub(crate) heeded: BTreeMap<u64, Arc<BTreeSet<u64>>>,
    /// A version in which nothing was found to be worth it.
    pub(crate) in_vain: Weak<Version>,
}
