//! The session's cursor during a scan, in the session's read transaction; both are renewed.

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::txn::Scan;

/// A scan with a session's cursor.
#[derive(Debug)]
pub struct MdbxCursor<'c> {
    scan: Scan<'c>,
}

impl<'c> MdbxCursor<'c> {
    #[inline]
    pub(crate) const fn new(scan: Scan<'c>) -> Self {
        Self { scan }
    }
}

impl Cursor for MdbxCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.scan.place.first()
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        self.scan.place.last()
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.scan.place.seek(key)
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        self.scan.place.next()
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        self.scan.place.prev()
    }

    #[inline]
    fn valid(&self) -> bool {
        self.scan.place.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.scan.place.key()
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(self.scan.place.value())
    }
}
