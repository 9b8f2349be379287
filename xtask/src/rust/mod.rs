//! As much of Rust's grammar as the rules need: tokens, items, imports, the module tree.
//!
//! A full parser would be more exact and ten times the build time. What is read here is only what
//! cannot be mistaken once comments and literals are told apart from code.

pub(crate) mod imports;
pub(crate) mod lexer;
pub(crate) mod modules;
pub(crate) mod outline;
