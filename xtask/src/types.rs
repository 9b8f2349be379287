//! The types of one target, and their sizes.

mod model;
mod read;

pub(crate) use model::{Type, Types};
pub(crate) use read::read;
