//! The adapter for TiKV: data beyond one machine, in transactions with snapshot isolation.
//!
//! Nobody has run it against a cluster here, because no server can be had from a package registry.
//! It compiles, its pure parts are tested, and the contract suite runs on it where `CAIRN_TIKV`
//! names a placement driver.

mod closed;
mod errors;
mod raw;
mod reads;
mod store;
mod transaction;

pub use store::TikvStore;
