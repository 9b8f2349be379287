//! Reads: gets and cursors over a view, without a lock.

pub(crate) mod conflicts;
pub(crate) mod cursor;
pub(crate) mod fold;
pub(crate) mod get;
pub(crate) mod hints;
pub(crate) mod key_versions;
pub(crate) mod merging_iter;
pub(crate) mod moment;
pub(crate) mod presence;
pub(crate) mod source;
pub(crate) mod unshared;
pub(crate) mod value_ref;
pub(crate) mod view;
