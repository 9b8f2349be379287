//! Reading a table: point lookups, seeks, cursors, verification.
//!
//! 1. `source.rs` returns pages, from a mapping or through a page cache, each checked once.
//! 2. `open.rs` is an open [`Table`](open::Table). `check.rs` checks its pages ahead of the first
//!    read. `reader.rs` fetches pages of every kind for one operation.
//! 3. `get.rs` is the point lookup: fast path first, then the general path over `lookup.rs`.
//!    `filter_predictor.rs` decides whether to wait for the filter before fetching the page.
//! 4. `seek.rs` finds the nearest entry without a cursor; `cursor.rs` is the cursor.
//! 5. `verify.rs` and `verify_index.rs` read a whole table and check that its parts agree.
//! 6. `salvage.rs` reads what is intact of a damaged table.

mod check;
pub(super) mod cursor;
mod filter_predictor;
pub(super) mod get;
pub(super) mod lookup;
pub(super) mod open;
pub(super) mod reader;
pub(super) mod salvage;
pub(super) mod seek;
pub(super) mod source;
mod verify;
mod verify_index;
