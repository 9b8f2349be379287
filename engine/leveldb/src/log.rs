//! The log format, which logs and manifests share: records cut into pieces that never cross a
//! block.
//!
//! A file is a sequence of blocks of 32 KiB. Each piece has a header of seven bytes: masked
//! checksum of type and payload, length, type. A record that fits the rest of its block is one
//! piece, `FULL`; others are `FIRST`, any number of `MIDDLE`, `LAST`. Fewer than seven bytes at the
//! end of a block are left as zeros.

mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::{LogReader, LogStep};
pub use writer::LogWriter;

/// The unit of a log.
pub(crate) const BLOCK_BYTES: usize = 32 << 10;
/// Checksum, length and type of a piece.
pub(crate) const HEADER_BYTES: usize = 7;

/// A whole record.
const FULL: u8 = 1;
/// The beginning of a record.
const FIRST: u8 = 2;
/// The inside of a record.
const MIDDLE: u8 = 3;
/// The end of a record.
const LAST: u8 = 4;
