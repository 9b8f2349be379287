//! On-disk formats: file names, batches, the log, the manifest, tables, value files.
//!
//! Floor 3. Writers turn values into bytes and readers turn bytes back into values; neither decides
//! what to write or what a loss means. `docs/format/` defines the bytes, and the golden files under
//! `testdata/golden/` pin them.
//!
//! 1. Hostile bytes produce an [`Error`](cairndb_base::Error), never a panic: a length or offset
//!    read from disk is compared with the remaining bytes before it is used.
//! 2. Memory is bounded by the bytes present, and work is linear in them.
//! 3. Every checksum binds its bytes to file and offset, so stale or misplaced bytes are detected.

#![forbid(unsafe_code)]

pub mod batch;
mod checksum;
pub mod evidence;
#[cfg(test)]
mod golden;
mod input;
pub mod log;
pub mod manifest;
pub mod missing;
pub mod name;
pub mod table;
#[cfg(test)]
mod testing;
pub mod value_file;
