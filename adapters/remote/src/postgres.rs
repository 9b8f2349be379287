//! The adapter for PostgreSQL, and for the distributed engines that speak its protocol.
//!
//! A store is a table with two columns of bytes, `k` and `v`. Every statement runs in a
//! serialisable transaction, its own or that of the caller: with a weaker level for single
//! statements, the engine would not protect transactions from them. A call takes a connection from
//! a pool for as long as it needs one; snapshots, transactions and long scans keep theirs.

mod calls;
mod connect;
mod connection;
mod errors;
mod held;
mod pipeline;
mod pool;
mod scan;
mod sql;
mod store;
mod table;
mod transaction;

pub use store::PostgresStore;
