//! The store's cursor as a benchmark cursor.

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::error::fault;

/// A cursor of the store.
#[derive(Debug)]
pub struct CairnCursor {
    inner: cairndb::Cursor,
}

impl CairnCursor {
    pub(crate) fn new(inner: cairndb::Cursor) -> Self {
        Self { inner }
    }
}

impl Cursor for CairnCursor {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.inner.seek_to_first().map_err(|error| fault(&error))
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        self.inner.seek_to_last().map_err(|error| fault(&error))
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.inner.seek(key).map_err(|error| fault(&error))
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        self.inner.next().map_err(|error| fault(&error))
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        self.inner.prev().map_err(|error| fault(&error))
    }

    #[inline]
    fn valid(&self) -> bool {
        self.inner.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.inner.key()
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(self.inner.value())
    }
}
