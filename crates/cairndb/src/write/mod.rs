//! The write path.

pub(crate) mod seal;
pub(crate) mod writer;
