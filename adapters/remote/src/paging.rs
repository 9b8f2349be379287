//! How many entries the next page of a scan should have: about a megabyte.
//!
//! The first page is small, because most scans are short and sizes are unknown; each further one is
//! sized by the average so far, and at most eight times as long as the one before.

use cairndb_store::{Entry, Window};

/// Entries of the first page.
pub(crate) const FIRST_ENTRIES: u64 = 100;
/// Bytes of keys and values that a page should have.
pub(crate) const PAGE_BYTES: u64 = 1 << 20;
/// Largest number of entries of a page: short entries take more memory than their bytes.
const ENTRIES_MAX: u64 = 8192;

/// What a scan still has to read.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) rest: Window,
    /// Number of entries that the scan may still yield.
    pub(crate) left: u64,
    wanted: u64,
}

impl Progress {
    pub(crate) fn of(scan: &cairndb_store::Scan) -> Progress {
        Progress {
            rest: Window::of(scan),
            left: scan.get_limit(),
            wanted: FIRST_ENTRIES,
        }
    }

    /// Returns whether the scan is at its end.
    pub(crate) fn ended(&self) -> bool {
        self.left == 0 || self.rest.is_empty()
    }

    /// Returns how many entries to ask for.
    pub(crate) fn wanted(&self) -> u64 {
        self.wanted.min(self.left)
    }

    /// Asks for half as many from now on, because the page was too large. Returns false if it is
    /// one entry already.
    #[cfg(any(feature = "etcd", feature = "tikv"))]
    pub(crate) fn shrink(&mut self) -> bool {
        let larger = self.wanted() > 1;
        self.wanted = (self.wanted() / 2).max(1);
        larger
    }

    /// Removes what a page of stored entries covers, and returns it. `more` is whether there are
    /// entries after the page.
    pub(crate) fn advance(&mut self, page: &[Entry], more: bool) -> Window {
        let bytes = bytes_of(page);
        let average = bytes / (page.len() as u64).max(1) + 1;
        let fitting = (PAGE_BYTES / average).clamp(1, ENTRIES_MAX);
        self.wanted = fitting.min(self.wanted.saturating_mul(8));
        let last = page.last().filter(|_| more).map(|(key, _)| key.to_vec());
        self.rest.split_after(last.as_deref())
    }

    /// Takes what a page yields to the caller, at most as much as the scan may still yield.
    pub(crate) fn take(&mut self, mut page: Vec<Entry>) -> Vec<Entry> {
        page.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= page.len() as u64;
        page
    }
}

/// Returns the bytes of the keys and values of a page.
pub(crate) fn bytes_of(page: &[Entry]) -> u64 {
    let bytes = page.iter().map(|(key, value)| key.len() + value.len());
    bytes.sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use cairndb_store::{Scan, Value};

    use super::{ENTRIES_MAX, FIRST_ENTRIES, Progress};

    #[expect(
        clippy::big_endian_bytes,
        reason = "the order of big-endian keys is that of their numbers"
    )]
    fn page(len: usize, value_bytes: usize) -> Vec<(Value, Value)> {
        let entry = |n: usize| {
            let key = Value::from(n.to_be_bytes().as_slice());
            (key, Value::from(vec![0; value_bytes]))
        };
        (0..len).map(entry).collect()
    }

    #[test]
    fn pages_grow_to_a_megabyte() {
        let mut progress = Progress::of(&Scan::all());
        assert_eq!(progress.wanted(), FIRST_ENTRIES);
        let _ = progress.advance(&page(100, 92), true);
        assert_eq!(progress.wanted(), 8 * FIRST_ENTRIES);
        for _ in 0..5 {
            let _ = progress.advance(&page(100, 92), true);
        }
        assert_eq!(progress.wanted(), ENTRIES_MAX);
        let _ = progress.advance(&page(10, 1 << 20), true);
        assert_eq!(progress.wanted(), 1);
    }

    #[test]
    fn a_limit_bounds_what_is_asked_and_yielded() {
        let mut progress = Progress::of(&Scan::all().limit(7));
        assert_eq!(progress.wanted(), 7);
        let _ = progress.advance(&page(5, 1), true);
        assert_eq!(progress.take(page(5, 1)).len(), 5);
        assert!(!progress.ended());
        let _ = progress.advance(&page(2, 1), false);
        assert_eq!(progress.take(page(9, 1)).len(), 2);
        assert!(progress.ended());
    }
}
