//! One open database: opening, closing, and what callers ask of it.

pub(crate) mod assemble;
pub(crate) mod close;
pub(crate) mod configure;
pub(crate) mod core;
mod first_state;
mod follow;
pub(crate) mod fork;
pub(crate) mod keyspaces;
pub(crate) mod live_files;
mod manual;
pub(crate) mod open;
pub(crate) mod properties;
#[cfg(feature = "leveldb")]
pub(crate) mod upgrade;
mod waiting;
