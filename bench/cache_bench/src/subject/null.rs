//! The cache that stores nothing: it shows the cost of the harness itself.

use std::hint::black_box;
use std::sync::Arc;

use super::Subject;

/// Drops every value and finds none.
#[derive(Debug)]
pub(crate) struct Null;

impl Subject for Null {
    #[inline]
    fn insert(&self, key: u128, value: Arc<[u8]>) {
        black_box((key, value));
    }

    #[inline]
    fn lookup(&self, key: u128) -> Option<Arc<[u8]>> {
        black_box(key);
        None
    }

    #[inline]
    fn erase(&self, key: u128) -> bool {
        black_box(key);
        false
    }

    fn entries(&self) -> u64 {
        0
    }

    fn usage(&self) -> u64 {
        0
    }
}
