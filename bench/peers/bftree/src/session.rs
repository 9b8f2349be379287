//! A thread's access to a tree.

use std::fmt;

use bench_core::engine::{Cursor, Session};
use bench_core::fault::Fault;
use bf_tree::{BfTree, LeafInsertResult, LeafReadResult, ScanIter, ScanReturnField};

/// The first of all keys: the store has no empty ones.
pub(crate) const FIRST_KEY: &[u8] = &[0];

#[cold]
fn unsupported(call: &str) -> Fault {
    Fault::new(format!("the store has no {call}"))
}

/// One thread's session.
pub struct BfTreeSession<'s> {
    tree: &'s BfTree,
    /// The store copies what it finds into this. It ends the process if there is too little room.
    record: Box<[u8]>,
}

impl fmt::Debug for BfTreeSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BfTreeSession").finish_non_exhaustive()
    }
}

impl<'s> BfTreeSession<'s> {
    pub(crate) fn new(tree: &'s BfTree) -> BfTreeSession<'s> {
        // Any record fits into this.
        let record_bytes = tree.config().get_cb_max_record_size();
        BfTreeSession {
            tree,
            record: vec![0; record_bytes].into_boxed_slice(),
        }
    }
}

impl Session for BfTreeSession<'_> {
    type Cursor<'c>
        = BfTreeCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        match self.tree.insert(key, value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(reason) => Err(Fault::new(reason)),
        }
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.tree.delete(key);
        Ok(())
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        match self.tree.read(key, &mut self.record) {
            LeafReadResult::Found(bytes) => Ok(Some(found(&self.record[..bytes as usize]))),
            LeafReadResult::NotFound | LeafReadResult::Deleted => Ok(None),
            LeafReadResult::InvalidKey => Err(Fault::new("the key is too long".to_owned())),
        }
    }

    #[inline]
    fn cursor(&mut self) -> Result<BfTreeCursor<'_>, Fault> {
        Ok(BfTreeCursor {
            tree: self.tree,
            scan: None,
            record: &mut self.record,
            lengths: None,
        })
    }
}

/// A cursor over the newest state.
pub struct BfTreeCursor<'c> {
    tree: &'c BfTree,
    scan: Option<ScanIter<'c, 'c>>,
    /// The key and the value of the entry, one after the other.
    record: &'c mut [u8],
    /// The lengths of both; `None` if the cursor is at no entry.
    lengths: Option<(usize, usize)>,
}

impl fmt::Debug for BfTreeCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BfTreeCursor").finish_non_exhaustive()
    }
}

impl Cursor for BfTreeCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.seek(FIRST_KEY)
    }

    fn last(&mut self) -> Result<(), Fault> {
        Err(unsupported("scans from the end"))
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        // The scan holds the lock of a leaf, and a new one may need the same lock.
        self.scan = None;
        let field = ScanReturnField::KeyAndValue;
        let scan = self.tree.scan_with_count(key, usize::MAX, field);
        self.scan = Some(scan.map_err(|error| Fault::new(format!("{error:?}")))?);
        self.next()
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        let scan = self.scan.as_mut();
        self.lengths = scan.and_then(|scan| scan.next(self.record));
        if self.lengths.is_none() {
            self.scan = None;
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<(), Fault> {
        Err(unsupported("steps backward"))
    }

    #[inline]
    fn valid(&self) -> bool {
        self.lengths.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.lengths.map_or(&[], |(key, _)| &self.record[..key])
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        let value = |(key, value)| &self.record[key..key + value];
        Ok(self.lengths.map_or(&[], value))
    }
}
