//! State that reads keep for later reads: predictions, spare memory, and work known to be
//! unnecessary.
//!
//! Nothing here changes a result: each hint may be cleared at any moment, and a read that finds
//! none does the full work. Each is justified in the table of `docs/perf/read-hints.md`, which has
//! the time of its pattern with the hint switched off; a hint that gains less than 5 % on the
//! pattern it was made for must be deleted.

pub(crate) mod read_cost;
pub(crate) mod seek_predictor;
pub(crate) mod thread_cache;
pub(crate) mod tombstone_spans;
pub(crate) mod view_bound;
pub(crate) mod view_ref;
