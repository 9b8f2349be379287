//! Tests that every environment must pass, for the environments here and for those of others.
//!
//! The feature `testing` adds this module, so that no program carries it: name it where the crate
//! is a dependency of tests.
//!
//! ```toml
//! [dev-dependencies]
//! cairndb-env = { path = "../cairndb/crates/env", features = ["testing"] }
//! ```
//!
//! [`conformance::check`] tests what the calls do and [`naming`] that every error names its path.

pub mod conformance;
pub mod naming;
