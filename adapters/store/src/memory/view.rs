//! One state of the store, kept readable while the view lives.

use std::sync::Arc;

use cairndb::Value;
use parking_lot::RwLock;

use crate::entries::{Entries, Entry};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::memory::versions::Versions;
use crate::options::CallOptions;
use crate::read::{Read, Snapshot};
use crate::scan::Scan;
use crate::window::Window;

/// Number of entries that a scan copies each time it takes the lock.
pub(super) const PAGE_ENTRIES: usize = 64;

/// A snapshot. Dropping it releases the versions that only it sees.
#[derive(Debug)]
pub(super) struct View {
    pub(super) versions: Arc<RwLock<Versions>>,
    pub(super) seq: u64,
}

impl View {
    pub(super) fn new(versions: &Arc<RwLock<Versions>>) -> Result<View> {
        let mut locked = versions.write();
        if locked.closed {
            return Err(Error::closed());
        }
        Ok(View {
            seq: locked.take_snapshot(),
            versions: Arc::clone(versions),
        })
    }

    /// Returns up to `count` entries of `window`.
    pub(super) fn page(&self, window: &Window, count: usize) -> Result<Vec<Entry>> {
        let versions = self.versions.read();
        if versions.closed {
            return Err(Error::closed());
        }
        Ok(versions.page(window, self.seq, count))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.versions.write().end_snapshot(self.seq);
    }
}

impl Read for View {
    fn get_with(&self, key: &[u8], _: &CallOptions) -> Result<Option<Value>> {
        Limits::embedded().check_key(key)?;
        let versions = self.versions.read();
        if versions.closed {
            return Err(Error::closed());
        }
        Ok(versions.get(key, self.seq))
    }

    fn multi_get_with(&self, keys: &[&[u8]], options: &CallOptions) -> Result<Vec<Option<Value>>> {
        let found = keys.iter().map(|key| self.get_with(key, options));
        found.collect()
    }

    fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Result<Entries<'_>> {
        let read = |window: &Window, count| self.page(window, count);
        Ok(Entries::new(Pages::new(scan, read)))
    }
}

impl Snapshot for View {}

/// The entries of a scan, page by page. `R` reads one page.
pub(super) struct Pages<R> {
    rest: Window,
    left: u64,
    page: std::vec::IntoIter<Entry>,
    read: R,
}

impl<R> Pages<R> {
    pub(super) fn new(scan: &Scan, read: R) -> Pages<R> {
        Pages {
            rest: Window::of(scan),
            left: scan.get_limit(),
            page: Vec::new().into_iter(),
            read,
        }
    }
}

impl<R: FnMut(&Window, usize) -> Result<Vec<Entry>>> Iterator for Pages<R> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        if self.left == 0 {
            return None;
        }
        if let Some(entry) = self.page.next() {
            self.left -= 1;
            return Some(Ok(entry));
        }
        if self.rest.is_empty() {
            return None;
        }
        let count = usize::try_from(self.left).map_or(PAGE_ENTRIES, |left| left.min(PAGE_ENTRIES));
        match (self.read)(&self.rest, count) {
            Ok(page) => {
                let full = page.len() >= count;
                let last = page.last().filter(|_| full).map(|(key, _)| key.to_vec());
                let _ = self.rest.split_after(last.as_deref());
                self.page = page.into_iter();
                let entry = self.page.next()?;
                self.left -= 1;
                Some(Ok(entry))
            }
            Err(error) => {
                self.left = 0;
                Some(Err(error))
            }
        }
    }
}
