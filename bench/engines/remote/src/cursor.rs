//! A cursor over the pages of a scan. A change of direction begins another scan.

use std::fmt;
use std::ops::Bound;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;
use cairndb_remote::AsyncScan;
use cairndb_store::{Direction, Entry, Scan};

use crate::server::Server;

/// A cursor.
pub struct RemoteCursor<'s> {
    store: &'s Server,
    scan: Option<(Box<dyn AsyncScan>, Direction)>,
    page: std::vec::IntoIter<Entry>,
    entry: Option<Entry>,
}

impl fmt::Debug for RemoteCursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCursor")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

impl<'s> RemoteCursor<'s> {
    pub(crate) fn new(store: &'s Server) -> RemoteCursor<'s> {
        RemoteCursor {
            store,
            scan: None,
            page: Vec::new().into_iter(),
            entry: None,
        }
    }

    /// Begins a scan, and goes to its first entry.
    fn begin(&mut self, scan: &Scan) -> Result<(), Fault> {
        let pages = self.store.adapter().scan(scan);
        self.scan = Some((pages, scan.direction()));
        self.page = Vec::new().into_iter();
        self.advance()
    }

    /// Goes to the next entry of the scan.
    fn advance(&mut self) -> Result<(), Fault> {
        self.entry = self.page.next();
        if self.entry.is_none()
            && let Some((scan, _)) = &mut self.scan
        {
            self.page = self.store.wait(1, scan.next_page())?.into_iter();
            self.entry = self.page.next();
        }
        Ok(())
    }

    /// Goes on in a direction.
    fn step(&mut self, wanted: Direction) -> Result<(), Fault> {
        let is_same = matches!(&self.scan, Some((_, direction)) if *direction == wanted);
        match self.entry.take() {
            _ if is_same => self.advance(),
            None => Ok(()),
            Some((key, _)) => self.begin(&match wanted {
                Direction::Ascending => Scan::range((Bound::Excluded(&*key), Bound::Unbounded)),
                Direction::Descending => Scan::range(..&*key).reverse(),
            }),
        }
    }
}

impl Cursor for RemoteCursor<'_> {
    fn first(&mut self) -> Result<(), Fault> {
        self.begin(&Scan::all())
    }

    fn last(&mut self) -> Result<(), Fault> {
        self.begin(&Scan::all().reverse())
    }

    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.begin(&Scan::range(key..))
    }

    fn next(&mut self) -> Result<(), Fault> {
        self.step(Direction::Ascending)
    }

    fn prev(&mut self) -> Result<(), Fault> {
        self.step(Direction::Descending)
    }

    fn valid(&self) -> bool {
        self.entry.is_some()
    }

    fn key(&self) -> &[u8] {
        self.entry.as_ref().map_or(&[], |(key, _)| key)
    }

    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(self.entry.as_ref().map_or(&[], |(_, value)| value))
    }
}
