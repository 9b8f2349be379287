//! Garbage collection of value files.

pub(crate) mod collect;
pub(crate) mod dead_files;
pub(crate) mod pick;
