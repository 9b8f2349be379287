//! Fast paths of the codec, each for one kind of data.
//!
//! | file | data that benefits |
//! |---|---|
//! | `short.rs` | text: sequences whose literals and match are at most 18 bytes |
//! | `period.rs` | padding and counters: matches that repeat at most eight bytes |
//! | `shape.rs`, `row.rs` | columns of records with fixed fields, values half of which repeats |
//! | `lanes.rs` | encoded values with long matches or long literals, on processors with masks |
//! | `runs.rs` | decoded values with long literals or matches, on processors with 32-byte vectors |
//!
//! Every path returns the same bytes as the portable twin.

pub(super) mod lanes;
pub(super) mod period;
pub(super) mod row;
pub(super) mod runs;
pub(super) mod shape;
pub(super) mod short;
