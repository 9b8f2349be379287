//! The write path.

pub(crate) mod long_batches;
pub(crate) mod seal;
pub(crate) mod writer;
