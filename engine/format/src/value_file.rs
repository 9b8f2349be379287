//! Value files: large values, written once, found through pointers in the tree.
//!
//! Commit appends a value here before its pointer enters the log. Compactions count the bytes whose
//! pointers they drop. Value garbage collection copies the live values to another file. Layout:
//! `docs/format/value-file.md`.
//!
//! 1. A record's checksum covers the value and binds file, offset, lengths, codec and key hash, and
//!    the pointer carries it: the value read through a pointer is the one written for it.
//! 2. Value files are only appended to, by one writer, and never after an unclean shutdown.

mod blocks;
mod header;
mod pointer;
mod reader;
mod scan;
mod writer;

pub use blocks::{ValueEncoder, saves};
pub(crate) use header::is_marked;
pub use header::{HEADER_BYTES, number_of};
pub use pointer::{
    CODEC_BLOCKS, CODEC_RAW, POINTER_BYTES, Pointer, RECORD_HEADER_BYTES, record_bytes,
};
pub use reader::{Check, raw_value_in, read_stored, read_value, value_of};
pub use scan::{Scanned, ValueScan};
pub use writer::ValueWriter;

#[cfg(test)]
mod tests;
