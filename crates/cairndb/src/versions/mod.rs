//! The state that all parts of an open database share, and how it changes.

pub(crate) mod edits;
pub(crate) mod idle;
pub(crate) mod install;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod version_set;
