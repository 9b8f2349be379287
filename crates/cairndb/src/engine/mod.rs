//! One open database, put together from its parts.

pub(crate) mod checkpoint;
pub(crate) mod close;
pub(crate) mod core;
pub(crate) mod open;
pub(crate) mod properties;
