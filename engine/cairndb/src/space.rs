//! Space on a full disk.

pub(crate) mod space_maker;
pub(crate) mod squeeze;
