//! Tests that every environment must pass, including environments of other crates.
//!
//! The feature `testing` enables this module, so that no program contains it. Enable it where the
//! crate is a dependency of tests:
//!
//! ```toml
//! [dev-dependencies]
//! cairndb-env = { path = "../cairndb/engine/env", features = ["testing"] }
//! ```
//!
//! [`conformance::check`] tests the behaviour of the calls; [`naming`] tests that every error names
//! its path; [`setting`] reads the environment variables that scale tests.

pub mod conformance;
pub mod naming;
pub mod setting;
