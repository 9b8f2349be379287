//! A scan of a read table.
//!
//! The library's cursor is a gap between two entries; that of the harness is at an entry. After a
//! step forward the gap is after the entry, after a step back before it, so a change of direction
//! passes the entry first.

use std::fmt;
use std::ops::Bound;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;
use redb::{AccessGuard, ReadableTable as _};

use crate::database::TableReader;
use crate::error::fault;

type Bytes<'c> = AccessGuard<'c, &'static [u8]>;
type Gap<'c> = redb::Cursor<'c, &'static [u8], &'static [u8]>;

/// A cursor over a session's read table.
pub struct RedbCursor<'c> {
    table: &'c TableReader,
    gap: Option<Gap<'c>>,
    entry: Option<(Bytes<'c>, Bytes<'c>)>,
    /// Whether the gap is before the entry.
    backward: bool,
}

impl fmt::Debug for RedbCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbCursor")
            .field("valid", &self.entry.is_some())
            .finish_non_exhaustive()
    }
}

impl<'c> RedbCursor<'c> {
    #[inline]
    pub(crate) const fn new(table: &'c TableReader) -> Self {
        Self {
            table,
            gap: None,
            entry: None,
            backward: false,
        }
    }

    /// Starts forward from a bound.
    #[inline]
    fn start(&mut self, bound: Bound<&[u8]>) -> Result<(), Fault> {
        let mut gap = self.table.lower_bound(bound).map_err(fault)?;
        self.entry = gap.next().map_err(fault)?;
        self.gap = Some(gap);
        self.backward = false;
        Ok(())
    }
}

impl Cursor for RedbCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.start(Bound::Unbounded)
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        let bound = Bound::<&[u8]>::Unbounded;
        let mut gap = self.table.upper_bound(bound).map_err(fault)?;
        self.entry = gap.prev().map_err(fault)?;
        self.gap = Some(gap);
        self.backward = true;
        Ok(())
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.start(Bound::Included(key))
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        let Some(gap) = &mut self.gap else {
            return Ok(());
        };
        if std::mem::take(&mut self.backward) {
            gap.next().map_err(fault)?;
        }
        self.entry = gap.next().map_err(fault)?;
        Ok(())
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        let Some(gap) = &mut self.gap else {
            return Ok(());
        };
        if !std::mem::replace(&mut self.backward, true) {
            gap.prev().map_err(fault)?;
        }
        self.entry = gap.prev().map_err(fault)?;
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        self.entry.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.entry.as_ref().map_or(&[], |(key, _)| key.value())
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(self.entry.as_ref().map_or(&[], |(_, value)| value.value()))
    }
}
