//! What reads remember for the next read: predictions, spare memory, and work that was found
//! needless.
//!
//! Nothing here changes an answer: each piece may be emptied at any moment, and a read that finds
//! none does the whole work. Each earns its place in the table of `docs/perf/read-hints.md`, which
//! has the time of every pattern with the piece switched off; a piece that gains less than 5 % on
//! the pattern it was made for is to be deleted.

pub(crate) mod buffers;
pub(crate) mod read_cost;
pub(crate) mod seek_predictor;
pub(crate) mod thread_cache;
pub(crate) mod tombstone_spans;
pub(crate) mod view_ref;
