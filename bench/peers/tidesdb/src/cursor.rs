//! A cursor over the state of its creation.

use std::fmt;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::calls::{fault, retry};

/// A cursor over the state of its creation.
pub struct TidesCursor<'c> {
    iter: tidesdb::Iterator<'c>,
    key: Option<Vec<u8>>,
    value: Vec<u8>,
}

impl fmt::Debug for TidesCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TidesCursor").finish_non_exhaustive()
    }
}

impl<'c> TidesCursor<'c> {
    #[inline]
    pub(crate) const fn new(iter: tidesdb::Iterator<'c>) -> Self {
        Self {
            iter,
            key: None,
            value: Vec::new(),
        }
    }

    /// Moves, then reads the key. The value is read when it is asked for, because that of a large
    /// entry is in another file.
    #[inline]
    fn move_by(
        &mut self,
        step: impl Fn(&mut tidesdb::Iterator<'c>) -> tidesdb::Result<()>,
    ) -> Result<(), Fault> {
        retry(|| step(&mut self.iter)).map_err(fault)?;
        let key = self.iter.is_valid().then(|| self.iter.key()).transpose();
        self.key = key.map_err(fault)?;
        Ok(())
    }
}

impl Cursor for TidesCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.move_by(tidesdb::Iterator::seek_to_first)
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        self.move_by(tidesdb::Iterator::seek_to_last)
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.move_by(|iter| iter.seek(key))
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        self.move_by(tidesdb::Iterator::next)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        self.move_by(tidesdb::Iterator::prev)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.key.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.key.as_deref().unwrap_or_default()
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        self.value = retry(|| self.iter.value()).map_err(fault)?;
        Ok(&self.value)
    }
}
