//! The program as a user runs it.

mod common;
mod memory;
mod peer;
mod refusals;
mod results;
