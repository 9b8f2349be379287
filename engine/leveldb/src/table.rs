//! Tables: sorted files of entries, in blocks with an index.
//!
//! Data blocks come first, then an optional filter block, the metaindex block, which names the
//! filter, the index block with one entry for each data block, and a footer of 48 bytes that
//! locates metaindex and index.

pub(crate) mod block;
pub(crate) mod block_builder;
mod bloom;
mod builder;
pub(crate) mod codec;
mod cursor;
mod filter;
pub(crate) mod footer;
mod read;
mod verify;

#[cfg(test)]
mod tests;

pub use builder::{TableBuilder, TableOptions};
pub use codec::Codec;
pub use cursor::TableCursor;
pub use read::Table;
pub(crate) use read::read_handle;
pub use verify::TableSummary;

pub(crate) use codec::DECODED_BYTES_MAX;
