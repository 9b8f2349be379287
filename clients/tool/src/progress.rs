//! Progress of long work: a bar on stderr while a command reads, converts or moves a database.
//!
//! The bar appears if stderr is a terminal and the work takes longer than a moment, and disappears
//! at its end. `watched` shows how far a call of the store is, in bytes; `Progress` counts the
//! entries of the tool's own loops. Both stop the work after Ctrl-C, which `interrupt.rs` catches.

pub(crate) mod interrupt;
mod meter;

pub(crate) use meter::{Meter, Progress, watched};
