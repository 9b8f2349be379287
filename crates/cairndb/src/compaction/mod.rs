//! Compactions: what is compacted, when, and by which thread.

pub(crate) mod compactor;
pub(crate) mod pick;
pub(crate) mod schedule;
