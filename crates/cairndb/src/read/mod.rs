//! Reads: answers gets and cursors from a view, without a lock.

pub(crate) mod cursor;
pub(crate) mod fold;
pub(crate) mod get;
pub(crate) mod merging_iter;
pub(crate) mod pointed;
pub(crate) mod presence;
pub(crate) mod read_cost;
pub(crate) mod seek_predictor;
pub(crate) mod source;
pub(crate) mod thread_cache;
pub(crate) mod tombstone_spans;
pub(crate) mod versions;
pub(crate) mod view;
pub(crate) mod view_guard;
