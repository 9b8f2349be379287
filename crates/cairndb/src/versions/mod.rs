//! The state shared by all components of an open database, and its changes.

pub(crate) mod edits;
pub(crate) mod idle;
pub(crate) mod install;
pub(crate) mod shared;
pub(crate) mod state;
pub(crate) mod version_set;
