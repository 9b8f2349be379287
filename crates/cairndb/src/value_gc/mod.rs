//! Garbage collection of value files.

pub(crate) mod dead_files;
pub(crate) mod pick;
pub(crate) mod run;
