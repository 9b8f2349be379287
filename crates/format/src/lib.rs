//! Every byte on disk: names, batches, the log, the manifest, tables, value files.
//!
//! Floor 3 of the house. Writers here turn values into bytes and readers turn bytes back into
//! values; neither decides what to write or what a loss means. What the bytes mean is written down
//! in `docs/format/`, and pinned by the golden files under `testdata/golden/`.
//!
//! 1. Hostile bytes give an [`Error`](cairndb_base::Error), never a panic: a length or offset read
//!    from disk is compared with the bytes that are left before it is used.
//! 2. Memory is bounded by the bytes present, work is linear in them.
//! 3. Every checksum binds its bytes to file and offset, so stale or misplaced bytes are noticed.

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
