//! What all owners of an open database use: its state, and the changes of that state.

pub(crate) mod base;
pub(crate) mod edits;
pub(crate) mod engine_state;
pub(crate) mod followers;
pub(crate) mod idle;
pub(crate) mod install;
pub(crate) mod settings;
pub(crate) mod sweeper;
pub(crate) mod version_set;
