//! Compactions: choice of inputs, timing, and threads.

pub(crate) mod compactor;
mod ended;
pub(crate) mod pick;
pub(crate) mod schedule;
pub(crate) mod tables;
