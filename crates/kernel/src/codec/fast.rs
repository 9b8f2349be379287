//! Fast paths of the codec, each for one sort of data.
//!
//! | file | data that gains |
//! |---|---|
//! | `short.rs` | text: sequences whose literals and match are at most 18 bytes |
//! | `shape.rs`, `row.rs` | columns of records with fixed fields, values half of which repeats |
//! | `lanes.rs` | encoding values with long matches or long literals, on processors with masks |
//! | `runs.rs` | decoding long literals and matches, on processors with 32-byte vectors |
//!
//! Every path returns the same bytes as the portable twin.

pub(super) mod lanes;
pub(super) mod row;
pub(super) mod runs;
pub(super) mod shape;
pub(super) mod short;
