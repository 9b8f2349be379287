//! Garbage collection of value files.

pub(crate) mod collect;
pub(crate) mod pick;
