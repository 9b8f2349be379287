//! CairnDB's files: what `tables`, `log` and `manifest` print of them.
//!
//! `edits.rs` reads the edits of a manifest, `state.rs` adds them up. The other modules are a
//! command each; `pages.rs` prints the pages of one table.

mod edits;
pub(super) mod log;
pub(super) mod manifest;
mod pages;
mod state;
pub(super) mod tables;
