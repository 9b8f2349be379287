//! Index of a table: from a key to the page that can hold it.
//!
//! 1. `filter.rs`: a blocked Bloom filter reports that a key is absent or may be present.
//! 2. `fence.rs`, `fence_build.rs`: the first eight bytes ("head") of every page's first key. One
//!    search finds the page. `address.rs` computes where filter lines and fence blocks are.
//! 3. `tie_build.rs`, `tie_search.rs`: pages whose first keys share their head, distinguished by
//!    later bytes.
//! 4. `key_pages.rs`, `key_search.rs`: whole first keys, for orders that are not bytewise.
//!    `first_keys.rs` collects first keys while a table is written.

pub(super) mod address;
pub(super) mod fence;
pub(super) mod fence_build;
pub(super) mod filter;
mod first_keys;
pub(super) mod key_pages;
pub(super) mod key_search;
pub(super) mod tie_build;
pub(super) mod tie_search;
