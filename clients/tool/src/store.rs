//! Stores that a URL names: `--store` of `get`, `put`, `delete` and `scan`, and both sides of
//! `copy`.
//!
//! 1. No message shows a user, a password or a setting of a URL: stores are named by scheme, hosts
//!    and path.
//! 2. A database in files opens as every other command opens it: not mapped, every page verified.
//! 3. A store has bytewise order; a database with another comparator is refused.

mod open;

pub(crate) use open::{Access, Opened, identity, open};
