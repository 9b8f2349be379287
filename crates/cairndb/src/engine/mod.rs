//! One open database, assembled from its components.

pub(crate) mod assemble;
pub(crate) mod checkpoint;
pub(crate) mod close;
mod configure;
pub(crate) mod core;
mod first_state;
pub(crate) mod open;
pub(crate) mod properties;
mod stages;
#[cfg(feature = "leveldb")]
pub(crate) mod upgrade;
