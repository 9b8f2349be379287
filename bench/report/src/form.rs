//! The forms of a report, each made from the model.

pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
mod row;
pub(crate) mod terminal;
