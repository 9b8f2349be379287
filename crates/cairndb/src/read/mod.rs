//! Band b: answering reads from a view, without a lock.

pub(crate) mod cursor;
pub(crate) mod dead_span;
pub(crate) mod fold;
pub(crate) mod get;
pub(crate) mod held;
pub(crate) mod merger;
pub(crate) mod pointed;
pub(crate) mod presence;
pub(crate) mod seek_habit;
pub(crate) mod source;
pub(crate) mod spare;
pub(crate) mod toll;
pub(crate) mod versions;
pub(crate) mod view;
