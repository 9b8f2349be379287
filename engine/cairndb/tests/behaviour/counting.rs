//! A comparator that counts comparisons, for tests that costs do not grow.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use cairndb::Comparator;

/// Bytewise order that counts its calls. Because it is a custom comparator, it is also called where
/// bytewise order would compare heads.
#[derive(Debug, Default)]
pub(crate) struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &'static str {
        "test.Counting"
    }
    fn equality_is_identity(&self) -> bool {
        true
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Memory::Relaxed);
        a.cmp(b)
    }
}

impl Counting {
    /// Returns the number of comparisons that `run` makes.
    pub(crate) fn of(&self, run: impl FnOnce()) -> u64 {
        let before = self.0.load(Memory::Relaxed);
        run();
        self.0.load(Memory::Relaxed) - before
    }
}
