//! Terminal output: a summary that fits a screen, or every table as bars.

mod bars;
mod summary;
mod text;

pub(crate) use bars::bars;
pub(crate) use summary::summary;
