//! The output formats of a report: pages for readers, files for programs, lines for a terminal.

pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod terminal;
