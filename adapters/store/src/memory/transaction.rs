//! A transaction over the store in memory: optimistic and serialisable.
//!
//! It reads a [`View`], records what it has read, and checks at the commit, under the write lock,
//! that none of it has changed since.

use std::collections::BTreeSet;

use cairndb::Value;
use parking_lot::Mutex;

use crate::entries::{Entries, Entry};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::view::View;
use crate::options::CallOptions;
use crate::read::Read;
use crate::scan::Scan;
use crate::transaction::{OpenTransaction, Transaction};
use crate::window::{OwnWrites, Window};

const LIMITS: Limits = Limits::embedded();

#[derive(Debug, Default)]
struct Recorded {
    own: OwnWrites,
    keys: BTreeSet<Vec<u8>>,
    ranges: Vec<Window>,
}

#[derive(Debug)]
pub(super) struct MemoryTransaction {
    view: View,
    recorded: Mutex<Recorded>,
}

impl MemoryTransaction {
    pub(super) fn new(view: View) -> MemoryTransaction {
        MemoryTransaction {
            view,
            recorded: Mutex::default(),
        }
    }

    /// Reads one page as the transaction sees it. Returns it with the window that follows it.
    fn page(&self, rest: &mut Window, count: usize) -> Result<Vec<Entry>> {
        let page = self.view.page(rest, count)?;
        let full = page.len() >= count;
        let last = page.last().filter(|_| full).map(|(key, _)| key.to_vec());
        let read = rest.split_after(last.as_deref());
        let mut recorded = self.recorded.lock();
        let seen = recorded.own.lay_over(page, &read);
        recorded.ranges.push(read);
        Ok(seen)
    }
}

impl Read for MemoryTransaction {
    fn get_with(&self, key: &[u8], options: &CallOptions) -> Result<Option<Value>> {
        let mut recorded = self.recorded.lock();
        if let Some(own) = recorded.own.get(key) {
            return Ok(own.clone());
        }
        let found = self.view.get_with(key, options)?;
        recorded.keys.insert(key.to_vec());
        Ok(found)
    }

    fn multi_get_with(&self, keys: &[&[u8]], options: &CallOptions) -> Result<Vec<Option<Value>>> {
        let found = keys.iter().map(|key| self.get_with(key, options));
        found.collect()
    }

    fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Result<Entries<'_>> {
        let mut rest = Window::of(scan);
        let limit = usize::try_from(scan.get_limit()).unwrap_or(usize::MAX);
        let mut left = limit;
        let pages = std::iter::from_fn(move || {
            if rest.is_empty() || left == 0 {
                return None;
            }
            let page = self.page(&mut rest, left.min(super::view::PAGE_ENTRIES));
            left = page
                .as_ref()
                .map_or(0, |page| left.saturating_sub(page.len()));
            Some(page)
        });
        let entries = pages.flat_map(|page| match page {
            Ok(page) => page.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        Ok(Entries::new(entries.take(limit)))
    }
}

impl Transaction for MemoryTransaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        self.recorded.lock().own.set(key, Some(value));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        LIMITS.check_key(key)?;
        self.recorded.lock().own.set(key, None);
        Ok(())
    }
}

impl OpenTransaction for MemoryTransaction {
    fn commit_with(self: Box<Self>, _: &CallOptions) -> Result<()> {
        let recorded = self.recorded.lock();
        let mut versions = self.view.versions.write();
        if versions.closed {
            return Err(Error::closed());
        }
        if recorded.own.is_empty() {
            return Ok(());
        }
        LIMITS.check_size(recorded.own.len(), recorded.own.bytes())?;
        let seq = self.view.seq;
        let mut changed = recorded.keys.iter().find(|key| versions.changed(key, seq));
        let changed = changed.take().map(Vec::as_slice);
        let mut ranges = recorded.ranges.iter();
        let changed =
            changed.or_else(|| ranges.find_map(|range| versions.changed_within(range, seq)));
        if let Some(key) = changed {
            return Err(
                Error::new(ErrorKind::Conflict, "another writer changed what was read").key(key),
            );
        }
        versions.apply(recorded.own.iter());
        Ok(())
    }

    fn rollback(self: Box<Self>) {}
}
